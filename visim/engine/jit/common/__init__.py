"""Code that all kernels share, LLVM, and the cache of object code."""
