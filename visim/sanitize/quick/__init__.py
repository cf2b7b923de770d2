"""Quick looks: native code that sees whether a launch is suspicious, which is then run once more.

What it finds clean is done. What is suspicious may be right; the detectors look at it precisely.
"""
