"""The page of devices, `docs/devices.md`: the table of `visim.devices` as readers want it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from tools.instruction_pages import GENERATED
from visim.devices import PLATFORMS, Feature, Generation, Platform
from visim.target import ARCHITECTURES

_SOURCES = (
    (
        "register size, widths of subgroups, families and cores of the note",
        "zebins that ocloc 22.43 and 26.27 write for each device",
    ),
    (
        "features, limits of messages",
        "the finalizer's capabilities, `visa/HWCaps.inc` and `visa/common.cpp` of "
        "intel/intel-graphics-compiler",
    ),
    ("numbers of products and cores", "`Platform.hpp` of intel/intel-graphics-compiler"),
    (
        "threads, counts of registers, shared local memory",
        "`hw_info_*.cpp` and `release_helper_*.cpp` of intel/compute-runtime",
    ),
)
_QUESTIONS: Sequence[tuple[str, Callable[[Platform], bool]]] = (
    *((one.value, lambda device, one=one: one in device.features) for one in Feature),
    ("load and store cache (LSC)", lambda device: device.has_lsc),
    ("named barriers", lambda device: device.has_named_barriers),
    ("16-bit atomics", lambda device: device.has_short_atomics),
    ("integer `div` and `mod`", lambda device: device.divides_integers),
    ("typed messages of 16 channels", lambda device: device.has_wide_typed),
    ("its code loads the payload", lambda device: device.loads_payload),
)


def device_page() -> Iterator[str]:
    """Yield the lines of the page."""
    yield from ("# Devices", "", GENERATED, "")
    yield (
        "What visim knows of each device. Checks, payloads, engines and the command line take it "
        "from the same table, `visim/devices.py`."
    )
    yield from ("", "## Names", "")
    yield (
        "`--device` and `device=` take any of these names, in any case. Programs are compiled for "
        "the first product unless another one is named."
    )
    yield from _table(("Device", "What it is", "Generation", "Products", "Groups"), _names())
    yield from ("", "## Sizes")
    columns = (
        *("Device", "Register", "Subgroups", "Registers of a thread", "Threads of a core"),
        *("Shared local memory", "`dpas` channels", "Inline payload"),
    )
    yield from _table(columns, _sizes())
    yield from ("", "## Features")
    yield from _table(("", *(one.name for one in PLATFORMS)), _features())
    yield from ("", "## In files", "")
    yield (
        "A zebin's note names a product family and a core; objects of vISA with Gen code have a "
        "number of their own. A zebin of another family is an error that gives its number and "
        "this list."
    )
    columns = ("Device", "Family", "Graphics version", "Core", "Gen code", "`visim time`")
    yield from _table(columns, _numbers())
    yield from ("", "## Where this is from")
    yield from _table(("What", "Source"), _SOURCES)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield ""
    yield f"| {' | '.join(head)} |"
    yield "|" + " --- |" * len(head)
    for row in rows:
        yield f"| {' | '.join(row)} |"


def _names() -> Iterator[Sequence[str]]:
    for one in PLATFORMS:
        products = ", ".join(f"`{name}`" for sold in one.products for name in sold.names)
        groups = ", ".join(f"`{name}`" for name in one.groups)
        yield f"`{one.name}`", one.title, _generation(one.generation), products, groups


def _generation(generation: Generation) -> str:
    """Return a generation as Intel writes it, such as Xe-LPG+ or Gen9."""
    family, _, rest = generation.name.partition("_")
    return f"{family.capitalize()}{'-' if rest else ''}{rest.replace('_PLUS', '+')}"


def _sizes() -> Iterator[Sequence[str]]:
    for one in PLATFORMS:
        yield (
            f"`{one.name}`",
            f"{one.grf_bytes} bytes",
            _listed(one.simd_sizes),
            _listed(one.grf_counts),
            str(one.threads),
            f"{one.slm_kib} KiB",
            str(one.matrix_channels or ""),
            f"{one.inline_bytes} bytes" if one.inline_bytes else "all of it",
        )


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, numbers))


def _features() -> Iterator[Sequence[str]]:
    for text, holds in _QUESTIONS:
        yield text, *("yes" if holds(one) else "" for one in PLATFORMS)


def _numbers() -> Iterator[Sequence[str]]:
    for one in PLATFORMS:
        families = dict.fromkeys(f"{sold.family:#x}" for sold in one.products)
        versions = [f"{a}.{b}" for sold in one.products for a, b in sold.graphics]
        timed = one.timing if one.timing in ARCHITECTURES else None
        yield (
            f"`{one.name}`",
            ", ".join(families),
            ", ".join(versions),
            f"{one.core:#x}",
            _listed(one.gen_codes),
            f"`{timed}`" if timed else "no",
        )
