"""`visim run`: load, read the arguments, launch, write and show the results."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import numpy as np
from numpy.typing import NDArray

from visim.cli.arrays import arrays_to_dict
from visim.cli.colours import coloured
from visim.cli.conventions import EXAMPLE_DEVICE, print_json
from visim.cli.failures import BROKEN
from visim.cli.files import check_target, is_standard, load_program, name_of, write_bytes
from visim.cli.findings import check_files_of_findings, write_findings
from visim.cli.progress import watching
from visim.cli.streams import can_show
from visim.cli.wording import in_options
from visim.diag import visible
from visim.errors import ArgumentError, Correction, FaultError
from visim.runtime import pictures
from visim.runtime.files.arguments_text import (
    read_arguments,
    read_samplers,
    read_surfaces,
)
from visim.runtime.files.compared import Comparison, Tolerance, compare, read_references
from visim.runtime.files.run_options import Output, RunOptions
from visim.runtime.printf.records import Receiver, printf_to
from visim.runtime.selection import array_of, choose_kernel, find_results, output_name
from visim.target import PLATFORMS

if TYPE_CHECKING:
    from visim import Kernel, Program, Report

_PREVIEWED = 8


@dataclass(frozen=True, slots=True)
class Prepared:
    """A run that is ready: what the kernel gets, and of the outputs their arrays and pictures.

    Pictures share memory with their arrays, so they show what the run has written.
    """

    device: str
    kernel: Kernel
    values: Sequence[object]
    surfaces: Mapping[int, object]
    samplers: Mapping[int, object]
    results: Mapping[str, NDArray[Any]]
    expected: Mapping[str, NDArray[Any]]
    pictures: Mapping[str, pictures.Picture]


def run(options: RunOptions, *, as_json: bool, with_arrays: bool = False) -> int:
    """Run one kernel as `options` say; print the report and what the kernel wrote.

    Return the exit code: 1 where a sanitizer found an error or a warning, or where an array is
    not as it was expected.

    Raises:
        VisimError: whatever loading, the arguments or the launch find wrong.
    """
    _check_files(options, as_json=as_json)
    if options.trace_only is not None and options.trace is None:
        raise ArgumentError("--trace-only says what --trace FILE has; give that, too")
    prepared = prepare(options)
    if options.trace is not None:
        from visim.cli.tracing import write_trace

        write_trace(options, prepared, options.trace)
    to_stderr = any(is_standard(output.file) for output in options.outputs)
    try:
        report = launch(options, prepared, as_json=as_json)
    except FaultError as error:
        if error.report is not None:
            write_findings(options, prepared.kernel, error.report)
        raise
    write_findings(options, prepared.kernel, report)
    compared = _comparisons(options, prepared)
    is_wrong = _is_wrong(report) or any(one.differing for one in compared)
    code = BROKEN if is_wrong else 0
    if as_json:
        form = report.to_dict()
        if compared:
            form["expectations"] = [one.to_dict() for one in compared]
        if with_arrays:
            form["arrays"] = arrays_to_dict(_previewed(options.outputs, prepared))
        print_json(form)
        return code
    click.echo(visible(in_options(str(report))), err=to_stderr)
    for line in preview_lines(_previewed(options.outputs, prepared)):
        click.echo(line, err=to_stderr)
    if options.show or (sys.stdout.isatty() and not to_stderr):
        _show(prepared.pictures.values(), to_stderr=to_stderr)
    for one in compared:
        click.echo(coloured(visible(str(one))), err=bool(one.differing) or to_stderr)
    return code


def _is_wrong(report: Report) -> bool:
    return any(finding.counts for finding in report.findings)


def _comparisons(options: RunOptions, prepared: Prepared) -> list[Comparison]:
    tolerance = Tolerance(options.rtol, options.atol)
    return [
        compare(
            output_name(reference.key, prepared.kernel),
            reference.file,
            prepared.results[reference.key],
            prepared.expected[reference.key],
            tolerance,
        )
        for reference in options.references
    ]


def _show(shown: Iterable[pictures.Picture], *, to_stderr: bool) -> None:
    columns = shutil.get_terminal_size().columns
    stream = sys.stderr if to_stderr else sys.stdout
    has_halves = can_show(stream, pictures.UPPER_HALF)
    for picture in shown:
        text = pictures.terminal_picture(picture, columns=columns, has_halves=has_halves)
        click.echo(text, err=to_stderr, color=True)


def launch(
    options: RunOptions, prepared: Prepared, *, as_json: bool, observers: Sequence[object] = ()
) -> Report:
    """Launch what is prepared and write its outputs.

    Args:
        options: what was asked for.
        prepared: what `prepare` made of it.
        as_json: whether the standard output is for one JSON object.
        observers: who watches the launch.

    Raises:
        VisimError: whatever the launch finds wrong.
    """
    keywords: dict[str, Any] = dict(options.launch)
    if observers:
        keywords["observers"] = observers
    if prepared.surfaces:
        keywords["surfaces"] = prepared.surfaces
    if prepared.samplers:
        keywords["samplers"] = prepared.samplers
    to_stderr = any(is_standard(output.file) for output in options.outputs)
    show_text = _receiver(as_json=as_json, to_stderr=to_stderr)
    start: Any = prepared.kernel.launch  # the keywords are checked when it is called
    with watching(prepared.kernel.name), printf_to(show_text):
        try:
            report: Report = start(prepared.values, **keywords)
        except ArgumentError as error:
            error.correction = _with_size(error.correction, prepared.values)
            raise
    write_outputs(options, prepared)
    return report


def write_outputs(options: RunOptions, prepared: Prepared) -> None:
    """Write the arrays that are asked for, as they are now."""
    for output in options.outputs:
        write_bytes(output.file, _encoded(output, prepared))


def _with_size(correction: Correction | None, values: Sequence[object]) -> Correction | None:
    """Return a correction whose global size is that of the largest array, a usual size."""
    if correction is None or "global_size" not in dict(correction.missing):
        return correction
    sizes = [array.size for value in values if (array := array_of(value)) is not None]
    size = str(max(sizes, default=1024))
    options = tuple((n, size if n == "global_size" else v) for n, v in correction.missing)
    return replace(correction, missing=options)


def _receiver(*, as_json: bool, to_stderr: bool) -> Receiver:
    """Return what gets the text that a kernel prints; a JSON object has it as a key."""
    if as_json:
        return lambda _: None
    return lambda text: click.echo(text, nl=False, err=to_stderr)


def prepare(options: RunOptions, *, variables: bool = False) -> Prepared:
    """Read everything that a run needs, and refuse outputs that cannot be written.

    With `variables` what is compiled names the source's variables for a debugger.
    """
    program = load_program(
        options.file,
        options.device,
        options=options.compiler_options,
        visa=options.visa,
        variables=variables,
    )
    kernel = choose_kernel(program, options.kernel)
    device = _device(program, options)
    values = read_arguments(options.arguments, kernel.args, seed=options.seed)
    surfaces = read_surfaces(options.surfaces, seed=options.seed)
    for output in options.outputs:
        check_target(output.file)
    results = find_results(options.outputs, kernel, values, surfaces)
    compared = find_results(options.references, kernel, values, surfaces)
    expected = read_references(options.references, compared)
    size = picture_size(options.launch)
    shown = {
        output.key: pictures.as_picture(results[output.key], name=output.key, size=size)
        for output in options.outputs
        if output.is_picture
    }
    if options.show and not shown:
        raise ArgumentError("--show needs a picture: give --out NAME=FILE.png")
    samplers = read_samplers(options.samplers)
    everything = {**compared, **results}
    return Prepared(device, kernel, values, surfaces, samplers, everything, expected, shown)


def _device(program: Program, options: RunOptions) -> str:
    """Return what a program is for; which inputs are arguments depends on it."""
    if program.platform is not None:
        return program.platform
    known = ", ".join(platform.name for platform in PLATFORMS)
    message = f"{name_of(options.file)} does not say which device it is for"
    correction = Correction(missing=(("device", EXAMPLE_DEVICE),))
    raise ArgumentError(f"{message}: give --device, one of {known}", correction)


def picture_size(launch: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return width and height of a two-dimensional launch, None for any other."""
    size = tuple(launch.get("global_size") or launch.get("thread_space") or ())
    while size and size[-1] == 1:
        size = size[:-1]
    return (size[0], size[1]) if len(size) == 2 and min(size) > 0 else None


