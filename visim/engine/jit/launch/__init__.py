"""Compiled kernels at work: workers, their tables, turns, faults, observers."""
