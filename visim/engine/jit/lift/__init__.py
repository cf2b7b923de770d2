"""From a unit's control flow and traced effects to MIR.

Variables become webs, and webs values; which channels are on, and which wait, are masks.
"""
