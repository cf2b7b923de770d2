"""LLVM IR as text: what code for any instruction is made of.

Names and types, variables of a thread, rows of channels with shapes, floats, sums, transposes.
"""
