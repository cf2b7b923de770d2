"""Compilers' texts with one mistake each, and what visim and Intel's verifier say of them."""
