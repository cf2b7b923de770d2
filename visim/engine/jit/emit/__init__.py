"""LLVM from MIR: one lowering for each operation, block parameters as phis.

What runs beside the code - faults, time slices, call-outs, the general form of messages - is that
of `jit.writing`, whose lowerings of micro-operations and messages this package shares.
"""
