"""Random fragment shaders, the same for the same seed."""

from __future__ import annotations

import random

_HEAD = "precision highp float;\nvarying vec4 a;\nvarying vec4 b;\nuniform sampler2D t;\n"
_UNARY = ("sqrt(abs({0}))", "inversesqrt({0} * {0} + 1.0)", "exp2({0})", "log2(abs({0}) + 0.5)",
          "sin({0})", "cos({0})", "fract({0})", "floor({0})", "1.0 / {0}", "abs({0})",
          "-{0}")  # fmt: skip
_BINARY = ("{0} + {1}", "{0} * {1}", "{0} - {1}", "min({0}, {1})", "max({0}, {1})",
           "{0} * {1} + {0}", "({0} < {1} ? {0} : {1} * 0.5)", "pow(abs({0}), {1})",
           "step({0}, {1})")  # fmt: skip
_TERNARY = ("{0} * {1} + {2}", "mix({0}, {1}, {2})", "clamp({0}, {1}, {2})",
            "({0} > {1} ? {2} : {0})")  # fmt: skip


_DEEPEST = 4
"""Blocks in one another."""


def fragment_shader(seed: int) -> str:
    """Return the text of a fragment shader without loops."""
    chosen = random.Random(seed)
    values = [f"{v}.{c}" for v in "ab" for c in "xyzw"]
    lines: list[str] = []
    for number in range(chosen.randint(2, 24)):
        shape = chosen.choice((_UNARY, _BINARY, _BINARY, _TERNARY, _TERNARY))
        text = chosen.choice(shape).format(*(chosen.choice(values) for _ in range(3)))
        if chosen.random() < 0.06:
            place = f"vec2({chosen.choice(values)}, {chosen.choice(values)})"
            text = f"texture2D(t, {place}).{chosen.choice('xyzw')}"
        lines.append(f"  float v{number} = {text};")
        values.append(f"v{number}")
    out = ", ".join(chosen.choice(values[-8:]) for _ in range(4))
    return _whole(lines, out)


def looping_shader(seed: int) -> str:
    """Return the text of a fragment shader with loops, some in another, and branches in them."""
    chosen = random.Random(seed)
    values = [f"{v}.{c}" for v in "ab" for c in "xyzw"] + ["s", "r"]

    def value(depth: int) -> str:
        shape = chosen.choice((_UNARY, _BINARY, _TERNARY))
        text = chosen.choice(shape).format(*(chosen.choice(values) for _ in range(3)))
        return f"{'  ' * depth}{chosen.choice('sr')} = {text};"

    def block(depth: int, loops: int) -> list[str]:
        indent = "  " * depth
        found = [value(depth) for _ in range(chosen.randint(1, 5))]
        kind = chosen.random()
        if loops and kind < 0.4:
            head = f"{indent}for (float i{loops} = 0.0; i{loops} < a.z; i{loops} += 1.0) {{"
            found += [head, *block(depth + 1, loops - 1), indent + "}"]
        elif depth < _DEEPEST and kind < 0.8:
            found += [f"{indent}if (s > {chosen.choice(values)}) {{", *block(depth + 1, 0)]
            found += [f"{indent}}} else {{", *block(depth + 1, 0), indent + "}"]
        elif kind > 0.9:
            found.append(f"{indent}if (r < {chosen.choice(values)}) break;")
        return found

    body = ["  float s = a.x;", "  float r = b.y;", "  for (float i = 0.0; i < b.w; i += 1.0) {"]
    body += [*block(2, 2), "  }"]
    return _whole(body, "s, r, a.x, b.z")


def _whole(lines: list[str], out: str) -> str:
    return _HEAD + "void main() {\n" + "\n".join(lines) + f"\n  gl_FragColor = vec4({out});\n}}\n"
