"""Which features a processor has of which only the name is known: LLVM shows it in its code.

Nothing asks LLVM for the features behind a name, so small functions are compiled for it, one for
each feature that the JIT's code depends on; what stands in their assembly says whether it is there.
"""

from __future__ import annotations

import re


def _lanes(count: int) -> str:
    """Return which lanes a permutation takes that no instruction but the general one makes."""
    return ", ".join(f"i32 {(7 * lane + 3) % count}" for lane in range(count))


# For each feature, a function's type, its body, and what its assembly has where the feature is.
_PROBES = {
    "ssse3": (
        "<16 x i8>",
        f"%r = shufflevector <16 x i8> %a, <16 x i8> poison, <16 x i32> <{_lanes(16)}>",
        r"pshufb",
    ),
    "avx2": ("<8 x i32>", "%r = add <8 x i32> %a, %b", r"vpaddd.*%ymm"),
    "avx512vl": (
        "<8 x float>",
        "%m = fcmp ult <8 x float> %a, %b\n"
        "  %r = select <8 x i1> %m, <8 x float> %a, <8 x float> zeroinitializer",
        r"%ymm.*\{%k\d\}",
    ),
    "avx512vbmi": (
        "<32 x i8>",
        f"%r = shufflevector <32 x i8> %a, <32 x i8> poison, <32 x i32> <{_lanes(32)}>",
        r"vpermb",
    ),
    **{
        name: (
            "<16 x i8>",
            """%x = zext <16 x i8> %a to <16 x i32>
  %y = sext <16 x i8> %b to <16 x i32>
  %m = mul <16 x i32> %x, %y
  %s = call i32 @llvm.vector.reduce.add.v16i32(<16 x i32> %m)
  %t = trunc i32 %s to i8
  %r = insertelement <16 x i8> %a, i8 %t, i64 0""",
            sign,
        )
        for name, sign in (
            ("avx512vnni", r"(?<!\})\tvpdpbusd"),
            ("avxvnni", r"\{vex\}\tvpdpbusd"),
        )
    },
    "avx512fp16": ("<8 x half>", "%r = fadd <8 x half> %a, %b", r"vaddph"),
}

PROBE_TEXT = "declare i32 @llvm.vector.reduce.add.v16i32(<16 x i32>)\n" + "\n".join(
    f"define {kind} @{name}({kind} %a, {kind} %b) {{\n  {body}\n  ret {kind} %r\n}}"
    for name, (kind, body, _) in _PROBES.items()
)
"""The module to compile."""


def features_in(assembly: str) -> list[str]:
    """Return the features that a processor has, given the module's assembly for it."""
    _, *parts = re.split(r"^(\w+):", assembly, flags=re.MULTILINE)
    code = dict(zip(parts[::2], parts[1::2], strict=True))
    return [name for name, (_, _, sign) in _PROBES.items() if re.search(sign, code[name])]
