"""The timing model against the schedules that Intel's finalizer expects."""
