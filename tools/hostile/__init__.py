"""Hostile requests to a server of `visim serve`, and whether it is well afterwards."""
