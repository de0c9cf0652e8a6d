"""Names come out as c++filt writes them, or stay as they are; always in bounded time."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from warpglass.inputs.demangle import demangle, demangled, matches_name

# Expected texts are what binutils' c++filt prints, without the return type of templates.
NAMES = {
    "_Z4axpyIfLi64EEviT_PKS0_PS0_": ("axpy<float, 64>(int, float, float const*, float*)", "axpy"),
    "_ZN36_GLOBAL__N__00000000_4_k_cu_2f1254c84anonEiPf": (
        "(anonymous namespace)::anon(int, float*)",
        "anon",
    ),
    "_Z1kPFviES0_": ("k(void (*)(int), void (*)(int))", "k"),
    "_Z1fPA3_i": ("f(int (*) [3])".replace(") [", ")["), "f"),
    "_Z1fv": ("f()", "f"),
    "_Z3fooIJifEEvDpT_": ("foo<int, float>(int, float)", "foo"),
    "_ZN7cutlass6KernelINS_4gemm6kernel4GemmIiLb1EEEEEvNT_6ParamsE": (
        "cutlass::Kernel<cutlass::gemm::kernel::Gemm<int, true>>"
        "(cutlass::gemm::kernel::Gemm<int, true>::Params)",
        "Kernel",
    ),
    "_Z1fILj3ELln4EEvv": ("f<3u, -4l>()", "f"),
    "_Z1fPVKfPr": ("_Z1fPVKfPr", "f"),
    "plain_c_name": ("plain_c_name", "plain_c_name"),
    "": ("", ""),
    # Expressions are beyond the reader: the name stays, the bare name is still told.
    "_ZNK3abc3defIXadL_Z1fvEEEEvv": ("_ZNK3abc3defIXadL_Z1fvEEEEvv", "def"),
}


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    full, bare = NAMES[name]
    assert demangle(name) == full
    assert demangled(name).bare == bare


def test_parameters_are_told_apart():
    assert demangled("_Z4axpyIfLi64EEviT_PKS0_PS0_").params == ("int", "float", "float const*", "float*")
    assert demangled("_Z1fv").params == ()
    assert demangled("kernel").params is None


@pytest.mark.parametrize(
    "wanted",
    [
        "axpy",
        "axpy<float, 64>",
        "axpy<float,64>(int,float,float const*,float*)",
        "void axpy<float, 64>(int, float, float const*, float*)",
        "void axpy<float, 64>",
        "_Z4axpyIfLi64EEviT_PKS0_PS0_",
    ],
)
def test_every_form_of_a_name_matches(wanted):
    assert matches_name("_Z4axpyIfLi64EEviT_PKS0_PS0_", wanted)


def test_other_names_do_not_match():
    assert not matches_name("_Z4axpyIfLi64EEviT_PKS0_PS0_", "axp")
    assert not matches_name("_Z4axpyIfLi64EEviT_PKS0_PS0_", "")
    assert not matches_name("_Z4axpyIfLi64EEviT_PKS0_PS0_", "voidaxpy")


def doubling(levels: int) -> str:
    """Each parameter type mentions the one before twice: written out it has 2^levels parts."""
    digits = string.digits + string.ascii_uppercase
    text = "_Z1fIiEvi"
    for level in range(levels):
        number = level - 1
        ref = "S_" if level == 0 else f"S{digits[number] if number < 36 else '1' + digits[number - 36]}_"
        text += f"PF{ref}{ref}E"
    return text


@pytest.mark.parametrize(
    "name", [doubling(60), "_Z" + "P" * 4000, "_ZN1a" + "N" * 4000, "_Z" + "9" * 4000, "_Z1a" * 2000]
)
def test_hostile_names_end(name):
    assert demangled(name).mangled == name
    assert len(demangle(name)) <= 20_000


@given(st.text(alphabet="_ZNKSTIELPRFvifjm0123456789GaB", max_size=80))
def test_any_name_has_forms(text):
    forms = demangled("_Z" + text)
    assert forms.full
    assert forms.bare
