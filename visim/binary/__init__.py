"""Readers and writers of the binary files that hold vISA programs."""
