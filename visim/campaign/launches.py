"""The job of most cells: one launch, its arrays against what is right, and what it takes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.campaign import functions, programs
from visim.campaign.cells import Name
from visim.campaign.content import digest
from visim.campaign.outcomes import Outcome, Result
from visim.errors import ArgumentError, FaultError
from visim.runtime.files.arguments_text import (
    ArgumentText,
    find_parameter,
    read_arguments,
    read_samplers,
    read_surfaces,
)
from visim.runtime.files.compared import Comparison, Tolerance, compare, read_references
from visim.runtime.files.run_options import RunOptions, launch_options
from visim.runtime.kernel import Kernel
from visim.runtime.launching.report import Report
from visim.runtime.program import Program
from visim.runtime.selection import array_of, choose_kernel, find_results, output_name
from visim.timing import Machine, Timing, find_machine

Arrays = Mapping[str, NDArray[Any]]
_MOST_FINDINGS = 8
_DIGITS = 16
_MOST_KERNELS = 64
OWN_GENERATION = "own"
"""Stands for the generation of the device that a kernel is for."""


@dataclass(frozen=True, slots=True)
class LaunchWork:
    """What a launch needs to know.

    Attributes:
        table: what a launch.toml would say, with the values of the cell.
        folder: what files in it are relative to.
        source: the program.
        version: of visim, where the campaign runs.
        inputs: a Python function that makes arguments, None if the table has all.
        reference: a Python function that says what is right, None if nobody does.
        timing: the generations on which it is timed.
        preset: the costs for that.
    """

    table: Mapping[str, Any]
    folder: str
    source: Mapping[str, Any]
    version: str
    inputs: str | None = None
    reference: str | None = None
    timing: tuple[str, ...] = ()
    preset: str | None = None


@dataclass(frozen=True, slots=True)
class Prepared:
    """A launch that is ready: the kernel, what it gets, and all arrays by what they are called.

    `device` is what the program is for.
    """

    options: RunOptions
    kernel: Kernel
    values: Sequence[object]
    surfaces: Mapping[int, object]
    arrays: Arrays
    device: str | None


def prepare(work: LaunchWork, name: Name, program: Program) -> Prepared:
    """Read everything that the launch of a cell needs.

    Raises:
        VisimError: something of it is wrong.
        FunctionError: so is the function that makes arguments.
    """
    options = launch_options(work.table, Path(work.folder))
    kernel = choose_kernel(program, options.kernel)
    seed = options.seed
    texts = list(options.arguments)
    if work.inputs is not None:
        made = functions.call(work.inputs, {**name, "seed": seed})
        texts = _replaced(texts, made, kernel)
    values = read_arguments(texts, kernel.args, seed=seed)
    surfaces = read_surfaces(options.surfaces, seed=seed)
    named = zip([one.name for one in kernel.args], values, strict=True)
    everything = [*named, *((f"surface:{index}", value) for index, value in surfaces.items())]
    arrays = {key: array for key, value in everything if (array := array_of(value)) is not None}
    return Prepared(options, kernel, values, surfaces, arrays, program.platform)


def _replaced(
    texts: Sequence[ArgumentText], made: Mapping[str, Any], kernel: Kernel
) -> list[ArgumentText]:
    """Return the arguments with those that a function has made."""
    places = {find_parameter(key, kernel.args) for key in made}
    kept = [text for text in texts if find_parameter(text.key, kernel.args) not in places]
    return kept + [ArgumentText(key, value) for key, value in made.items()]


def run(work: LaunchWork, name: Name, program: Program | None) -> Result:
    """Launch what a cell says, and return what came of it.

    Args:
        work: the launch.
        name: the cell's name, for the campaign's functions.
        program: the program, if this process has it.

    Raises:
        VisimError: something is wrong with the program, the arguments or the launch.
        FunctionError: a function of the campaign failed.
    """
    if program is None:
        program = programs.load(programs.Source.of(work.source), work.version)
    prepared = prepare(work, name, program)
    expected = expected_of(work, name, prepared)
    timing = None if not work.timing else _timing(work, prepared)
    try:
        report = launch(prepared, timing)
    except FaultError as error:
        fault = error.fault
        code = f"{fault.category}/{fault.code}"
        facts = {"fault": {"code": code, "place": fault.place, "source": fault.source}}
        return Result(Outcome.FAULT, f"{code}: {fault.message} at {fault.place}", facts)
    compared = compared_of(prepared, expected)
    facts = _facts(prepared, report, compared)
    if timing is not None:
        facts |= _timed(work, timing, prepared)
    return _judged(report, compared, facts)


def launch(prepared: Prepared, timing: Timing | None = None) -> Report:
    """Launch the kernel; its code runs on one thread unless the table says otherwise."""
    options = prepared.options
    keywords: dict[str, Any] = {"workers": 1, **options.launch}
    if timing is not None:
        keywords["observers"] = [timing]
    if prepared.surfaces:
        keywords["surfaces"] = prepared.surfaces
    samplers = read_samplers(options.samplers)
    if samplers:
        keywords["samplers"] = samplers
    start: Any = prepared.kernel.launch
    return start(prepared.values, **keywords)


def digests(arrays: Arrays) -> dict[str, str]:
    """Return a digest of each array's bytes."""
    return {
        name: digest(np.ascontiguousarray(array).tobytes())[:_DIGITS]
        for name, array in arrays.items()
    }