def preview_lines(arrays: Mapping[str, NDArray[Any]]) -> list[str]:
    """Return one line for each array: name, type, shape and its first elements."""
    heads = {name: f"{array.dtype}{list(array.shape)}" for name, array in arrays.items()}
    names = max((len(name) for name in arrays), default=0)
    width = max((len(head) for head in heads.values()), default=0)
    lines: list[str] = []
    for name, array in arrays.items():
        first = " ".join(str(element) for element in array.ravel()[:_PREVIEWED])
        more = " ..." if array.size > _PREVIEWED else ""
        lines.append(f"{name:<{names}}  {heads[name]:<{width}}  {first}{more}")
    return lines


def _check_files(options: RunOptions, *, as_json: bool) -> None:
    standard_outputs = [output for output in options.outputs if is_standard(output.file)]
    if len(standard_outputs) + as_json > 1:
        raise ArgumentError("the standard output can take only one of --json and --out NAME=-")
    check_files_of_findings(options)
    for output in options.outputs:
        if not Path(output.file).parent.is_dir():
            raise ArgumentError(f"--out {output.key}: there is no folder for {output.file}")
    texts = [text.value for text in (*options.arguments, *options.surfaces)]
    if texts.count("npy:-") + is_standard(options.file) > 1:
        raise ArgumentError("the standard input can be read only once: the program or one npy:-")


def _previewed(outputs: Sequence[Output], prepared: Prepared) -> dict[str, NDArray[Any]]:
    if outputs:
        kernel, results = prepared.kernel, prepared.results
        return {output_name(output.key, kernel): results[output.key] for output in outputs}
    names = [argument.name for argument in prepared.kernel.args]
    names += [f"surface:{index}" for index in prepared.surfaces]
    values = [array_of(value) for value in (*prepared.values, *prepared.surfaces.values())]
    return {name: value for name, value in zip(names, values, strict=True) if value is not None}


def _encoded(output: Output, prepared: Prepared) -> bytes:
    if output.is_picture:
        return pictures.encode_png(prepared.pictures[output.key])
    buffer = io.BytesIO()
    np.save(buffer, prepared.results[output.key], allow_pickle=False)
    return buffer.getvalue()
