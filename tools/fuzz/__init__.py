"""Fuzzing of the readers and of all that works on what they read; see docs/robustness.md."""
