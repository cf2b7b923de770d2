"""What the DWARF of a zebin says of the source: functions, scopes, variables, types and places.

Static facts only, in native addresses; the debugger finds what they mean for a stopped thread.
"""
