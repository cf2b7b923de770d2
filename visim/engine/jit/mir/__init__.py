"""MIR: the JIT's representation of a unit in SSA, over vectors of lanes.

Functions are blocks of values. Branches are uniform: which channels are on is a value, a mask.
`docs/mir.md` describes the text; this package knows neither how MIR is made nor what becomes of it.
"""
