"""What a driver does: building programs, binding arguments, launching kernels."""
