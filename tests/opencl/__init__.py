"""Real OpenCL C programs, run on visim and on PoCL and compared with NumPy."""
