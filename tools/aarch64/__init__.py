"""AArch64 on this machine, under QEMU: a Python of Debian's, and visim's kernels run by it."""
