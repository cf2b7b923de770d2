"""Processes that do work for others: warm, forked for each request, confined, and ended in time.

Nothing but the standard library, except for what the processes are started to do: one of them runs
in the Python that lies with a compiler.
"""
