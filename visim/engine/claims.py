"""Words that say who accessed memory last: two for each four bytes, of writers and of readers.

A word has, from the top: the group (24 bits), how many barriers of the group came before (16 bits),
8 bits for how narrow elements lie in the four bytes, the thread (8 bits), its channel (6 bits), and
two marks. What comes before the thread is the head of an access. Launches that follow each other
have groups of higher numbers, so that words of earlier ones are nobody's. Knows no engine.
"""

from __future__ import annotations

GROUP_SHIFT, PHASE_SHIFT, PATTERN_SHIFT, THREAD_SHIFT, CHANNEL_SHIFT = 40, 24, 16, 8, 2
CELL_BYTES = 4
"""The bytes of memory that have words of their own."""
WORD_BYTES = 8
WHOLE = 63
"""The channel of an access that a thread makes as a whole: all its work-items do the same."""
EVERYBODY = 0x3FFF << CHANNEL_SHIFT
"""The thread and channel of words of atomics: those of a group are one."""
MOST_GROUPS = (1 << 24) - 2
"""So many groups have numbers of their own: 0 is nobody's, one is that of many groups."""
GROUP = (1 << 64) - (1 << GROUP_SHIFT)
"""The bits of a word that say which group it is of."""
PHASES = (1 << GROUP_SHIFT) - (1 << PHASE_SHIFT)
PLAIN, ATOMIC = 1, 2
"""Marks of writers."""
SEVERAL_GROUPS, SEVERAL_ITEMS = 1, 2
"""Marks of readers: not only the work-item that the word names has read."""

__all__ = [
    "ATOMIC",
    "CELL_BYTES",
    "CHANNEL_SHIFT",
    "EVERYBODY",
    "GROUP",
    "GROUP_SHIFT",
    "MOST_GROUPS",
    "PATTERN_SHIFT",
    "PHASES",
    "PHASE_SHIFT",
    "PLAIN",
    "SEVERAL_GROUPS",
    "SEVERAL_ITEMS",
    "THREAD_SHIFT",
    "WHOLE",
    "WORD_BYTES",
]
