"""What kernels print."""
