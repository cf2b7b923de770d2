"""A generation as its table describes it: structure, native instructions, and what they cost.

The tables are TOML files beside this module, one for each generation. Every number in them says
where it comes from; `Machine.provenance` has those that a result rests on. Knows no program.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib.resources import files
from typing import Any, cast

from visim.errors import ArgumentError, InternalError, UnsupportedError, shown
from visim.lex import nearest
from visim.target import ARCHITECTURES, known_names, platform, timed

ORIGINS = ("derived", "published", "measured by others", "assumed")
BANK_RULES = ("ports", "halves", "halves-three", "bundles-8", "bundles-16")
POLICIES = ("stay", "round-robin")

_ONE_PART = 16
"""Channels of which a message to shared local memory is the fastest."""
_LANES = frozenset({"alu", "logic", "mad", "three"})
"""Kinds of lane operations, which a preset may tell apart by opcode."""

UNITS = (
    "none",
    "fpu0",
    "fpu1",
    "em",
    "int",
    "long",
    "systolic",
    "sampler",
    "data",
    "slm",
    "render",
    "gateway",
    "spawner",
)
"""What an instruction can keep busy; those from the sampler on belong to all cores of a row."""

FIRST_SHARED_UNIT = UNITS.index("sampler")


@dataclass(frozen=True, slots=True)
class Fact:
    """A number of a table: where it comes from, one of `ORIGINS`, and the source.

    `range` are the ends between which it is if nobody knows better: first the one with which
    kernels are faster.
    """

    value: int | str
    origin: str
    source: str
    range: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """What one class of instructions costs, in cycles; linear in numbers of registers.

    `units` are the units that can execute it. The suffixes: `_sd` for each register written, `_sx`
    for each register's worth of execution, `_ss` for each register of the largest source, `_sc`
    for each register in bank conflict. df keeps the front end busy, db the unit; sources are read
    after ls, results written after ld (registers; ld_sd counts for accumulators too), la
    (accumulator), lf (flags), counted as the machine's `counted_from` says.
    """

    units: tuple[int, ...]
    df_1: int
    df_sd: int
    df_sx: int
    df_sc: int
    db_1: int
    db_sx: int
    ls_1: int
    ls_ss: int
    ld_1: int
    ld_ss: int
    ld_sd: int
    la: int
    lf: int
    origin: str


@dataclass(frozen=True, slots=True)
class NativeRules:
    """Which native instructions a generation has.

    `three_source` says how instructions with three sources are encoded: "none", "simd8" (at most
    8 channels, Align16), "align16" or "align1". `mul32` is the product of two dwords: "macro" (mul,
    mach, mov), "macl" (mul, macl) or "native". `int64` is "emulated" (on dwords) or "native".
    """

    version: int
    grf_bytes: int
    grfs: int
    mrfs: int
    three_source: str
    simd16_math: bool
    int64: str
    fp64: bool
    half: bool
    mul32: str
    banks: str
    features: frozenset[str]


@dataclass(frozen=True, slots=True)
class Machine:
    """A generation with one preset of costs; `facts` has the structure by name.

    Latencies are `counted_from` the start of the "unit", or from the "issue" of an instruction, as
    the source of a preset does. `opcodes` name the class of costs of opcodes that are unlike the
    others of their class.
    """

    name: str
    title: str
    preset: str
    preset_source: str
    counted_from: str
    native: NativeRules
    facts: Mapping[str, Fact] = field(repr=False)
    costs: Mapping[str, Cost] = field(repr=False)
    opcodes: Mapping[str, str] = field(repr=False)

    def number(self, name: str) -> int:
        """Return a number of the structure."""
        value = self.facts[name].value
        if not isinstance(value, int):
            raise InternalError(f"{self.name}: {name} is not a number")
        return value

    @property
    def policy(self) -> str:
        """How the next thread is chosen, one of `POLICIES`."""
        return str(self.facts["policy"].value)

    def text(self, name: str) -> str:
        """Return a fact that is no number."""
        return str(self.facts[name].value)

    def extreme(self, end: int) -> Machine:
        """Return the machine with all uncertain facts at one end: 0 the faster, 1 the slower."""
        facts = {
            name: fact if fact.range is None else replace(fact, value=fact.range[end])
            for name, fact in self.facts.items()
        }
        return replace(self, facts=facts)

    def cost(self, name: str) -> Cost:
        """Return what instructions of a class cost.

        Raises:
            UnsupportedError: the generation has no such instructions.
        """
        found = self.costs.get(name)
        if found is None:
            kind = name.removeprefix("message.")
            what = f"message {kind!r}" if kind != name else f"instruction class {name!r}"
            raise UnsupportedError(
                f"timing: {self.name} (preset {self.preset}) has no {what}; choose another --arch"
            )
        return found

    def class_of(self, kind: str, opcode: str, size: int) -> str:
        """Return the class of costs of an instruction by its kind, opcode and channels."""
        if kind.startswith("message."):
            return self._message_class(kind, opcode, size)
        base, dot, suffix = kind.partition(".")
        other = self.opcodes.get(opcode.partition(".")[0])
        return kind if other is None or base not in _LANES else f"{other}{dot}{suffix}"

    def _message_class(self, kind: str, opcode: str, size: int) -> str:
        """Return the class of a message, of its own where load/store caches are told apart."""
        first, *rest = opcode.split(".")
        if kind.startswith("message.slm."):
            special = f"{kind}.simd32" if size > _ONE_PART else kind
        elif kind == "message.fence" and "slm" in rest:
            special = f"{kind}.slm"
        elif first in {"load", "store", "atomic"}:
            special = f"{kind}.cached" if "ca" in rest else f"{kind}.lsc"
        elif rest and rest[0] in {"dc0", "dc1"}:
            special = f"{kind}.hdc"
        else:
            return kind
        return special if special in self.costs else kind

    def with_facts(self, changes: Mapping[str, int | str]) -> Machine:
        """Return the machine with some facts changed, for studies; they count as assumed.

        Raises:
            ArgumentError: there is no such fact, or the value is out of range.
        """
        if not isinstance(cast("object", changes), Mapping):
            raise ArgumentError(
                f"timing: parameters: expected a dict by name, found {shown(changes)}"
            )
        facts = dict(self.facts)
        for name, value in changes.items():
            _check_fact(name, value, facts)
            facts[name] = Fact(value, "assumed", "set by the caller")
        return replace(self, facts=facts)

    @property
    def again(self) -> int:
        """Cycles for each register that two of three sources have in common."""
        return self.number("read_again") if "read_again" in self.facts else 0

    def slm_latency(self, size: int) -> int:
        """Return when a message of so many channels to shared local memory is answered."""
        name = "slm_latency_simd32" if size > _ONE_PART else "slm_latency"
        return self.number(name if name in self.facts else "slm_latency")

    def provenance(self, classes: Iterable[str]) -> list[dict[str, Any]]:
        """Return where the numbers come from: the structure, and the costs of some classes."""
        structure = [
            {
                "name": name,
                "value": fact.value,
                "from": fact.origin,
                "source": fact.source,
                "range": None if fact.range is None else list(fact.range),
            }
            for name, fact in self.facts.items()
        ]
        return structure + [
            {
                "name": f"cost {name}",
                "value": _shown(self.cost(name)),
                "from": self.cost(name).origin,
                "source": self.preset_source,
            }
            for name in sorted(set(classes))
        ]


def _shown(cost: Cost) -> str:
    units = "/".join(UNITS[unit] for unit in cost.units)
    return (
        f"{units}: df={cost.df_1}+{cost.df_sd}sd+{cost.df_sx}sx+{cost.df_sc}sc "
        f"db={cost.db_1}+{cost.db_sx}sx ls={cost.ls_1}+{cost.ls_ss}ss "
        f"ld={cost.ld_1}+{cost.ld_ss}ss+{cost.ld_sd}sd "
        f"la={cost.la} lf={cost.lf}"
    )


_LEAST = {
    "eus": 1,
    "slots": 1,
    "cores_per_subslice": 1,
    "issue_width": 1,
    "fetch_buffer": 4,
    "clock": 1,
    "data_l1_ways": 1,
    "data_l1_rate": 1,
    "l3_ways": 1,
    "l3_banks": 1,
    "l3_port": 1,
    "l3_rate": 1,
    "atomic_rate": 1,
    "dram_rate": 1,
    "dram_share": 1,
    "barriers": 1,
    "groups": 1,
}


def _check_fact(name: str, value: int | str, facts: Mapping[str, Fact]) -> None:
    if name not in facts:
        near = nearest(name, facts) if isinstance(cast("object", name), str) else None
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(facts)}"
        raise ArgumentError(f"timing: there is no parameter {shown(name)}; {hint}")
    if name == "policy":
        if not isinstance(value, str) or value not in POLICIES:
            known = ", ".join(POLICIES)
            raise ArgumentError(f"timing: policy is one of {known}, found {shown(value)}")
        return
    if isinstance(facts[name].value, str):
        raise ArgumentError(f"timing: {name} is no number and cannot be changed")
    least = _LEAST.get(name, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ArgumentError(f"timing: {name} is an integer from {least}, found {shown(value)}")


def find_machine(name: str, preset: str | None = None) -> Machine:
    """Return a generation's machine.

    Args:
        name: one of `ARCHITECTURES`, or another name of its device, in any case.
        preset: a set of costs: mesa, igc or measured; None is the table's own choice.

    Raises:
        ArgumentError: there is no such generation, or it has no such preset.
    """
    key = timed(name) if isinstance(cast("object", name), str) else None
    if key is None:
        known = ", ".join(ARCHITECTURES)
        if isinstance(cast("object", name), str) and name.lower() in known_names():
            title = platform(name).title
            raise ArgumentError(
                f"timing: {name} ({title}) has no table: how many cores it has is not published; "
                f"choose another --arch: {known}"
            )
        raise ArgumentError(f"timing: there is no architecture {shown(name)}; known: {known}")
    table = _table(key)
    chosen = table["default_preset"] if preset is None else preset
    if not isinstance(chosen, str) or chosen not in table["presets"]:
        known = ", ".join(table["presets"])
        raise ArgumentError(f"timing: {key} has no preset {shown(chosen)}; it has: {known}")
    described = table["presets"][chosen]
    fpus = table["structure"]["fpus"]["value"]
    rules: dict[str, Any] = {
        **table["native"],
        "features": frozenset(table["native"]["features"]),
    }
    return Machine(
        key,
        table["title"],
        chosen,
        described["source"],
        described.get("counted_from", "unit"),
        NativeRules(**rules),
        {k: _fact(v) for k, v in table["structure"].items()},
        {k: _cost(row, fpus) for k, row in described["classes"].items()},
        described.get("opcodes", {}),
    )


@cache
def _table(name: str) -> dict[str, Any]:
    """Return a generation's table; what one with a `base` does not say is as in that one.

    Of the base's presets it has the one that is its default.
    """
    text = (files("visim.timing") / "tables" / f"{name}.toml").read_text(encoding="utf-8")
    table = tomllib.loads(text)
    if "base" not in table:
        return table
    whole = _merged(_table(table["base"]), table)
    chosen = whole["default_preset"]
    return {**whole, "presets": {chosen: whole["presets"][chosen]}}


def _merged(base: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables in tables with the changes of others; a fact is changed as a whole."""
    whole = dict(base)
    for name, value in changes.items():
        is_table = isinstance(value, Mapping) and "value" not in value
        whole[name] = _merged(base.get(name, {}), cast("Any", value)) if is_table else value
    return whole


def _fact(row: Mapping[str, Any]) -> Fact:
    ends = row.get("range")
    return Fact(row["value"], row["from"], row["source"], ends and (ends[0], ends[1]))


def _cost(row: list[Any], fpus: int) -> Cost:
    unit, *numbers, origin = row
    return Cost(_units(unit, fpus), *numbers, origin=origin)


def _units(name: str, fpus: int) -> tuple[int, ...]:
    """Return the numbers of a unit: of a core with two FPUs, the second one does the math too."""
    if fpus > 1 and name in {"fpu", "em"}:
        second = UNITS.index("fpu1")
        return (second,) if name == "em" else (UNITS.index("fpu0"), second)
    return (UNITS.index("fpu0" if name == "fpu" else name),)


__all__ = ["ARCHITECTURES", "UNITS", "Cost", "Fact", "Machine", "NativeRules", "find_machine"]
