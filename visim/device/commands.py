"""The commands that command streamers know, declared once for each generation.

Owns their codes, their lengths and the fields that are used. What they do is in `streamer`.
Layouts: Intel's programmer's reference manuals, volume "Command Reference: Instructions".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from visim.devices import Generation

_MI, _BLIT, _PIPE, _EXECUTE = 0, 2, 3, 5
ONE_WORD = 0
_LENGTH_8, _LENGTH_16 = 0xFF, 0xFFFF


@dataclass(frozen=True, slots=True)
class Field:
    """Bits of a command: `low` to `high` of 32-bit word `word`."""

    word: int
    high: int
    low: int

    def of(self, words: Sequence[int]) -> int:
        """Return the field's value in a command."""
        return words[self.word] >> self.low & ((1 << (self.high - self.low + 1)) - 1)


def bit(word: int, number: int) -> Field:
    """Return a field of one bit."""
    return Field(word, number, number)


@dataclass(frozen=True, slots=True)
class Command:
    """A command: `code` is its key in the table, its length is in the bits `length` of word 0.

    The length counts the words behind the second; 0 as `length` is a command of one word.
    `skipped_by` is the bit with which the command itself asks for predication.
    """

    name: str
    code: int
    length: int = _LENGTH_8
    skipped_by: int = 0

    def words(self, head: int) -> int:
        """Return how many words the command that begins with `head` has."""
        return (head & self.length) + 2 if self.length else 1


def key_of(head: int) -> int:
    """Return the bits of a command's first word that tell which one it is."""
    match head >> 29:
        case 0:
            return head & 0xFF80_0000
        case 2:
            return head & 0xFFC0_0000
        case 3:
            return head & 0xFFFF_0000
        case _:
            return head & 0xFC00_0000


def _mi(code: int) -> int:
    return _MI << 29 | code << 23


def _blit(code: int) -> int:
    return _BLIT << 29 | code << 22


def _pipe(code: int) -> int:
    return _PIPE << 29 | code << 16


Table = Mapping[int, Command]


def _table(*commands: Command) -> Table:
    return MappingProxyType({command.code: command for command in commands})


# fmt: off
XE2 = _table(
    Command("MI_NOOP",                       _mi(0x00), ONE_WORD),
    Command("MI_SET_PREDICATE",              _mi(0x01), ONE_WORD),
    Command("MI_USER_INTERRUPT",             _mi(0x02), ONE_WORD),
    Command("MI_ARB_CHECK",                  _mi(0x05), ONE_WORD),
    Command("MI_MEM_FENCE",                  _mi(0x09), ONE_WORD),
    Command("MI_BATCH_BUFFER_END",           _mi(0x0A), ONE_WORD),
    Command("MI_MATH",                       _mi(0x1A)),
    Command("MI_SEMAPHORE_WAIT",             _mi(0x1C)),
    Command("MI_STORE_DATA_IMM",             _mi(0x20)),
    Command("MI_LOAD_REGISTER_IMM",          _mi(0x22)),
    Command("MI_STORE_REGISTER_MEM",         _mi(0x24)),
    Command("MI_FLUSH_DW",                   _mi(0x26), 0x3F),
    Command("MI_REPORT_PERF_COUNT",          _mi(0x28), 0x3F),
    Command("MI_LOAD_REGISTER_MEM",          _mi(0x29)),
    Command("MI_LOAD_REGISTER_REG",          _mi(0x2A)),
    Command("MI_ATOMIC",                     _mi(0x2F)),
    Command("MI_BATCH_BUFFER_START",         _mi(0x31), skipped_by=1 << 15),
    Command("XY_BLOCK_COPY_BLT",             _blit(0x41)),
    Command("XY_FAST_COLOR_BLT",             _blit(0x44)),
    Command("MEM_COPY",                      _blit(0x5A)),
    Command("MEM_SET",                       _blit(0x5B)),
    Command("STATE_PREFETCH",                _pipe(0x6003)),
    Command("STATE_BASE_ADDRESS",            _pipe(0x6101)),
    Command("STATE_SIP",                     _pipe(0x6102)),
    Command("STATE_COMPUTE_MODE",            _pipe(0x6105)),
    Command("STATE_SYSTEM_MEM_FENCE_ADDRESS", _pipe(0x6109)),
    Command("STATE_CONTEXT_DATA_BASE_ADDRESS", _pipe(0x610B)),
    Command("PIPELINE_SELECT",               _pipe(0x6904), ONE_WORD),
    Command("CFE_STATE",                     _pipe(0x7200)),
    Command("COMPUTE_WALKER",                _pipe(0x7208), skipped_by=1 << 8),
    Command("3DSTATE_BINDING_TABLE_POOL_ALLOC", _pipe(0x7919)),
    Command("PIPE_CONTROL",                  _pipe(0x7A00), skipped_by=1 << 8),
    Command("RESOURCE_BARRIER",              _EXECUTE << 29 | 3 << 26),
)
# fmt: on
"""Xe2: Lunar Lake, Battlemage. Xe3 has the same."""

