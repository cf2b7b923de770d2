"""OpenCL C to zebins through Intel's offline compiler, ocloc."""
