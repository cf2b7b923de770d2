"""What tests have to know of the host that they run on."""

from visim.engine.jit.targets import HERE, X86_64

IS_X86 = HERE is X86_64
"""Whether code is made for x86-64."""
