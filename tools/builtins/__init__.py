"""How exact OpenCL's built-in functions are when visim runs what Intel's compiler makes of them."""
