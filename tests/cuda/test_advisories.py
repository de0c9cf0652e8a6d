"""What ptxas prints becomes facts of each kernel."""

from hypothesis import given
from hypothesis import strategies as st

from warpglass.cuda.advisories import parse_ptxas, parse_warnings

OUTPUT = """\
ptxas info    : 15 bytes gmem, 16 bytes cmem[3], 32 bytes cmem[4]
ptxas info    : (C7510) Potential Performance Loss: wgmma.mma_async instructions are serialized due to \
insufficient register resources for the wgmma pipeline in the function '_Z2mmPf'
ptxas info    : Compiling entry function '_Z4axpyf' for 'sm_80'
ptxas info    : Function properties for _Z4axpyf
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 24 registers, used 1 barriers, 8 bytes cumulative stack size, 256 bytes smem, \
376 bytes cmem[0], 8 bytes cmem[2]
ptxas info    : Compile time = 3.095 ms
ptxas info    : Function properties for _Z6helperf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Compiling entry function '_Z2mmPf' for 'sm_80'
ptxas info    : Used 255 registers
ptxas warning : Unresolved extern variable 'x' in whole program compilation, ignoring extern qualifier
"""


def test_facts():
    facts, _ = parse_ptxas(OUTPUT)
    axpy = facts["_Z4axpyf"]
    assert (axpy.registers, axpy.barriers, axpy.static_shared, axpy.constant) == (24, 1, 256, 384)
    assert (axpy.stack, axpy.spill_stores, axpy.spill_loads) == (8, 12, 16)
    assert axpy.local is None


def test_what_is_not_said_is_unknown():
    facts, _ = parse_ptxas(OUTPUT)
    assert facts["_Z6helperf"].registers is None
    assert facts["_Z6helperf"].stack == 0
    assert facts["_Z2mmPf"].registers == 255
    assert facts["_Z2mmPf"].stack is None


def test_advisories_belong_to_their_kernel():
    facts, advisories = parse_ptxas(OUTPUT)
    assert len(advisories) == 2
    assert "C7510" in advisories[0]
    assert facts["_Z2mmPf"].advisories == (advisories[0],)
    assert facts["_Z4axpyf"].advisories == ()


def test_warnings_once_each():
    text = 'k.cu(3): warning #177-D: variable "q" was declared\n  int q;\n      ^\n' * 2 + "Remark: …\n"
    assert parse_warnings(text) == ('k.cu(3): warning #177-D: variable "q" was declared',)


@given(st.lists(st.sampled_from(OUTPUT.splitlines()), max_size=20), st.text(max_size=30))
def test_any_order_of_lines(lines, noise):
    parse_ptxas("\n".join([*lines, "ptxas info    : " + noise]))
