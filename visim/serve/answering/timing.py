"""The tool time: how many cycles a launch takes, and where they go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from visim.errors import UnsupportedError
from visim.serve.answering.answers import (
    FINE,
    UNSUPPORTED,
    Answer,
    answer,
    at,
    cut,
    described,
    excerpt,
)
from visim.serve.answering.launching import Clock, advice_on, case_facts, launch, summary_of
from visim.serve.answering.programs import choose_kernel, load, texts_of
from visim.serve.requests import Time
from visim.serve.shapes import RequestError
from visim.timing import Timing, TimingResult, find_machine
from visim.timing.machine import Machine
from visim.timing.result import LineTiming


def time(asked: Time, clock: Clock) -> Answer:
    """Run a case, and say how many cycles it takes on each generation."""
    program = load(asked.program, "program")
    kernel = choose_kernel(program, asked.kernel, "kernel")
    texts = texts_of(asked.program, kernel)
    machines = _machines(asked, program.platform)
    timing = Timing(machines[0].name, preset=asked.preset)
    # What is timed is the way of the threads, which the interpreter and the JIT take alike.
    outcome = launch(kernel, asked.case, "case", clock, {"observers": [timing]})
    form = case_facts(outcome, asked.case, "case", texts)
    if form["verdict"] != FINE:
        return answer(form["verdict"], summary_of(form), advice_on(form), cases=[form])
    results: list[dict[str, Any]] = []
    best: TimingResult | None = None
    for machine in machines:
        try:
            found = timing.on(machine)
        except UnsupportedError as error:
            results.append({"generation": machine.name, "unsupported": cut(str(error))})
            continue
        results.append(_result(found, asked.lines, asked))
        best = best or found
    if best is None:
        text = results[0]["unsupported"]
        return answer(UNSUPPORTED, text, "take another generation", results=results)
    listed = ", ".join(f"{one['generation']} {one['cycles']}" for one in results if "cycles" in one)
    return answer(
        FINE,
        f"cycles of {kernel.name}: {listed}",
        _advice(best),
        kernel=kernel.name,
        device=program.platform,
        compiler=program.compiler,
        warnings=described(program.warnings) or None,
        results=results,
    )


def _machines(asked: Time, device: str | None) -> list[Machine]:
    names: Sequence[str] = asked.generations
    if not names and device is None:
        raise RequestError("generations", "missing: the program does not say its device")
    found: list[Machine] = []
    for place, name in enumerate(names or [device or ""]):
        with at(f"generations[{place}]" if names else "generations"):
            found.append(find_machine(name, asked.preset))
    return found


def _result(found: TimingResult, lines: int, asked: Time) -> dict[str, Any]:
    busy = found.occupied
    stalls = {name: round(share / busy, 4) for name, share in found.thread_stalls.items() if share}
    return {
        "generation": found.machine.name,
        "preset": found.machine.preset,
        "cycles": found.cycles,
        "threads": found.threads,
        "occupancy": round(found.occupancy, 4),
        "instructions": {"visa": found.visa, "native": found.native},
        "stalls": stalls,
        "moved_bytes": dict(found.moved),
        "hottest": [_line(one, busy, asked) for one in found.hottest(lines) if one.cycles],
        "notes": [cut(note, 300) for note in found.notes[:5]],
    }


def _line(line: LineTiming, busy: int, asked: Time) -> dict[str, Any]:
    form: dict[str, Any] = {"text": line.text.strip(), "share": round(line.cycles / busy, 4)}
    form["executions"] = line.executions
    if line.stalls:
        form["waits_for"] = max(line.stalls, key=lambda name: line.stalls[name])
    if line.source is not None:
        form["file"], form["line"] = line.source
        text = asked.program.headers.get(line.source[0], asked.program.source)
        if text is not None and asked.program.binary is None:
            form["source"] = excerpt(text, line.source[1], 0)
    return form


def _advice(found: TimingResult) -> str:
    """Return what the largest stall asks for."""
    shares = {name: share for name, share in found.thread_stalls.items() if name != "active"}
    largest = max(shares, key=lambda name: shares[name])
    advice = {
        "send": "messages wait for their unit: load wider blocks, or fewer times",
        "scoreboard": "threads wait for memory: load earlier, reuse what was loaded, or run more "
        "threads",
        "pipe": "the pipes are full: use cheaper instructions",
        "dependency": "instructions wait for the ones before: put independent work between them",
        "sync": "threads wait at barriers: give each the same work",
        "ifetch": "code does not fit the instruction cache: unroll less",
        "control": "branches cost: unroll, or select in place of branches",
    }
    where = found.hottest(1)
    line = f"; the hottest line is {where[0].text.strip()}" if where else ""
    return f"{largest} takes most: {advice.get(largest, 'look at the hottest lines')}{line}"
