"""What callers pass to kernels, and the bytes that kernels get of it."""
