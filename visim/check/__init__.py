"""Verification: what a well-formed module must keep to beyond its syntax."""

from visim.check.verifier import verify_module

__all__ = ["verify_module"]
