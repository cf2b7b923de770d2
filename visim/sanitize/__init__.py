"""Sanitizers: what is wrong with a kernel though it runs, found on either engine.

`kinds` declares what can be found, once. `findings` is what users get, `collecting` makes it of
what detectors report. A detector (`detecting`) watches a launch by what engines tell observers:
groups, accesses, meetings of threads, and the notes of instrumented instructions.
"""
