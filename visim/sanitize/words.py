"""Words of shadow memory, of 64 bits, that a thread loads and stores as a whole.

They are blocks, which native code moves at once; messages with an address for each lane it looks
at lane by lane where it knows nothing of the address.
"""

from __future__ import annotations

from visim.sem.effects import LoadBlock, Space, StoreBlock
from visim.sem.expr import UOPS, Expr, constant
from visim.types import UQ


def word_at(where: Expr | int) -> LoadBlock:
    """Return what loads the word at an address."""
    address = constant(where, UQ, 1) if isinstance(where, int) else where
    return LoadBlock(Space.SHADOW, None, address, UQ, 1, None)


def loaded(word: LoadBlock) -> Expr:
    """Return the word that has been loaded."""
    return Expr(UOPS["loaded"], UQ, 1, (), (word, 0))


def kept(where: Expr, value: Expr) -> StoreBlock:
    """Return what stores a word."""
    return StoreBlock(Space.SHADOW, None, where, value, None)


__all__ = ["kept", "loaded", "word_at"]
