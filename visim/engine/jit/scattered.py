"""Functions for loads and stores whose channels' addresses are not adjacent: lane by lane."""

from __future__ import annotations

from visim.engine.jit.floats import Library


def gather_function(library: Library, lanes: int, scalar: str, parts: int) -> str:
    """Return the name of the function that loads `parts` elements for each lane.

    Lanes that are off read from memory that holds zeros, so that nothing branches.
    """
    name = f"gather.{lanes}.{scalar}.{parts}"
    if name in library.functions:
        return name
    if lanes == 32:
        return _halved_gather(library, name, scalar, parts)
    vector = f"<{lanes} x {scalar}>"
    result = f"{{ {', '.join([vector] * parts)} }}" if parts > 1 else vector
    lines = [
        f"define internal {result} @{name}(<{lanes} x i64> %where, <{lanes} x i1> %on, "
        "i64 %nothing) noinline #0 {",
        f"  %s.0 = insertelement <{lanes} x i64> poison, i64 %nothing, i64 0",
        f"  %s = shufflevector <{lanes} x i64> %s.0, <{lanes} x i64> poison, "
        f"<{lanes} x i32> zeroinitializer",
        f"  %at = select <{lanes} x i1> %on, <{lanes} x i64> %where, <{lanes} x i64> %s",
        *_uniform_gather(library, lanes, scalar, parts),
    ]
    latest = ["poison"] * parts
    for lane in range(lanes):
        lines.append(f"  %a{lane} = extractelement <{lanes} x i64> %at, i64 {lane}")
        lines.append(f"  %p{lane} = inttoptr i64 %a{lane} to ptr")
        for part in range(parts):
            tag = f"{lane}.{part}"
            lines.append(f"  %q{tag} = getelementptr {scalar}, ptr %p{lane}, i64 {part}")
            lines.append(f"  %x{tag} = load {scalar}, ptr %q{tag}, align 1")
            lines.append(
                f"  %v{tag} = insertelement {vector} {latest[part]}, {scalar} %x{tag}, i64 {lane}"
            )
            latest[part] = f"%v{tag}"
    lines += _result(latest, vector, "s")
    library.functions[name] = "\n".join([*lines, "}"])
    return name


def _uniform_gather(library: Library, lanes: int, scalar: str, parts: int) -> list[str]:
    """Return code that loads once, or in one piece, where all lanes are on and allow it."""
    if lanes == 1:
        return []
    vector, wide = f"<{lanes} x {scalar}>", f"<{lanes} x i64>"
    size = _bytes_of(scalar) * parts
    steps = ", ".join(f"i64 {lane * size}" for lane in range(lanes))
    lines = [
        f"  %f = shufflevector {wide} %at, {wide} poison, <{lanes} x i32> zeroinitializer",
        f"  %ne = icmp ne {wide} %at, %f",
        f"  %nb = bitcast <{lanes} x i1> %ne to i{lanes}",
        f"  %same = icmp eq i{lanes} %nb, 0",
        "  br i1 %same, label %once, label %perhaps",
        "once:",
        f"  %oa = extractelement {wide} %at, i64 0",
        "  %op = inttoptr i64 %oa to ptr",
    ]
    for part in range(parts):
        lines += [
            f"  %oq{part} = getelementptr {scalar}, ptr %op, i64 {part}",
            f"  %ox{part} = load {scalar}, ptr %oq{part}, align 1",
            f"  %oi{part} = insertelement {vector} poison, {scalar} %ox{part}, i64 0",
            f"  %ov{part} = shufflevector {vector} %oi{part}, {vector} poison, "
            f"<{lanes} x i32> zeroinitializer",
        ]
    lines += _result([f"%ov{part}" for part in range(parts)], vector, "o")
    lines.append("perhaps:")
    if parts > 1:
        return [*lines, "  br label %singly", "singly:"]
    return [
        *lines,
        f"  %want = add {wide} %f, <{steps}>",
        f"  %other = icmp ne {wide} %at, %want",
        f"  %xb = bitcast <{lanes} x i1> %other to i{lanes}",
        f"  %row = icmp eq i{lanes} %xb, 0",
        "  br i1 %row, label %whole, label %singly",
        "whole:",
        f"  %wa = extractelement {wide} %at, i64 0",
        "  %wp = inttoptr i64 %wa to ptr",
        f"  %wv = load {vector}, ptr %wp, align 1",
        f"  ret {vector} %wv",
        "singly:",
    ]


