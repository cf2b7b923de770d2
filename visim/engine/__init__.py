"""How linked kernels are executed, and the arithmetic that hosts do not offer."""
