"""Vectorised numerics of a GPU lane on unsigned containers; shared by the PTX and SASS semantics.

Every function takes and returns numpy arrays (or numpy scalars) of the unsigned container types
uint16, uint32, uint64, or bool for predicates, of any broadcastable shape, unless its docstring
says otherwise. Callers run them under ``np.errstate(all="ignore")``. Inputs are never written to.
"""
