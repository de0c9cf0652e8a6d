"""Nothing that depends on the folder stays in compiler output."""

from pathlib import Path

from warpglass.cuda.normalise import normalise_output, normalise_ptx, stamp_files

FOLDER = Path("/tmp/warpglass-abcd1234")
ROOTS = {"source": Path("/home/someone/project/src"), "include": Path("/home/someone/project/include")}


def test_files_get_names_and_places():
    ptx = (
        '\t.file\t1 "/tmp/warpglass-abcd1234/k.cu"\n'
        '\t.file\t2 "/tmp/warpglass-abcd1234/source/sub/a.h"\n'
        '\t.file\t3 "/tmp/warpglass-abcd1234/include/b.h", 17, 42\n'
        '\t.file\t4 "/usr/local/cuda-13.0/bin/../targets/x86_64-linux/include/sm_30_intrinsics.hpp"\n'
        '\t.file\t5 "/usr/include/c++/12/cmath"\n'
        '\t.file\t6 "/tmp/warpglass-abcd1234/source/../up.h"\n'
    )
    text, files = normalise_ptx(ptx, FOLDER, "k.cu", ROOTS)
    assert text == (
        '\t.file\t1 "k.cu"\n\t.file\t2 "sub/a.h"\n\t.file\t3 "include/b.h", 17, 42\n'
        '\t.file\t4 "cuda/sm_30_intrinsics.hpp"\n\t.file\t5 "/usr/include/c++/12/cmath"\n'
        '\t.file\t6 "../up.h"\n'
    )
    assert files["k.cu"] == Path("/home/someone/project/src/k.cu")
    assert files["include/b.h"] == Path("/home/someone/project/include/b.h")
    assert files["../up.h"] == Path("/home/someone/project/up.h")


def test_hash_of_the_path_in_names():
    text, _ = normalise_ptx(".entry _ZN36_GLOBAL__N__a8b6bed3_4_k_cu_2f1254c84anonEv", FOLDER, "k.cu", ROOTS)
    assert text == ".entry _ZN36_GLOBAL__N__00000000_4_k_cu_2f1254c84anonEv"


def test_hash_of_the_path_in_debug_strings():
    def spelled(text: str) -> str:
        numbers = [str(byte) for byte in text.encode()]
        return ".b8 " + ",".join(numbers[:9]) + "\n.b8 " + ",".join(numbers[9:])

    before = spelled("_Z_INTERNAL_a8b6bed3_4_k_cu_2f1254c8x")
    text, _ = normalise_ptx(before, FOLDER, "k.cu", ROOTS)
    assert text == spelled("_Z_INTERNAL_00000000_4_k_cu_2f1254c8x")


def test_other_numbers_stay():
    text = "mov.u32 r, 95; _deadbeef_4_other_2f1254c8 .b8 95,48,49,50"
    assert normalise_ptx(text, FOLDER, "k.cu", ROOTS)[0] == text


def test_stamps_replace_what_the_file_system_would_say():
    assert stamp_files('.file 1 "a"\n.file 2 "b", 5, 6\nx') == '.file 1 "a", 1, 1\n.file 2 "b", 1, 1\nx'


def test_messages():
    text = "/tmp/warpglass-abcd1234/k.cu(3): error: x\nsource/a.h(1): warning: y\nmy/source/a.h"
    assert normalise_output(text, FOLDER, "k.cu") == "k.cu(3): error: x\na.h(1): warning: y\nmy/source/a.h"
