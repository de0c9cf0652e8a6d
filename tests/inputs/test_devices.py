"""GPUs are read from nvidia-smi's table; none is no error."""

from warpglass.inputs import devices
from warpglass.inputs.devices import find_devices, parse_devices


def test_lines_of_nvidia_smi():
    text = "0, GPU-aa, NVIDIA A100-SXM4-40GB, 8.0\n1, GPU-bb, NVIDIA GeForce RTX 5090, 12.0\n"
    first, second = parse_devices(text)
    assert (first.index, first.uuid, first.name, first.compute_capability) == (
        0,
        "GPU-aa",
        "NVIDIA A100-SXM4-40GB",
        "8.0",
    )
    assert (first.arch, second.arch) == ("sm_80", "sm_120")


def test_unknown_capability_and_noise():
    text = "No devices were found\n0, GPU-cc, Tesla K80, [N/A]\nx, y\n"
    (only,) = parse_devices(text)
    assert only.compute_capability is None
    assert only.arch is None


def test_no_driver_is_no_gpu(monkeypatch):
    monkeypatch.setattr(devices.shutil, "which", lambda name: None)
    assert find_devices() == ()


def test_a_failing_driver_is_no_gpu(monkeypatch, tmp_path):
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho failed to talk to the driver; exit 9\n")
    program.chmod(0o755)
    monkeypatch.setattr(devices.shutil, "which", lambda name: str(program))
    assert find_devices() == ()
