"""Linking: from modules to kernels that an engine can prepare."""

from visim.linker.program import LinkedKernel, LinkedUnit, function_handle, link_kernel

__all__ = ["LinkedKernel", "LinkedUnit", "function_handle", "link_kernel"]
