"""The detector of accesses outside of the memory that their addresses were computed from.

`instrument` masks such accesses and tells of them, by the extents in a `table`; `detector` says
what they would have been.
"""
