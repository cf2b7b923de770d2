"""The pages of benchmarks, from the files of results in `benchmarks/results/`.

A folder there is a machine. Its files are those of `benchmarks.peers`, one for each set, and
`ablation.json` of `benchmarks.ablate`, and `sanitizers.json` of `benchmarks.sanitizers`. `other.md`
has what other programs printed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks import results
from benchmarks.ablate import EARNS, Kernels, earned
from benchmarks.peers import INTEL, POCL, ratios
from benchmarks.pocl import geometric_mean
from benchmarks.results import RESULTS, Result
from benchmarks.sanitizers import WITHOUT, mean, ratio
from benchmarks.sets import SETS, families
from tools import paging
from tools.instruction_pages import GENERATED
from tools.paging import Entry, in_parts, numbered
from visim.engine.jit.passes import NAMES

ABLATION, SANITIZERS = "ablation", "sanitizers"
DEVICES = ("pvc", "bmg", "dg2")
PEERS = {POCL: "PoCL", INTEL: "Intel"}
PROCESSOR, CLOCK = "processor_ms", "clock_ms"
_PAGE, _KERNELS = "benchmarks.md", "benchmarks-kernels"
_PASSES, _SLOWER = "benchmarks-passes.md", "benchmarks-sanitizers.md"
ENOUGH, TOO_LITTLE = 0.9, 0.5
"""What nine of ten kernels should reach, and what none should be below."""


def pages(folder: Path = RESULTS) -> Iterator[tuple[str, list[str]]]:
    """Yield the names and the lines of the pages.

    Args:
        folder: where the results are.
    """
    machines = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    files = [{one.stem: results.read(one) for one in path.glob("*.json")} for path in machines]
    yield _PAGE, list(_overview(files, folder / "other.md"))
    parts = in_parts([entry for one in files for entry in _kernels(_sets(one))])
    for file, part in numbered(_KERNELS, parts):
        yield file, [paging.title("Kernels of the benchmarks", part, len(parts)), *_table(part)]
    yield _PASSES, list(_each(files, ABLATION, "What each pass of the JIT brings", _passes))
    yield _SLOWER, list(_each(files, SANITIZERS, "What sanitizers cost", _sanitizers))


def _overview(files: Sequence[Mapping[str, Result]], other: Path) -> Iterator[str]:
    yield from _introduction()
    for machine in files:
        sets = _sets(machine)
        if sets:
            yield from _facts(sets)
            yield from _summary(sets)
            yield from _families(sets)
            yield from _failures(sets)
    if other.exists():
        yield ""
        yield other.read_text(encoding="utf-8").rstrip("\n")


def _sets(machine: Mapping[str, Result]) -> dict[str, Result]:
    return {name: machine[name] for name in SETS if name in machine}


def _each(
    files: Sequence[Mapping[str, Result]],
    name: str,
    heading: str,
    lines: Callable[[Result], Iterator[str]],
) -> Iterator[str]:
    """Yield the lines of a page that has one table for each machine."""
    yield from (f"# {heading}", "", GENERATED)
    for machine in files:
        if name in machine:
            yield ""
            yield from lines(machine[name])


def _introduction() -> Iterator[str]:
    yield "# Benchmarks"
    yield ""
    yield GENERATED
    yield ""
    yield (
        "Speed is measured by the programs in `benchmarks/`, never by tests. All numbers are from "
        "files in `benchmarks/results/`, a folder for each machine."
    )
    yield ""
    yield (
        "`python -m benchmarks.peers --set SET` runs the kernels of a set on visim's JIT, with "
        "code that Intel's compiler made for several devices, and on two other implementations of "
        "OpenCL for the same processor: PoCL, and Intel's runtime for CPUs. All are in one "
        "process, take turns, and start with the same data. Results are compared with those of "
        "NumPy. The least time of a few rounds counts. A ratio is the peer's time over visim's: "
        "above 1, visim is faster. Ratios are in processor time of all threads if nothing else is "
        "said, because machines were busy with other work; the process has one core."
    )
    yield ""
    yield "The sets:"
    yield ""
    for name, summary in SETS.items():
        yield f"- **{name}**: {summary}"
    yield ""
    yield (
        f"Times of [each kernel]({_KERNELS}.md), of the JIT without [each pass]({_PASSES}), and of "
        f"launches with [sanitizers]({_SLOWER}) have pages of their own."
    )
    yield ""
    yield (
        "The goals are on the sets *public* and *drawn*: a geometric mean of 3.5 over PoCL and of "
        "2.0 over Intel's runtime, nine of ten kernels at 0.9 or better, none below 0.5."
    )


def _facts(sets: dict[str, Result]) -> Iterator[str]:
    first = next(iter(sets.values()))
    machine = first["machine"]
    yield ""
    yield f"## {machine['processor']}, {machine['cores']} cores"
    yield ""
    features = ", ".join(machine["features"])
    yield f"Model {machine['model']} with {features}; {machine['system']}."
    yield ""
    yield "| Set | Measured | Date | visim | Load | Rounds | Scale | Compilers | Peers |"
    yield "| --- | --- | --- | --- | ---: | ---: | ---: | --- | --- |"
    for name, result in sets.items():
        settings = result["settings"]
        yield _row(
            name,
            f"{len(result['kernels'])} of {_count(name, settings['seed'])}",
            result["date"],
            f"`{result['versions']['visim']}`",
            str(result["load"][0]),
            str(settings["rounds"]),
            str(settings["scale"]),
            _by_value(result["compilers"]),
            "; ".join(result["peers"].values()),
        )


def _count(name: str, seed: int) -> int:
    return sum(map(len, families(name, seed).values()))


def _by_value(compilers: dict[str, str]) -> str:
    """Return which compiler made the code of which devices."""
    by_name: dict[str, list[str]] = {}
    for device, name in compilers.items():
        by_name.setdefault(name, []).append(device)
    return "; ".join(f"{', '.join(devices)}: {name}" for name, devices in by_name.items())


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _summary(sets: dict[str, Result]) -> Iterator[str]:
    yield ""
    yield (
        f"| Set | Peer | Code for | Kernels | Geometric mean | By the clock | {ENOUGH} or better "
        f"| Below {TOO_LITTLE} | Least |"
    )
    yield "| --- | --- | --- | ---: | ---: | ---: | ---: | ---: | --- |"
    for name, result in sets.items():
        for peer, title in PEERS.items():
            for device in DEVICES:
                found = ratios(result["kernels"], device, peer, PROCESSOR)
                if not found:
                    continue
                clock = ratios(result["kernels"], device, peer, CLOCK)
                least = min(found, key=found.__getitem__)
                enough = sum(ratio >= ENOUGH for ratio in found.values())
                yield _row(
                    name,
                    title,
                    device,
                    str(len(found)),
                    f"**{geometric_mean(list(found.values())):.2f}**",
                    f"{geometric_mean(list(clock.values())):.2f}",
                    f"{100 * enough / len(found):.0f} %",
                    str(sum(ratio < TOO_LITTLE for ratio in found.values())),
                    f"{found[least]:.2f} ({least})",
                )


def _families(sets: dict[str, Result]) -> Iterator[str]:
    kernels = {name: one for result in sets.values() for name, one in result["kernels"].items()}
    heads = [(peer, device) for peer in PEERS for device in DEVICES]
    yield ""
    yield "Geometric means by family:"
    yield ""
    yield _row("Family", "Kernels", *(f"{PEERS[peer]} / {device}" for peer, device in heads))
    yield _row("---", *("---:" for _ in range(1 + len(heads))))
    for family in dict.fromkeys(one["family"] for one in kernels.values()):
        some = {name: one for name, one in kernels.items() if one["family"] == family}
        means = (ratios(some, device, peer, PROCESSOR) for peer, device in heads)
        yield _row(
            family,
            str(len(some)),
            *(f"{geometric_mean(list(each.values())):.2f}" if each else "" for each in means),
        )


def _kernels(sets: dict[str, Result]) -> Iterator[Entry]:
    """Yield the row of each kernel: times of all sides, then the peers' ratios."""
    sides, heads = (*DEVICES, *PEERS), [(peer, device) for peer in PEERS for device in DEVICES]
    for result in sets.values():
        kernels = result["kernels"]
        found = [ratios(kernels, device, peer, PROCESSOR) for peer, device in heads]
        for name, one in kernels.items():
            times = (one["sides"].get(side) for side in sides)
            row = _row(
                one["family"],
                name,
                *("" if time is None else f"{time[PROCESSOR]:.3g}" for time in times),
                *(f"{each[name]:.2f}" if name in each else "" for each in found),
            )
            yield Entry(name, (row,))


