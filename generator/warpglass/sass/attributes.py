"""The ``.nv.info`` attributes of a cubin: the codes, and the reader of a section.

An attribute is a format byte, a code byte and a value: format 1 no value, 2 one byte, 3 two bytes (each
padded to four bytes in all), 4 a 16-bit length and that many bytes. The names belong to the codes as
``cuobjdump -elf`` of CUDA 13 prints them: each code was written into a cubin and read back by the tool.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping

from warpglass.sass.model import Attribute, Param

__all__ = ["NAMES", "parameters", "read_attributes"]

_TABLE = """
00 ERROR PAD IMAGE_SLOT JUMPTABLE_RELOCS CTAIDZ_USED MAX_THREADS IMAGE_OFFSET IMAGE_SIZE TEXTURE_NORMALIZED
09 SAMPLER_INIT PARAM_CBANK SMEM_PARAM_OFFSETS CBANK_PARAM_OFFSETS SYNC_STACK TEXID_SAMPID_MAP EXTERNS REQNTID
11 FRAME_SIZE MIN_STACK_SIZE SAMPLER_FORCE_UNNORMALIZED BINDLESS_IMAGE_OFFSETS BINDLESS_TEXTURE_BANK
16 BINDLESS_SURFACE_BANK KPARAM_INFO SMEM_PARAM_SIZE CBANK_PARAM_SIZE QUERY_NUMATTRIB MAXREG_COUNT
1c EXIT_INSTR_OFFSETS S2RCTAID_INSTR_OFFSETS CRS_STACK_SIZE NEED_CNP_WRAPPER NEED_CNP_PATCH EXPLICIT_CACHING
22 ISTYPEP_USED MAX_STACK_SIZE SUQ_USED LD_CACHEMOD_INSTR_OFFSETS LOAD_CACHE_REQUEST ATOM_SYS_INSTR_OFFSETS
28 COOP_GROUP_INSTR_OFFSETS COOP_GROUP_MASK_REGIDS
2b WMMA_USED HAS_PRE_V10_OBJECT ATOMF16_EMUL_INSTR_OFFSETS ATOM16_EMUL_INSTR_REG_MAP REGCOUNT
31 INT_WARP_WIDE_INSTR_OFFSETS SHARED_SCRATCH STATISTICS INDIRECT_BRANCH_TARGETS
36 SW_WAR CUDA_API_VERSION NUM_MBARRIERS MBARRIER_INSTR_OFFSETS COROUTINE_RESUME_ID_OFFSETS
3b SAM_REGION_STACK_SIZE PER_REG_TARGET_PERF_STATS CTA_PER_CLUSTER EXPLICIT_CLUSTER MAX_CLUSTER_RANK
40 INSTR_REG_MAP RESERVED_SMEM_USED RESERVED_SMEM_0_SIZE UCODE_SECTION_DATA UNUSED_LOAD_BYTE_OFFSET
45 KPARAM_INFO_V2 SYSCALL_OFFSETS
48 GRAPHICS_GLOBAL_CBANK SHADER_TYPE VRC_CTA_INIT_COUNT TOOLS_PATCH_FUNC NUM_BARRIERS TEXMODE_INDEPENDENT
4e PERF_STATISTICS AT_ENTRY_FRAGMENTS SPARSE_MMA_MASK TCGEN05_1CTA_USED TCGEN05_2CTA_USED GEN_ERRBAR_AT_EXIT
54 REG_RECONFIG ANNOTATIONS
57 STACK_CANARY_TRAP_OFFSETS STUB_FUNCTION_KIND LOCAL_CTA_ASYNC_STORE_OFFSETS
5b BLOCKS_ARE_CLUSTERS SANITIZE SYSCALLS_FALLBACK CUDA_REQ
61 RTCORE_ENTRY CLUSTER_LAUNCH_CONTROL_USED
64 MIN_PER_CTA_MEMORY_SIZE IGNOREOOB_CP_ASYNC_BULK_INSTR_OFFSETS LANGUAGE
68 GRID_ATTRIBUTES STACK_OFFSET RT_LIVESTATE_SASS_MAP NVSAL_SW_WAR INSTR_OFFSETS PREEXIT_USED
"""


def _names() -> Mapping[int, str]:
    names: dict[int, str] = {}
    for row in _TABLE.split("\n"):
        words = row.split()
        for index, word in enumerate(words[1:]):
            names[int(words[0], 16) + index] = f"EIATTR_{word}"
    return names


#: Attribute code to its name.
NAMES: Mapping[int, str] = _names()


def _values(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    at = 0
    while at + 4 <= len(data):
        form, code, value = data[at], data[at + 1], struct.unpack_from("<H", data, at + 2)[0]
        at += 4
        if form == 1:
            yield code, 0
        elif form == 2:
            yield code, value & 0xFF
        elif form == 3:
            yield code, value
        elif form == 4 and at + value <= len(data):
            yield code, data[at : at + value]
            at += value
        else:
            # An unknown format has an unknown length: what follows cannot be read.
            return


def read_attributes(data: bytes) -> tuple[Attribute, ...]:
    """The attributes of one section, up to the first that cannot be read."""
    found: list[Attribute] = []
    for code, raw in _values(data):
        name = NAMES.get(code, f"UNKNOWN_0x{code:02x}")
        value: int | tuple[int, ...] | bytes = raw
        if isinstance(raw, bytes) and len(raw) % 4 == 0:
            value = struct.unpack(f"<{len(raw) // 4}I", raw)
        found.append(Attribute(code, name, value))
    return tuple(found)


def parameters(attributes: tuple[Attribute, ...]) -> tuple[Param, ...]:
    """The kernel's parameters in order, from KPARAM_INFO (size in bits 31:18 of the third word, alignment
    of the pointee in 7:0, space in 11:8) and KPARAM_INFO_V2 (size in bits 23:0)."""
    found: dict[int, Param] = {}
    for attribute in attributes:
        words = attribute.value
        if not isinstance(words, tuple) or len(words) != 3:
            continue
        ordinal, offset = words[1] & 0xFFFF, words[1] >> 16
        if attribute.name == "EIATTR_KPARAM_INFO":
            found[ordinal] = Param(ordinal, offset, words[2] >> 18, words[2] & 0xFF, words[2] >> 8 & 15)
        elif attribute.name == "EIATTR_KPARAM_INFO_V2":
            found[ordinal] = Param(ordinal, offset, words[2] & 0xFFFFFF)
    return tuple(found[ordinal] for ordinal in sorted(found))
