"""`visim time --advise`: each rule fits a kernel that has its cause, and not the mended one."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

import visim
from tests.unit.timing.memory_programs import (
    addresses,
    ahead,
    kernel,
    load,
    timed,
    use,
)
from visim.cli import main
from visim.timing import TimingResult
from visim.timing.advice import RULES, advice_text, advise, waited_for

LOCAL = [".kernel_attr SLMSize=2"]
TURNS = 6


def turns(*lines: str) -> list[str]:
    return list(lines) * TURNS


def strided(stride: int) -> TimingResult:
    return timed(kernel([*addresses(stride), *turns(load(0), use(0), ahead(0x10000))]), "bmg", 64)


def column(pitch: int) -> TimingResult:
    body = [
        *addresses(pitch, per_group=0),
        *turns(*[load(i, unit="slm") for i in range(8)], use(7)),
    ]
    return timed(kernel(body, platform="pvc", attributes=LOCAL), "pvc", 64)


def spilled(registers: int) -> TimingResult:
    """More variables alive at once than 128 registers hold."""
    names = [f".decl W{i} v_type=G type=f num_elts=32 align=GRF" for i in range(70)]
    body = [f"mul (M1, 32) W{i}(0,0)<1> S(0,0)<1;1,0> S(0,0)<1;1,0>" for i in range(70)]
    body += [f"add (M1, 32) S(0,0)<1> S(0,0)<1;1,0> W{i}(0,0)<1;1,0>" for i in range(70)]
    return timed(kernel(body, declarations=names, simd=32), "bmg", 32, registers=registers)


def diverging(channels: int) -> TimingResult:
    """The same 64 loads, by 16 channels at a time or by 4."""
    names = [".decl P1 v_type=P num_elts=16"]
    body = [f"cmp.lt (M1_NM, 16) P1 LANE(0,0)<1;1,0> 0x{channels:x}:uw", *addresses(4)]
    one = [f"(P1) {load(0)}", *[use(0)] * 12, ahead(64)]
    return timed(kernel([*body, *one * (64 // channels)], declarations=names), "bmg", 64)


def crowded(kilobytes: int) -> TimingResult:
    body = [*addresses(4), *turns(load(0), use(0), ahead(0x10000)), "barrier"]
    program = kernel(body, attributes=[f".kernel_attr SLMSize={kilobytes}"])
    return timed(program, "bmg", 32, group_size=4)


def spread(groups: int) -> TimingResult:
    """The same 64 loads, by few threads or by many."""
    body = [*addresses(4), *[load(0), use(0), ahead(0x10000)] * (128 // groups)]
    return timed(kernel(body), "bmg", groups)


def looped(lines: Sequence[str], count: int, declarations: Sequence[str] = ()) -> visim.Kernel:
    """Return a kernel that goes through lines `count` times."""
    names = [".decl N v_type=G type=d num_elts=1 align=dword", ".decl P1 v_type=P num_elts=1"]
    body = [*addresses(4), "mov (M1_NM, 1) N(0,0)<1> 0x0:d", "turn:", *lines]
    body += [
        "add (M1_NM, 1) N(0,0)<1> N(0,0)<0;1,0> 0x1:d",
        f"cmp.lt (M1_NM, 1) P1 N(0,0)<0;1,0> 0x{count:x}:d",
        "(P1) jmp (M1_NM, 1) turn",
    ]
    return kernel(body, declarations=[*names, *declarations])


def waiting(prefetch: bool) -> TimingResult:
    """A loop that loads and works, and asks for what it loads two turns later, or does not."""
    asks = ["lsc_load.ugm.ca.ca (M1, 16) %null:d32 bti(0x0)[A+0x2000]:a32"] * prefetch
    return timed(looped([*asks, load(0), use(0), *[use(1)] * 40, ahead(0x1000)], 64), "bmg", 4)


def copied(times: int) -> TimingResult:
    """The same 9000 products, in a loop that is too long for the cache of instructions or not."""
    body = [
        f"mul (M1, 16) D{number % 8}(0,0)<1> D{number % 8}(0,0)<1;1,0> S(0,0)<1;1,0>"
        for number in range(300)
    ]
    return timed(looped(body * times, 30 // times), "bmg", 8, l1_bytes=16384, memory=200)


def counted(operations: int) -> TimingResult:
    """Counts what all channels have: each by itself, or one for all behind sums of pairs."""
    sums = [
        f"add (M1_NM, {lanes}) N(0,0)<1> N(0,0)<1;1,0> N(0,{lanes})<1;1,0>"
        for lanes in (8, 4, 2, 1)
        if operations == 1
    ]
    mask = "M1_NM" if operations == 1 else "M1"
    add = f"lsc_atomic_iadd.ugm ({mask}, {operations}) %null:d32 bti(0x0)[A]:a32 N %null"
    names = [".decl N v_type=G type=ud num_elts=16 align=GRF"]
    body = [*addresses(4, per_group=0), *sums, *turns(add)]
    return timed(kernel(body, declarations=names), "bmg", 64)


def moving(kind: str) -> TimingResult:
    """Copies as many elements, of four bytes or of one."""
    bytes_each = {"d32": 4, "d8c32": 1}[kind]
    body = addresses(bytes_each)
    for _ in range(TURNS):
        body += [
            f"lsc_load.ugm (M1, 16) D0:{kind} bti(0x0)[A]:a32",
            f"lsc_store.ugm (M1, 16) bti(0x0)[A]:a32 D0:{kind}",
            ahead(0x10000 * bytes_each),
        ]
    return timed(kernel(body), "bmg", 1024, dram_rate=18000, l3_bytes=65536)


def chained(chains: int) -> TimingResult:
    names = [f".decl W{i} v_type=G type=f num_elts=16 align=GRF" for i in range(chains)]
    lines = [
        f"mad (M1, 16) W{i}(0,0)<1> W{i}(0,0)<1;1,0> D6(0,0)<1;1,0> D7(0,0)<1;1,0>"
        for i in range(chains)
    ]
    return timed(looped(lines * (60 // chains), 20, names), "bmg", 8)


PAIRS: dict[str, tuple[Callable[[], TimingResult], Callable[[], TimingResult]]] = {
    "strided access": (lambda: strided(64), lambda: strided(4)),
    "bank conflicts": (lambda: column(64), lambda: column(68)),
    "bandwidth": (lambda: moving("d32"), lambda: moving("d8c32")),
    "atomics": (lambda: counted(16), lambda: counted(1)),
    "instruction fetch": (lambda: copied(30), lambda: copied(1)),
    "spills": (lambda: spilled(128), lambda: spilled(256)),
    "divergence": (lambda: diverging(4), lambda: diverging(16)),
    "low occupancy": (lambda: crowded(48), lambda: crowded(8)),
    "few threads": (lambda: spread(2), lambda: spread(64)),
    "long waits for messages": (lambda: waiting(False), lambda: waiting(True)),
    "chains of results": (lambda: chained(1), lambda: chained(20)),
}
"""For each rule a kernel with its cause, and the same work as its remedy has it."""


def fitting(result: TimingResult) -> set[str]:
    """Return the rules that fit, but for what is said of the control of loops."""
    control = (" N(0,0)", "jmp")
    return {
        advice.rule.name
        for advice in advise(result)
        if not any(word in advice.line.text for word in control)
    }


def test_each_rule_has_a_pair() -> None:
    assert PAIRS.keys() == {rule.name for rule in RULES}


@pytest.mark.parametrize("rule", PAIRS)
def test_a_rule_fits_its_cause_and_the_remedy_takes_fewer_cycles(rule: str) -> None:
    failing, mended = (make() for make in PAIRS[rule])
    assert rule in fitting(failing)
    assert rule not in fitting(mended)
    assert mended.cycles < 0.8 * failing.cycles


def test_the_cause_of_a_wait_is_the_load_that_writes_what_is_read() -> None:
    result = strided(4)
    (first, *_) = [line for line in result.lines if line.text.startswith("add (M1, 16) S")]
    cause = waited_for(result, first)
    assert cause is not None
    assert "lsc_load" in cause.text
    assert cause.pc < first.pc


def test_the_text_has_the_evidence_and_the_remedies_once() -> None:
    text = advice_text(strided(64))
    assert "16.0 lines of 64 bytes for 64 bytes, which 1.0 could hold" in text
    (remedies,) = [rule.remedies for rule in RULES if rule.name == "strided access"]
    assert all(text.count(remedy) == 1 for remedy in remedies)


def test_the_command_prints_advice_as_text_and_as_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "k.visaasm"
    lines = ["mad (M1, 16) S(0,0)<1> S(0,0)<1;1,0> D6(0,0)<1;1,0> D7(0,0)<1;1,0>"] * 40
    file.write_text(kernel(lines).source or "")
    words = ["time", str(file), "--device", "bmg", "--groups", "2", "--set", "memory=0", "--advise"]
    assert main(words) == 0
    assert "chains of results" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    rules = {one["rule"] for one in json.loads(capsys.readouterr().out)["advice"]}
    assert "chains of results" in rules


def test_advice_is_of_one_generation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "k.visaasm"
    file.write_text(kernel([use(0)]).source or "")
    words = ["--groups", "2", "--compare", "pvc,bmg", "--advise"]
    assert main(["time", str(file), "--device", "bmg", *words]) == 2
    assert "--compare cannot be combined" in capsys.readouterr().err