def _table(part: Sequence[Entry]) -> Iterator[str]:
    """Yield the lines of a page of kernels below its heading."""
    heads = [f"{PEERS[peer]} / {device}" for peer in PEERS for device in DEVICES]
    titles = (PEERS.get(side, side) for side in (*DEVICES, *PEERS))
    yield from ("", GENERATED, "")
    yield (
        "Milliseconds of processor time of all launches of a kernel, then "
        f"[ratios]({_PAGE}). What does not run on a device is empty."
    )
    yield ""
    yield _row("Family", "Kernel", *(f"{title} ms" for title in titles), *heads)
    yield _row("---", "---", *("---:" for _ in range(len(DEVICES) + len(PEERS) + len(heads))))
    yield from (line for entry in part for line in entry.lines)


def _failures(sets: dict[str, Result]) -> Iterator[str]:
    reasons: dict[tuple[str, str], list[str]] = {}
    for result in sets.values():
        for name, one in result["kernels"].items():
            for side, reason in one["failed"].items():
                reasons.setdefault((side, reason), []).append(name)
    if not reasons:
        return
    yield ""
    yield "What does not run, or is wrong:"
    yield ""
    for (side, reason), names in reasons.items():
        yield f"- {PEERS.get(side, side)}: `{reason}` ({', '.join(names)})"


