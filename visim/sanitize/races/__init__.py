"""Data races, by happens-before over the bytes that work-items access.

Two accesses to the same byte by two work-items race if one writes, not both are atomic, and nothing
orders them: no barrier of the group with the fence for that memory, no release and acquire. What
one run does shows every race that its accesses have in any order of threads and groups.

`columns` makes tables of what threads did, a row for each channel of an access; `clocks` knows what
comes before what; `within` looks at the threads of a group, `across` at groups.
"""
