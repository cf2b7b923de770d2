"""Emulated GPUs for unmodified programs: the kernel's driver, the command processors, kernels."""
