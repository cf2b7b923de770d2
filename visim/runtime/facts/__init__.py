"""What visim says of kernels and of instructions."""
