"""Uninitialised values: shadow bits that say which bits of values nothing has written.

`rules` says for each micro-operation what the shadow of its result is, `layout` gives registers
shadows of their own, `instrument` adds to each instruction the effects that move shadows, and
`memory` holds those of memory. Engines execute the result as they execute any program.
`detector` tells what reaches a store to a buffer, a branch or an address.
"""
