"""Running kernels: on which engine, in which order, and what came of it."""
