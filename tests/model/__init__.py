"""Scalar reference models, in plain Python integers and exact rationals."""