def _passes(result: Result) -> Iterator[str]:
    kernels: Kernels = result["kernels"]
    settings = result["settings"]
    yield (
        f"`python -m benchmarks.ablate`, code for {settings['device']}, scale {settings['scale']}, "
        f"visim `{result['versions']['visim']}`: a kernel's processor time without the pass over "
        "that with all of them. A pass is tried on one kernel after the other until it has "
        f"brought {100 * (EARNS - 1):.0f} % on one. Kernels that it changes are those whose text "
        "for LLVM differs. What each pass does is in "
        "[jit.md](jit.md) and told by `python -m benchmarks.ablate --list`."
    )
    yield ""
    yield "| Pass | Kernels tried | Kernels changed | Brings at most | On |"
    yield "| --- | ---: | ---: | ---: | --- |"
    for name in NAMES:
        tried = [row[name] for row in kernels.values() if name in row]
        if not tried:
            yield _row(name, "newer than this file", "", "", "")
            continue
        most, where = earned(kernels, name)
        changed = sum(value is not None for value in tried)
        mark = "**" if most >= EARNS else ""
        cells = (str(len(tried)), str(changed), f"{mark}{most:.2f}{mark}")
        yield _row(name, *cells, where if most > 1 else "")


def _sanitizers(result: Result) -> Iterator[str]:
    kernels, settings, names = result["kernels"], result["settings"], result["names"]
    yield (
        f"`python -m benchmarks.sanitizers`, code for {settings['device']}, scale "
        f"{settings['scale']}, visim `{result['versions']['visim']}`, load {result['load'][0]}: "
        "how many times the processor time of the launches without. Launches with all sanitizers "
        "have one worker. Goals are 1.3 for bounds, 2.5 for uninit, 4 for races and 5 for all."
    )
    yield ""
    yield _row("Kernel", "Without, ms", *names, "Findings")
    yield _row("---", *("---:" for _ in range(2 + len(names))))
    for kernel, one in kernels.items():
        cells = (f"{ratio(one, name):.1f}" for name in names)
        yield _row(kernel, f"{one['processor_ms'][WITHOUT]:.2f}", *cells, str(one["findings"]))
    means = (f"**{mean(kernels, name):.1f}**" for name in names)
    yield _row("geometric mean", "", *means, "")


__all__ = ["pages"]
