"""The hardware tables: complete where they must be, typed, sourced, and found by name."""

import dataclasses
import re

import pytest

from warpglass import gpu
from warpglass.errors import InputError, UsageError


def test_a_suffix_is_kept():
    arch = gpu.arch("sm_90a")
    assert (arch.name, arch.base, arch.suffix, arch.compute_capability) == ("sm_90a", (9, 0), "a", "9.0")
    assert gpu.arch("sm_90").suffix == ""
    assert gpu.arch("compute_100f").name == "sm_100f"
    assert gpu.arch("SM_121").base == (12, 1)


def test_limits_of_known_architectures():
    # CUDA C++ Programming Guide, table "Technical Specifications per Compute Capability".
    assert (gpu.arch("sm_75").max_warps_sm, gpu.arch("sm_75").max_blocks_sm) == (32, 16)
    assert (gpu.arch("sm_80").max_warps_sm, gpu.arch("sm_80").smem_sm) == (64, 164 * 1024)
    assert (gpu.arch("sm_86").max_threads_sm, gpu.arch("sm_86").smem_block_optin) == (1536, 99 * 1024)
    assert gpu.arch("sm_90").smem_block_optin == 227 * 1024
    assert gpu.arch("sm_120").max_warps_sm == 48
    assert {arch.max_regs_thread for arch in gpu.list_archs()} == {255}


def test_every_row_has_its_source():
    for arch in gpu.list_archs():
        assert arch.source_limits
        assert arch.source_throughput or arch.fp32 is None
        if arch.l1_hit or arch.alu_latency:
            assert arch.source_latency
    assert all(model.source for model in gpu.list_models())


def test_notes_stand_beside_fields():
    names = {field.name for field in dataclasses.fields(gpu.Arch)}
    for arch in gpu.list_archs():
        assert set(arch.notes) <= names
    assert gpu.arch("sm_89").throughput_recall
    assert gpu.arch("sm_80").l2_hit == (205, 357)
    assert gpu.arch("sm_50").int_mul is None


def test_unknown_architectures():
    assert gpu.find_arch("sm_99") is None
    assert gpu.find_arch("nonsense") is None
    with pytest.raises(UsageError, match="no such architecture"):
        gpu.arch("sm_1")


def test_every_model_has_an_architecture_and_sane_numbers():
    for model in gpu.list_models():
        arch = gpu.arch(model.arch_name)
        assert re.fullmatch(r"sm_\d+", model.arch_name)
        assert 1 <= model.sm_count <= 1000
        if model.fp32_tflops and model.boost_mhz and arch.fp32 and model.compute_capability[0] != "9":
            computed = model.sm_count * arch.fp32 * 2 * model.boost_mhz / 1e6
            assert computed == pytest.approx(model.fp32_tflops, rel=0.02), model.name


def test_models_by_name():
    assert gpu.model("RTX 3070 Ti").sm_count == 48
    assert gpu.model("nvidia geforce rtx 3070ti").name == "RTX 3070 Ti"
    assert gpu.model("NVIDIA A100-SXM4-40GB").name == "A100 SXM4 40GB"
    assert gpu.model("L4").name == "L4"
    assert gpu.model("5090").name == "RTX 5090"


@pytest.mark.parametrize("name", ["A100", "RTX"])
def test_ambiguous_names_list_what_they_fit(name):
    with pytest.raises(UsageError, match="several GPUs"):
        gpu.model(name)


@pytest.mark.parametrize("name", ["", "NVIDIA", "no such gpu", "x" * 10_000])
def test_unknown_names(name):
    with pytest.raises(UsageError, match="no such GPU"):
        gpu.model(name)


def test_one_default_an_architecture():
    assert gpu.default_model("sm_90a").name == "H100 SXM5 80GB"
    assert gpu.default_model(gpu.arch("sm_80")).compute_capability == "8.0"
    assert gpu.default_model("sm_50") is None
    by_arch = {}
    for model in gpu.list_models():
        by_arch.setdefault(model.arch_name, []).append(model.default)
    assert all(sum(flags) == 1 for name, flags in by_arch.items()), by_arch


def test_own_description(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('name = "Mine"\ncompute_capability = 8.6\nsm_count = 10\nboost_mhz = 1000\n')
    mine = gpu.model(str(path))
    assert (mine.name, mine.arch_name, mine.sm_count, mine.boost_mhz, mine.dram_gbs) == (
        "Mine",
        "sm_86",
        10,
        1000,
        None,
    )
    assert "mine.toml" in mine.source


@pytest.mark.parametrize(
    "text",
    [
        "",
        "name = 3",
        'name = "x"\ncompute_capability = "8.6"',
        'name = "x"\ncompute_capability = "8.6"\nsm_count = -1',
        'name = "x"\ncompute_capability = "8.6"\nsm_count = true',
        'name = "x"\ncompute_capability = "eight"\nsm_count = 3',
        'name = "x"\ncompute_capability = "8.6"\nsm_count = 3\nwheels = 4',
        'name = "x"\ncompute_capability = "8.6"\nsm_count = 3\nboost_mhz = nan',
        "[[gpu]]\n[[gpu]]\n",
        "gpu = 3",
        "a = " + "[" * 5000,
        "not toml at all",
    ],
)
def test_bad_descriptions(text):
    with pytest.raises(InputError):
        gpu.parse_model(text)


def test_missing_description():
    with pytest.raises(InputError, match=r"nothere\.toml"):
        gpu.model("/nonexistent/nothere.toml")


def test_fixed_latencies():
    assert gpu.fixed_latencies("sm_80")["FFMA", "R"] == 4
    assert gpu.fixed_latencies("sm_90a")["IMAD.WIDE", "R"] == 3
    assert gpu.fixed_latencies("sm_90")["IMAD.WIDE", "R"] == 3
    assert gpu.fixed_latencies("sm_87") == gpu.fixed_latencies("sm_86")
    assert gpu.fixed_latencies("sm_121") == gpu.fixed_latencies("sm_120")
    assert gpu.fixed_latencies("sm_50") == {}
    assert gpu.fixed_latencies("x") == {}
