"""A stand-in for the profiler: copies a report, or plays one of its failures (by environment)."""

import os
import shutil
import sys

args = sys.argv[1:]
out = args[args.index("--export") + 1]
play = os.environ.get("STANDIN_PLAYS", "fine")
print("==PROF== Connected to process 4711 (/x/app)")
if play == "permission":
    print(
        "==ERROR== ERR_NVGPUCTRPERM - The user does not have permission to access "
        "NVIDIA GPU Performance Counters"
    )
    sys.exit(1)
if play == "driver":
    print("==ERROR== Cuda driver is not compatible with Nsight Compute")
    sys.exit(1)
if play == "nothing":
    print("==WARNING== No kernels were profiled.")
    sys.exit(0)
if play == "application":
    print("app: cannot open weights.bin")
    print("==ERROR== The application returned an error code (7).")
    sys.exit(7)
if play == "late":
    shutil.copyfile(os.environ["STANDIN_REPORT"], f"{out}.ncu-rep")
    print("==ERROR== The application returned an error code (11).")
    sys.exit(11)
if play == "busy":
    print("==ERROR== Profiling failed because a driver resource was unavailable.")
    sys.exit(1)
if play == "strange":
    print("==ERROR== Something else happened")
    sys.exit(9)
if play == "silent":
    sys.exit(0)
shutil.copyfile(os.environ["STANDIN_REPORT"], f"{out}.ncu-rep")
with open(os.environ["STANDIN_ARGS"], "w") as file:
    file.write("\n".join(args))