def _bytes_of(scalar: str) -> int:
    return {"half": 2, "float": 4, "double": 8}.get(scalar) or int(scalar[1:]) // 8


def _result(values: list[str], vector: str, prefix: str) -> list[str]:
    """Return code that returns one vector, or a structure of several."""
    if len(values) == 1:
        return [f"  ret {vector} {values[0]}"]
    result = f"{{ {', '.join([vector] * len(values))} }}"
    lines, whole = list[str](), "poison"
    for part, value in enumerate(values):
        lines.append(f"  %{prefix}r{part} = insertvalue {result} {whole}, {vector} {value}, {part}")
        whole = f"%{prefix}r{part}"
    return [*lines, f"  ret {result} {whole}"]


def _halved_gather(library: Library, name: str, scalar: str, parts: int) -> str:
    """Make the function for 32 lanes of that for 16: rows of 16 work-items are common."""
    half = gather_function(library, 16, scalar, parts)
    part, whole = f"<16 x {scalar}>", f"<32 x {scalar}>"
    given = f"{{ {', '.join([part] * parts)} }}" if parts > 1 else part
    result = f"{{ {', '.join([whole] * parts)} }}" if parts > 1 else whole
    low = ", ".join(f"i32 {lane}" for lane in range(16))
    high = ", ".join(f"i32 {lane}" for lane in range(16, 32))
    lines = [
        f"define internal {result} @{name}(<32 x i64> %where, <32 x i1> %on, i64 %nothing) "
        "noinline #0 {",
    ]
    for tag, picks in (("a", low), ("b", high)):
        lines += [
            f"  %w{tag} = shufflevector <32 x i64> %where, <32 x i64> poison, <16 x i32> <{picks}>",
            f"  %o{tag} = shufflevector <32 x i1> %on, <32 x i1> poison, <16 x i32> <{picks}>",
            f"  %x{tag} = call {given} @{half}(<16 x i64> %w{tag}, <16 x i1> %o{tag}, "
            "i64 %nothing)",
        ]
    values: list[str] = []
    for i in range(parts):
        pair = ["%xa", "%xb"]
        if parts > 1:
            lines += [f"  %y{t}{i} = extractvalue {given} %x{t}, {i}" for t in ("a", "b")]
            pair = [f"%ya{i}", f"%yb{i}"]
        lines.append(
            f"  %z{i} = shufflevector {part} {pair[0]}, {part} {pair[1]}, "
            f"<32 x i32> <{low}, {high}>"
        )
        values.append(f"%z{i}")
    library.functions[name] = "\n".join([*lines, *_result(values, whole, "h"), "}"])
    return name


def lane_loop(before: str) -> list[str]:
    """Return the head of a loop over the bits of `%mask`, lowest first, behind block `before`.

    Inside, `%lane` is the lane's number as i64. The body ends by branching to `next`.
    """
    return [
        "  br label %head",
        "head:",
        f"  %left = phi i64 [ %mask, %{before} ], [ %rest, %next ]",
        "  %none = icmp eq i64 %left, 0",
        "  br i1 %none, label %out, label %body",
        "body:",
        "  %lane = call i64 @llvm.cttz.i64(i64 %left, i1 true)",
    ]


def loop_tail() -> list[str]:
    """Return the end of the loop of `lane_loop`; the block `out` is open then."""
    return [
        "next:",
        "  %less = sub i64 %left, 1",
        "  %rest = and i64 %left, %less",
        "  br label %head",
        "out:",
    ]
