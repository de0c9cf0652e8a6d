"""Tables of the PTX language: types, predefined names, opcodes, directives.

Source: PTX ISA 9.x, chapters "State Spaces, Types, and Variables", "Special Registers",
"Instruction Set" and "Directives", plus the deprecated names of ISA 1.x.
"""

from __future__ import annotations

import re

__all__ = [
    "COMPONENTS", "KNOWN_OPCODES", "LINKAGES", "OPAQUE_TYPES", "PERFORMANCE_DIRECTIVES", "SPACES",
    "SPECIAL_REGISTERS", "SWIZZLES", "TYPE_SIZES", "is_special",
]  # fmt: skip

#: Bytes of a scalar of each type. ``pred`` has no size in memory.
TYPE_SIZES: dict[str, int] = {
    **{f"{k}{bits}": bits // 8 for k in "bus" for bits in (8, 16, 32, 64)},
    "b128": 16, "u128": 16, "s128": 16,
    "f16": 2, "f32": 4, "f64": 8, "bf16": 2, "tf32": 4,
    "f16x2": 4, "bf16x2": 4, "u16x2": 4, "s16x2": 4, "f32x2": 8,
    "u8x4": 4, "s8x4": 4, "u16x4": 8, "s16x4": 8,
    "e4m3": 1, "e5m2": 1, "e2m3": 1, "e3m2": 1, "e2m1": 1, "ue8m0": 1, "ue4m3": 1,
    "e4m3x2": 2, "e5m2x2": 2, "e2m3x2": 2, "e3m2x2": 2, "ue8m0x2": 2, "e2m1x2": 1,
    "e4m3x4": 4, "e5m2x4": 4, "e2m3x4": 4, "e3m2x4": 4, "e2m1x4": 2,
    "pred": 0,
}  # fmt: skip

#: Types whose values have no layout in memory that a program may see; 8-byte handles.
OPAQUE_TYPES = frozenset({"texref", "samplerref", "surfref", "tex"})

SPACES = frozenset({"reg", "sreg", "const", "global", "local", "param", "shared", "tex"})

LINKAGES = frozenset({"extern", "visible", "weak", "common"})

#: Directives between a function's head and its body, or inside the body of old versions.
PERFORMANCE_DIRECTIVES = frozenset({
    "maxnreg", "maxntid", "reqntid", "minnctapersm", "maxnctapersm", "noreturn", "pragma",
    "reqnctapercluster", "explicitcluster", "maxclusterrank", "blocksareclusters", "abi_preserve",
    "abi_preserve_control", "attribute", "cluster_dim", "language",
})  # fmt: skip

_VECTOR_SPECIALS = (
    "%tid", "%ntid", "%ctaid", "%nctaid", "%clusterid", "%nclusterid", "%cluster_ctaid", "%cluster_nctaid",
)  # fmt: skip

#: Every predefined register with its component.
SPECIAL_REGISTERS = frozenset(
    {f"{name}.{c}" for name in _VECTOR_SPECIALS for c in "xyzw"}
    | {f"%envreg{i}" for i in range(32)}
    | {f"%pm{i}" for i in range(8)}
    | {f"%pm{i}_64" for i in range(8)}
    | {f"%lanemask_{which}" for which in ("eq", "le", "lt", "ge", "gt")}
    | {f"%reserved_smem_offset_{which}" for which in ("begin", "end", "cap", "0", "1")}
    | {
        "%laneid", "%warpid", "%nwarpid", "%smid", "%nsmid", "%gridid", "%is_explicit_cluster",
        "%cluster_ctarank", "%cluster_nctarank", "%clock", "%clock_hi", "%clock64", "%globaltimer",
        "%globaltimer_lo", "%globaltimer_hi", "%total_smem_size", "%aggr_smem_size", "%dynamic_smem_size",
        "%current_graph_exec", "%warpsz",
    }
)  # fmt: skip

_SPECIAL_PREFIXES = frozenset(_VECTOR_SPECIALS)


def is_special(name: str) -> bool:
    """True for a predefined register, with or without its component."""
    return name in SPECIAL_REGISTERS or name in _SPECIAL_PREFIXES


#: Vector components by suffix.
COMPONENTS = {"x": 0, "y": 1, "z": 2, "w": 3, "r": 0, "g": 1, "b": 2, "a": 3}

#: Byte and half selectors of the video instructions.
SWIZZLES = re.compile(r"(?:b[0-3]{1,4}|b[0-7]{4}|h[0-3]{1,2})\Z")

#: First part of every opcode of the ISA, old and new.
_OPCODES = """
    abs activemask add addc alloca and applypriority atom bar barrier bfe bfi bfind bmsk bra brev brkpt brx
    call clmad clusterlaunchcontrol clz cnot copysign cos cp createpolicy cvt cvta
    discard div dp2a dp4a elect ex2 exit fence fma fns getctarank griddepcontrol
    isspacep istypep ld ldmatrix ldu lg2 lop3 mad mad24 madc mapa match max mbarrier membar min mma mov
    movmatrix mul mul24 multimem nanosleep neg not or
    pmevent popc prefetch prefetchu prmt rcp red redux rem ret rsqrt sad selp set setmaxnreg setp shf shfl
    shl shr sin slct sqrt st stackrestore stacksave stmatrix sub subc suld suq sured sust szext
    tanh tcgen05 tensormap testp tex tld4 trap txq vabsdiff vabsdiff2 vabsdiff4 vadd vadd2 vadd4
    vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vote vset vset2 vset4 vshl vshr vsub vsub2 vsub4
    wgmma wmma xor
"""
KNOWN_OPCODES = frozenset(_OPCODES.split())
