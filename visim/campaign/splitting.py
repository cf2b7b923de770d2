"""The jobs of `split`: a range of a launch's groups, and putting together what all have written.

A range starts from the launch's own arrays. As no group reads what another writes, what it leaves
where it changes them is what the whole launch leaves there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.campaign import launches, programs
from visim.campaign.cells import Name
from visim.campaign.launches import Prepared
from visim.campaign.outcomes import Outcome, Result
from visim.errors import ArgumentError, UnsupportedError
from visim.runtime.files.arguments_text import read_samplers
from visim.runtime.payload.threads import LaunchPlan, Part
from visim.runtime.program import Program


def run_range(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    """Run a range of the groups, and keep what they write.

    Raises:
        UnsupportedError: groups may depend on each other; the message says why.
        VisimError: something is wrong with the program, the arguments or the launch.
    """
    split, prepared = work["split"], _prepared(work, name, program)
    written = _check(prepared)
    options = prepared.options
    keywords: dict[str, Any] = {"workers": 1, **options.launch}
    samplers = read_samplers(options.samplers)
    if samplers:
        keywords["samplers"] = samplers
    launch = prepared.kernel.bind(prepared.values, wait=True, **keywords)
    total = sum(part.dispatch.group_count for part in launch.plan.parts)
    first, last = (total * (split["index"] + more) // split["parts"] for more in (0, 1))
    replace(launch, plan=_ranged(launch.plan, first, last))()
    file = _file(split, split["index"])
    file.parent.mkdir(parents=True, exist_ok=True)
    made = file.with_suffix(".tmp.npz")
    arrays: dict[str, Any] = {key: prepared.arrays[key] for key in written}
    np.savez(made, **arrays)
    made.replace(file)
    return Result(Outcome.PASSED, facts={"groups": [first, last], "of": total})


def merge(work: Mapping[str, Any], name: Name, program: Program | None) -> Result:
    """Put together what the ranges have written, and compare it with what is right.

    Raises:
        ArgumentError: what a range has written is not there any more.
    """
    split, prepared = work["split"], _prepared(work, name, program)
    expected = launches.expected_of(_plain(work), _own_name(name), prepared)
    before = {key: array.copy() for key, array in prepared.arrays.items()}
    changed = {key: np.zeros(array.nbytes, np.bool_) for key, array in before.items()}
    for index in range(split["parts"]):
        file = _file(split, index)
        if not file.is_file():
            raise ArgumentError(f"{file} is gone: run all again (--again all)")
        with np.load(file) as part:
            for key in part.files:
                _lay(prepared.arrays[key], before[key], part[key], changed[key], key)
    for index in range(split["parts"]):
        _file(split, index).unlink(missing_ok=True)
    compared = launches.compared_of(prepared, expected)
    facts = {
        "kernel": prepared.kernel.name,
        "device": prepared.device,
        "arrays": launches.digests(prepared.arrays),
        "ranges": split["parts"],
    }
    wrong = [one for one in compared if one.differing]
    if wrong:
        message = "; ".join(str(replace(one, picture=())).splitlines()[0] for one in wrong)
        return Result(Outcome.DIFFERS, message, facts)
    return Result(Outcome.PASSED, facts=facts)


def _lay(
    target: NDArray[Any],
    before: NDArray[Any],
    part: NDArray[Any],
    changed: NDArray[np.bool_],
    name: str,
) -> None:
    """Lay over an array what a range has changed of it."""
    into, old = target.reshape(-1).view(np.uint8), before.reshape(-1).view(np.uint8)
    new = np.ascontiguousarray(part).reshape(-1).view(np.uint8)
    mine = new != old
    twice = np.flatnonzero(mine & changed & (new != into))
    if twice.size:
        raise UnsupportedError(f"two ranges of groups write byte {twice[0]} of {name}: a race")
    into[mine] = new[mine]
    changed |= mine


def _check(prepared: Prepared) -> list[str]:
    """Return the arrays that the kernel writes.

    Raises:
        UnsupportedError: a group may need what another writes.
    """
    found = prepared.kernel.sharing()
    reasons = list(found.reasons)
    if prepared.surfaces:
        reasons.append("surfaces may be what arguments are")
    for one, other in combinations(prepared.arrays, 2):
        is_written = one in found.writes or other in found.writes
        if is_written and np.may_share_memory(prepared.arrays[one], prepared.arrays[other]):
            reasons.append(f"{one} and {other} are the same memory")
    missing = found.writes - prepared.arrays.keys()
    reasons += [f"it writes {name}, which is no array of the launch" for name in sorted(missing)]
    if reasons:
        said = "; ".join(reasons)
        raise UnsupportedError(f"its groups cannot run apart: {said}")
    return sorted(found.writes)


def _ranged(plan: LaunchPlan, first: int, last: int) -> LaunchPlan:
    """Return a plan of some of the groups, counted over all its parts."""
    parts: list[Part] = []
    start = 0
    for part in plan.parts:
        if part.waves is not None:
            raise UnsupportedError("its groups cannot run apart: the threads have an order")
        end = start + part.dispatch.group_count
        groups = np.arange(max(first, start) - start, max(min(last, end), start) - start)
        none = np.arange(0, dtype=np.int32)
        parts.append(replace(part, waves=(groups.astype(np.int32), none)))
        start = end
    return replace(plan, parts=tuple(parts))


def _prepared(work: Mapping[str, Any], name: Name, program: Program | None) -> Prepared:
    plain = _plain(work)
    if program is None:
        program = programs.load(programs.Source.of(plain.source), plain.version)
    return launches.prepare(plain, _own_name(name), program)


def _plain(work: Mapping[str, Any]) -> launches.LaunchWork:
    return launches.work_of({key: value for key, value in work.items() if key != "split"})


def _own_name(name: Name) -> Name:
    return {key: value for key, value in name.items() if key != "range"}


def _file(split: Mapping[str, Any], index: int) -> Path:
    return Path(split["folder"]) / f"{split['of']}-{split['parts']}-{index}.npz"
