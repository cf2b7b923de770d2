"""Functions that load and store registers whose addresses differ from lane to lane.

A unit that does so often, as compilers make of loops over private arrays, has them for each
kind of access: where they are called a few instructions stand then, for a hundred.
"""

from __future__ import annotations

from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.text import Text


def load_lanes(text: Text, start: str, addresses: str, lanes: int, scalar: str) -> str:
    """Return the elements at byte addresses, which count from the pointer `start`."""
    found = "poison"
    for lane in range(lanes):
        pointer = _pointer(text, start, addresses, lanes, lane)
        one = text.let(f"load {scalar}, ptr {pointer}, align 1")
        found = text.let(f"insertelement <{lanes} x {scalar}> {found}, {scalar} {one}, i64 {lane}")
    return found


def store_lanes(
    text: Text,
    start: str,
    addresses: str,
    value: str,
    kind: tuple[int, str],
    mask: str | None = None,
    spare: str = "",
) -> None:
    """Write lanes to byte addresses, lowest first, where `mask` has them on (None: all).

    `kind` is how many lanes there are and the type of each. Lanes that are off are written to
    `spare`, 8 bytes that nobody reads: processors cannot foresee which lanes those are.
    """
    lanes, scalar = kind
    for lane in range(lanes):
        one = text.let(f"extractelement <{lanes} x {scalar}> {value}, i64 {lane}")
        pointer = _pointer(text, start, addresses, lanes, lane)
        if mask is not None:
            bit = text.let(f"extractelement <{lanes} x i1> {mask}, i64 {lane}")
            pointer = text.let(f"select i1 {bit}, ptr {pointer}, ptr {spare}")
        text.do(f"store {scalar} {one}, ptr {pointer}, align 1")


def loading_function(library: Library, lanes: int, scalar: str) -> str:
    """Return the name of the function that loads, which is made when first asked for."""
    name = f"registers.load.{lanes}.{scalar}"
    if name not in library.functions:
        text, vector = Text(), f"<{lanes} x {scalar}>"
        found = load_lanes(text, "%start", "%addresses", lanes, scalar)
        head = f"define internal {vector} @{name}(ptr %start, <{lanes} x i32> %addresses)"
        text.do(f"ret {vector} {found}")
        library.functions[name] = _function(head, text)
    return name


def storing_function(library: Library, lanes: int, scalar: str, *, masked: bool) -> str:
    """Return the name of the function that stores, all lanes or those of a mask."""
    name = f"registers.store.{lanes}.{scalar}{'.masked' if masked else ''}"
    if name not in library.functions:
        text = Text()
        mask, given = ("%mask", f", <{lanes} x i1> %mask") if masked else (None, "")
        if mask is not None:
            text.do("%spare = alloca i64, align 8")
            every, some = text.labels("every", "some")
            text.branch(all_on(text, "%mask", lanes), every, some)
            text.label(some)
            store_lanes(text, "%start", "%addresses", "%value", (lanes, scalar), mask, "%spare")
            text.do("ret void")
            text.label(every)
        store_lanes(text, "%start", "%addresses", "%value", (lanes, scalar))
        vectors = f"<{lanes} x i32> %addresses, <{lanes} x {scalar}> %value{given}"
        text.do("ret void")
        library.functions[name] = _function(
            f"define internal void @{name}(ptr %start, {vectors})", text
        )
    return name


def all_on(text: Text, mask: str, lanes: int) -> str:
    """Return whether a mask has all lanes."""
    bits = text.let(f"bitcast <{lanes} x i1> {mask} to i{lanes}")
    return text.let(f"icmp eq i{lanes} {bits}, -1")


def _function(head: str, text: Text) -> str:
    return "\n".join([f"{head} noinline #0 {{", "entry:", *text.lines, "}"])


def _pointer(text: Text, start: str, addresses: str, lanes: int, lane: int) -> str:
    one = text.let(f"extractelement <{lanes} x i32> {addresses}, i64 {lane}")
    wide = text.let(f"zext i32 {one} to i64")
    return text.let(f"getelementptr i8, ptr {start}, i64 {wide}")
