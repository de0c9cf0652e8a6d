"""Parser of PTX, the virtual instruction set: text to frozen models, no analysis."""

from warpglass.ptx.load import decode, load
from warpglass.ptx.model import (
    Address,
    Component,
    Diagnostic,
    Function,
    Guard,
    Immediate,
    Instruction,
    Loc,
    Module,
    Negated,
    Operand,
    OperandList,
    Pair,
    Param,
    Register,
    Sink,
    SpecialRegister,
    Symbol,
    Variable,
    Vector,
)
from warpglass.ptx.parser import parse, parse_all

__all__ = [
    "Address", "Component", "Diagnostic", "Function", "Guard", "Immediate", "Instruction", "Loc", "Module",
    "Negated", "Operand", "OperandList", "Pair", "Param", "Register", "Sink", "SpecialRegister", "Symbol",
    "Variable", "Vector", "decode", "load", "parse", "parse_all",
]  # fmt: skip
