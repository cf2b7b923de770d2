"""The core as it runs: thread slots, arbitration, fetch, units, barriers - on plain integers.

Its functions work on lists of integers and call nothing but each other, so that the very same
source runs in Python and as native code: it keeps to what
`visim.timing.lowering` translates, and `visim.timing.compiled` runs that. Knows neither vISA nor
tables: `visim.timing.arrays` lays out what stands in the fields.

How it goes: each core has the earliest time at which something can happen; the earliest core is
stepped. In a step up to as many instructions start as there are free ports, each of another thread
and on a unit that will be free.
"""
