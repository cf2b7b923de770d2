"""Pairs of a wrong kernel and its mended twin, and what sanitizers have to say of them."""
