"""Linking: from modules to kernels that an engine can prepare."""

from visim.linker.merge import Part, merge, undeclared_functions
from visim.linker.program import (
    LinkedKernel,
    LinkedUnit,
    dispatch_width,
    function_handle,
    link_kernel,
    unresolved,
)
from visim.linker.shrink import stripped, without_unused

__all__ = [
    "LinkedKernel",
    "LinkedUnit",
    "Part",
    "dispatch_width",
    "function_handle",
    "link_kernel",
    "merge",
    "stripped",
    "undeclared_functions",
    "unresolved",
    "without_unused",
]
