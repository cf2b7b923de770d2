"""Random valid vISA programs that end, and what is done with them: comparing, reducing."""

from visim.smith.generate import Shape, smith

__all__ = ["Shape", "smith"]
