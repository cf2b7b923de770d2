"""Pairs of values that nothing has written and that go through calls of functions by a stack."""

from __future__ import annotations

from tests.opencl.sanitizers.pairs import HEAD, ITEM, Pair

_TREE = """\
int tree(int depth, int value) {
  if (depth <= 0) return value;
  return tree(depth - 1, value + 1) + tree(depth - 2, value * 3);
}
"""
_POINTED = """\
int tree(int depth, int *value) {
  if (depth <= 0) return *value; /*2*/
  int own = *value + 1;
  return tree(depth - 1, &own) + tree(depth - 2, value);
}
"""
_MANY = """\
int many(int d, int a, int16 h, int16 i, int16 j, int16 m) {
  if (d <= 0) return a + h.s1 + i.s2 + j.sf + m.s7;
  return many(d - 1, a + 1, i, j, m, h);
}
"""
_MUTUAL = """\
bool even(int n, int v);
bool odd(int n, int v) { return n == 0 ? v > 3 : even(n - 1, v); }
bool even(int n, int v) { return n == 0 ? true : odd(n - 1, v); }
"""
_LAST = """\
int last(local int *t, int l, int n) {
  if (n == 0) return t[l]; /*1*/
  return last(t, (l + 1) % 64, n - 1);
}
"""

CALL_PAIRS = (
    Pair(
        "argument of a recursive function",
        "uninit-local",
        ITEM
        + """\
  t[l] = g; //+
  y[g] = tree(x[g] & 3, t[l]); /*1*/
""",
        head=_TREE + HEAD,
    ),
    Pair(
        "pointer to a variable of the caller",
        "uninit-private",
        ITEM
        + """\
  int s; //-
  int s = 3; //+
  if (x[g] > 50) s = 1;
  y[g] = tree(x[g] & 3, &s); /*1*/
""",
        head=_POINTED + HEAD,
    ),
    Pair(
        "argument on the stack",
        "uninit-local",
        ITEM
        + """\
  int16 h = (int16)(l), m = h;
  m.s7 = t[l]; /*1*/ //-
  y[g] = many(4 * (x[g] & 1), l, h, h + 1, h + 2, m); /*2*/
""",
        head=_MANY + HEAD,
    ),
    Pair(
        "argument of functions that call each other",
        "uninit-local",
        ITEM
        + """\
  t[l] = g; //+
  y[g] = odd(x[g] & 3, t[l]) ? 5 : 7; /*1*/
""",
        head=_MUTUAL + HEAD,
    ),
    Pair(
        "result of a recursive function",
        "uninit-local",
        ITEM
        + """\
  if (l < 50) //-
    t[l] = g;
  barrier(CLK_LOCAL_MEM_FENCE);
  y[g] = last(t, l, x[g] & 3); /*2*/
""",
        head=_LAST + HEAD,
    ),
)
