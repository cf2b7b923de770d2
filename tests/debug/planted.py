"""Kernels with one wrong line each.

A line ends with `// here` where the mistake is, and with `// else` where nothing that the wrong
value depends on is.
"""

from __future__ import annotations

from dataclasses import dataclass

_HEAD = "float half_of(float v) { return v * 0.5f; }\n"
_BODY = """\
kernel void k(global float *out, global const float *x, global const int *p,
              global float *other, float a, int n, local float *shared)
{{
    int i = get_global_id(0);
    int l = get_local_id(0);
    other[(l * 7) & 31] = 3.0f * l;            // else
    float r = 0.0f;
{lines}
    out[i] = r;
}}
"""


@dataclass(frozen=True, slots=True)
class Planted:
    """A kernel: its lines, of which one with @ is the wrong one for that above it."""

    name: str
    lines: str

    def source(self, *, wrong: bool) -> str:
        """Return the kernel's text."""
        lines: list[str] = []
        for line in self.lines.splitlines():
            if line.startswith("@ "):
                text = line[2:] if wrong else lines.pop()
                lines = lines[:-1] if wrong else lines
                lines.append(f"{text}  // here")
            else:
                lines.append(line)
        return _HEAD + _BODY.format(lines="\n".join(f"    {line}" for line in lines))

    @property
    def line(self) -> int:
        """The number of the wrong line."""
        source = self.source(wrong=True).splitlines()
        return next(n for n, line in enumerate(source, 1) if line.endswith("// here"))

    @property
    def other_line(self) -> int:
        """The number of a line on which the value does not depend."""
        source = self.source(wrong=True).splitlines()
        return next(n for n, line in enumerate(source, 1) if line.endswith("// else"))


_TEXT = """\
# a constant
float s = x[i] * 2.0f;
@ float s = x[i] * 2.5f;
r = s + 1.0f;
# an operator
float s = x[i] + a;
@ float s = x[i] - a;
r = s * s;
# an operand
float s = x[i] * a;
@ float s = x[i] * x[i];
r = s - 1.0f;
# an index
int j = p[i];
@ int j = p[i] ^ 1;
r = x[j] * 2.0f;
# an offset of an index
int j = (p[i] * 3 + 1) & 255;
@ int j = (p[i] * 3 + 2) & 255;
r = x[j];
# a sign
float s = x[i] - 5.0f;
@ float s = 5.0f - x[i];
r = s * 3.0f;
# a shift
int s = p[i] << 2;
@ int s = p[i] << 3;
r = (float)s;
# a mask
int s = p[i] & 15;
@ int s = p[i] & 7;
r = (float)(s * s);
# a cast
int s = (int)(x[i] * 0.7f);
@ int s = (int)(x[i] * 0.7f + 0.5f);
r = (float)(s + 1);
# a remainder
int s = p[i] % 7;
@ int s = p[i] % 5;
r = s * a;
# a quotient
int s = p[i] / 3;
@ int s = p[i] / 4;
r = s + a;
# a comparison
float s = x[i] < 100.0f ? x[i] : a;
@ float s = x[i] < 90.0f ? x[i] : a;
r = s * 2.0f;
# a choice
float s = p[i] > 9 ? 1.0f : -1.0f;
@ float s = p[i] > 9 ? 1.0f : -2.0f;
r = s * x[i];
# a minimum
float s = fmin(x[i], 64.0f);
@ float s = fmax(x[i], 64.0f);
r = s + 2.0f;
# a clamp
float s = clamp(x[i], 10.0f, 90.0f);
@ float s = clamp(x[i], 20.0f, 90.0f);
r = s;
# an absolute value
float s = fabs(x[i] - 40.0f);
@ float s = x[i] - 40.0f;
r = s * 2.0f;
# a function's argument
float s = half_of(x[i] * a);
@ float s = half_of(x[i] * 3.0f);
r = s + 1.0f;
# a missing call
float s = half_of(x[i]);
@ float s = x[i];
r = s * a;
# the first value of a loop
float s = a * 2.0f;
@ float s = a * 3.0f;
for (int j = 0; j < n; ++j)
    s += x[(i + j) & 255];
r = s;
# what a loop adds
float s = 0.0f;
for (int j = 0; j < n; ++j)
    s += x[(i + j) & 255] * 0.25f;
@ s += x[(i + j) & 255] * 0.75f;
r = s;
# a loop's bound
float s = 0.0f;
for (int j = 0; j < n; ++j)
@ for (int j = 0; j <= n; ++j)
    s += x[(i + j) & 255];
r = s;
# a loop's step
float s = 0.0f;
for (int j = 0; j < n; j += 2)
@ for (int j = 0; j < n; j += 3)
    s += x[(i + j) & 255];
r = s;
# a store to local memory
shared[l] = x[i] * 2.0f;
@ shared[l] = x[i] * 4.0f;
barrier(CLK_LOCAL_MEM_FENCE);
r = shared[63 - l];
# an index of local memory
shared[l] = x[i];
barrier(CLK_LOCAL_MEM_FENCE);
r = shared[63 - l];
@ r = shared[62 - (l & 31)];
# a vector's component
float4 v = vload4(0, x + (i & 60));
float s = v.y * v.x;
@ float s = v.z * v.x;
r = s * 3.0f;
# a fused product
float s = fma(x[i], a, 1.0f);
@ float s = fma(x[i], a, 2.0f);
r = s * 0.5f;
# a square root
float s = sqrt(x[i]);
@ float s = rsqrt(x[i] + 1.0f);
r = s + a;
# a conversion to half
float s = x[i] * 1.001f;
@ float s = x[i] * 1.002f;
r = s + vload_half(0, (global const half *)p) * 0.0f;
# bits
int s = popcount(p[i]);
@ int s = popcount(p[i] + 1);
r = (float)(s * 10);
# a branch
if (p[i] > 100) {
@ if (p[i] > 60) {
    r = x[i] * a;
    other[i] += r;
} else {
    r = a;
}
"""


def _table() -> tuple[Planted, ...]:
    """Return the kernels; a line that begins with @ is what is wrong in place of the one above."""
    found: list[Planted] = []
    for part in _TEXT.split("# ")[1:]:
        name, _, lines = part.partition("\n")
        found.append(Planted(name, lines))
    return tuple(found)


PLANTED = _table()