_L3_CONTROLS = (Command("L3_CONTROL", _pipe(0x7D80)), Command("L3_CONTROL", _pipe(0x7D90)))
"""One command; bit 20 has the streamer wait for it, as it does anyway."""

# fmt: off
XE_HP = MappingProxyType({**XE2, **_table(
    Command("3DSTATE_BTD",                   _pipe(0x7906)),
    *_L3_CONTROLS,
)})
# fmt: on
"""Xe-HPG, Xe-LPG, Xe-HPC."""


# fmt: off
XE_LP = _table(
    *(command for command in XE2.values() if command.name not in {
        "MI_MEM_FENCE", "MI_SET_PREDICATE", "MEM_COPY", "MEM_SET", "STATE_SYSTEM_MEM_FENCE_ADDRESS",
        "STATE_CONTEXT_DATA_BASE_ADDRESS", "CFE_STATE", "COMPUTE_WALKER", "RESOURCE_BARRIER",
        "3DSTATE_BINDING_TABLE_POOL_ALLOC"}),
    *_L3_CONTROLS,
    Command("GPGPU_CSR_BASE_ADDRESS",        _pipe(0x6104)),
    Command("MEDIA_VFE_STATE",               _pipe(0x7000), _LENGTH_16),
    Command("MEDIA_INTERFACE_DESCRIPTOR_LOAD", _pipe(0x7002), _LENGTH_16),
    Command("MEDIA_STATE_FLUSH",             _pipe(0x7004), _LENGTH_16),
    Command("GPGPU_WALKER",                  _pipe(0x7105), skipped_by=1 << 8),
)
# fmt: on
"""Xe-LP: Tiger Lake."""

_BASES = {
    "general": 1,
    "indirect": 1,
    "surface": 4,
    "dynamic": 6,
    "instruction": 10,
    "bindless_surface": 16,
    "bindless_sampler": 19,
}
"""Where STATE_BASE_ADDRESS has which base."""


@dataclass(frozen=True, slots=True)
class Layout:
    """What differs between generations beside their commands.

    `descriptor` is the word of COMPUTE_WALKER with which its interface descriptor begins.
    `stamp_bytes` are those of one time in what a walker writes when it is done. `bases` tells where
    STATE_BASE_ADDRESS has which base.
    """

    commands: Table
    descriptor: int
    stamp_bytes: int
    bases: Mapping[str, int]


_NEW, _OLD = Layout(XE2, 19, 8, _BASES), Layout(XE_HP, 18, 4, _BASES)
_FIRST = Layout(XE_LP, 0, 4, {**_BASES, "indirect": 8, "binding_pool": 4})
GENERATIONS: Mapping[Generation, Layout] = MappingProxyType(
    {
        Generation.XE_LP: _FIRST,
        Generation.XE_HPG: _OLD,
        Generation.XE_LPG: _OLD,
        Generation.XE_LPG_PLUS: _OLD,
        Generation.XE_HPC: _OLD,
        Generation.XE2: _NEW,
        Generation.XE3: _NEW,
    }
)
