"""OpenCL C and SPIR-V to zebins through Intel's offline compiler, ocloc."""