def expected_of(work: LaunchWork, name: Name, prepared: Prepared) -> dict[str, tuple[str, Any]]:
    """Return what arrays are to be, and who says so."""
    options, kernel = prepared.options, prepared.kernel
    wanted = find_results(options.references, kernel, prepared.values, prepared.surfaces)
    read = read_references(options.references, wanted)
    files = {reference.key: reference.file for reference in options.references}
    found = {output_name(key, kernel): (files[key], array) for key, array in read.items()}
    if work.reference is None:
        return found
    before = {
        parameter.name: array.copy() if (array := array_of(value)) is not None else value
        for parameter, value in zip(kernel.args, prepared.values, strict=True)
    }
    who = f"{Path(work.reference).name}"
    said = functions.call(work.reference, before, {**name, "seed": options.seed})
    for key, value in said.items():
        if key not in prepared.arrays:
            known = ", ".join(prepared.arrays) or "none"
            raise functions.FunctionError(f"{who} returned {key!r}; the arrays are: {known}")
        found[key] = who, _shaped(np.asarray(value), prepared.arrays[key], f"{who}: {key}")
    return found


def _shaped(array: NDArray[Any], like: NDArray[Any], who: str) -> NDArray[Any]:
    if array.size != like.size or array.dtype.kind not in "iubf":
        raise functions.FunctionError(
            f"{who} is {array.dtype}{list(array.shape)}, expected {like.dtype}{list(like.shape)}"
        )
    return array.reshape(like.shape)


def compared_of(
    prepared: Prepared, expected: Mapping[str, tuple[str, NDArray[Any]]]
) -> list[Comparison]:
    """Compare arrays with what they are to be."""
    tolerance = Tolerance(prepared.options.rtol, prepared.options.atol)
    return [
        compare(key, who, prepared.arrays[key], array, tolerance)
        for key, (who, array) in expected.items()
    ]


def _timing(work: LaunchWork, prepared: Prepared) -> Timing:
    dependency = prepared.options.launch.get("dependency", "none")
    machine = _machine(work, work.timing[0], prepared)
    return Timing(machine.name, dependency=dependency)


def _machine(work: LaunchWork, name: str, prepared: Prepared) -> Machine:
    """Return a generation by its name, or the kernel's own."""
    if name == OWN_GENERATION:
        name = prepared.device or ""
    return find_machine(name, work.preset)


def _timed(work: LaunchWork, timing: Timing, prepared: Prepared) -> dict[str, Any]:
    machines = [_machine(work, name, prepared) for name in work.timing]
    results = {machine.name: timing.on(machine) for machine in machines}
    return {
        "cycles": {name: found.cycles for name, found in results.items()},
        "native": {name: found.native for name, found in results.items()},
    }


def _facts(prepared: Prepared, report: Report, compared: Sequence[Comparison]) -> dict[str, Any]:
    """Return what is kept of a launch; nothing that differs from run to run."""
    facts: dict[str, Any] = {
        "kernel": report.kernel,
        "device": report.platform,
        "engine": report.engine,
        "arrays": digests(prepared.arrays),
        "code": dict(code_of(prepared.kernel)),
    }
    if report.printf:
        facts["arrays"]["printf"] = digest(report.printf.encode())[:_DIGITS]
    if report.dropped_accesses:
        facts["dropped_accesses"] = report.dropped_accesses
    if compared:
        facts["compared"] = [one.to_dict() for one in compared]
    if report.findings:
        facts["findings"] = [one.to_dict() for one in report.findings[:_MOST_FINDINGS]]
        facts["found"] = len(report.findings)
    return facts


def make_ready(program: Program, work: LaunchWork) -> None:
    """Do ahead what all launches of a program's kernel need.

    Raises:
        VisimError: they will find the same wrong.
    """
    kernel = choose_kernel(program, launch_options(work.table, Path(work.folder)).kernel)
    kernel.make_ready()
    code_of(kernel)


@lru_cache(maxsize=_MOST_KERNELS)
def code_of(kernel: Kernel) -> Mapping[str, int]:
    """Return how large a kernel's code is, and what it needs of registers."""
    info = kernel.info()
    stated: Mapping[str, Any] = info["abi"] or {}
    environment: Mapping[str, Any] = stated.get("execution_env", {})
    scratch = stated.get("per_thread_memory", ())
    return {
        "simd": kernel.simd_size,
        "instructions": info["instructions"],
        "grf": int(environment.get("grf_count", 128)),
        "scratch": sum(int(entry["size"]) for entry in scratch),
        "spill": int(environment.get("spill_size", 0)),
    }


def _judged(report: Report, compared: Sequence[Comparison], facts: Mapping[str, Any]) -> Result:
    result = Result(Outcome.PASSED, facts=facts)
    wrong = [one for one in compared if one.differing]
    if wrong:
        message = "; ".join(str(replace(one, picture=())).splitlines()[0] for one in wrong)
        result = replace(result, outcome=Outcome.DIFFERS, message=message)
    found = [finding for finding in report.findings if finding.counts]
    if found:
        message = "; ".join(f"{one.kind}: {one.message}" for one in found[:_MOST_FINDINGS])
        result = replace(result, outcome=Outcome.FINDING, message=message)
    return result


def work_of(form: Mapping[str, Any]) -> LaunchWork:
    """Return the work of what JSON has of it."""
    try:
        given: dict[str, Any] = {**form, "timing": tuple(form.get("timing", ()))}
        return LaunchWork(**given)
    except TypeError as error:
        raise ArgumentError(f"no launch: {error}") from None
