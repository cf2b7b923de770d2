"""Makes hostile requests: the same ones for the same seed.

An attack is either bytes for a connection, or a tool and a request as JSON. `weight` says how often
a kind comes; those that run until a limit ends them are few.
"""

from __future__ import annotations

import base64
import json
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import visim
from tools.fuzz.mutate import mutants

EXAMPLES = Path(visim.__file__).parent / "examples"
SAXPY_ZEBIN = (EXAMPLES / "saxpy" / "saxpy.zebin").read_bytes()
SAXPY = """__kernel void saxpy(__global float *y, __global const float *x, float a, int n)
{ int i = get_global_id(0); if (i < n) y[i] += a * x[i]; }
"""
SCALE = """.version 4.1
.kernel "scale"
.decl V32 v_type=G type=q num_elts=1 align=qword
.decl V33 v_type=G type=f num_elts=16 align=GRF
.input V32 offset=64 size=8
lsc_load.ugm (M1_NM, 1) V33:d32x16t flat[V32]:a64
mul (M1, 16) V33(0,0)<1> V33(0,0)<1;1,0> 0x40000000:f
lsc_store.ugm (M1_NM, 1) flat[V32]:a64 V33:d32x16t
ret (M1, 1)
"""
CASE: Mapping[str, Any] = {
    "global_size": [64],
    "args": {"y": "ones:64", "x": "iota:64", "a": 2, "n": 64},
    "expect": {"y": {"formula": "y + a*x"}},
}
SECRET = "/etc/passwd"
_TOOLS = ("compile", "check", "run", "sanitize", "time", "explain", "diff")


@dataclass(frozen=True, slots=True)
class Attack:
    """What is sent: bytes as they are, or a tool and its request."""

    kind: str
    data: bytes | None = None
    tool: str = "run"
    request: Any = None
    pause: float = 0.0
    """Seconds between the pieces in which the bytes are sent."""


def attacks(seed: int) -> Iterator[Attack]:
    """Yield attacks without end."""
    rng = random.Random(seed)
    zebins = mutants([SAXPY_ZEBIN], seed=seed)
    texts = mutants([SCALE.encode()], seed=seed + 1)
    sources = mutants([SAXPY.encode()], seed=seed + 2)
    made: Mapping[str, tuple[int, Callable[[random.Random], Attack]]] = {
        "http": (16, _http),
        "json": (14, _json),
        "fields": (24, _fields),
        "zebin": (20, lambda _: _program("zebin", {"binary": _base64(next(zebins))})),
        "visa": (14, lambda _: _program("visa", _text(next(texts)) | {"device": "pvc"})),
        "opencl": (3, lambda _: _program("opencl", _text(next(sources)) | {"device": "pvc"})),
        "include": (8, _include),
        "options": (6, _options),
        "values": (10, _values),
        "formula": (6, _formula),
        "slow": (1, _slow),
        "greedy": (1, _greedy),
    }
    kinds, weights = list(made), [weight for weight, _ in made.values()]
    while True:
        [kind] = rng.choices(kinds, weights)
        yield made[kind][1](rng)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _text(data: bytes) -> dict[str, Any]:
    return {"source": data.decode("utf-8", "replace")}


def _program(kind: str, program: dict[str, Any], tool: str = "run", **more: Any) -> Attack:
    request: dict[str, Any] = {"program": program}
    if tool in {"run", "sanitize"}:
        args = {"0": "ones:64"} if kind == "visa" else CASE["args"]
        case = {"args": args} if kind == "visa" else CASE
        request["cases"] = [case]
        request["budget"] = 100_000
    return Attack(kind, tool=tool, request=request | more)


def _head(length: object, path: str = "/v1/run", more: str = "") -> bytes:
    return f"POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n{more}\r\n".encode()


def _http(rng: random.Random) -> Attack:
    junk = rng.randbytes(rng.choice((1, 40, 4000)))
    body = json.dumps({"program": {"source": SAXPY, "device": "pvc"}, "cases": [CASE]}).encode()
    data = rng.choice(
        (
            junk,
            junk + b"\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"POST /v1/run HTTP/1.1\r\n\r\n" + body,
            _head("x") + body,
            _head(-5) + body,
            _head("1" * 4000) + body,
            _head(10**12) + body[:50],
            _head(len(body)) + body[: rng.randrange(len(body))],
            _head(3) + body,
            _head(len(body) + 10) + body,
            _head(9_000_000) + b"x" * rng.choice((10, 100_000)),
            _head(len(body), f"/v1/../../{SECRET}") + body,
            _head(len(body), "/v1/" + "a" * rng.choice((10, 70_000))) + body,
            _head(len(body), "/v1/run%00") + body,
            _head(len(body), more="X: y\r\n" * rng.choice((3, 300))) + body,
            _head(len(body), more="Transfer-Encoding: chunked\r\n") + b"ffffffff\r\n" + body,
            _head(len(body), more="Expect: 100-continue\r\n"),
            _head(2) + b"{}" + _head(2) + b"[]" + junk,
            b"\r\n" * 500,
            b"GET /v1/tools HTTP/1.1\r\nContent-Length: 50\r\n\r\n",
        )
    )
    return Attack("http", data)


def _json(rng: random.Random) -> Attack:
    whole = json.dumps({"program": {"source": SCALE, "device": "pvc"}, "cases": [{}]})
    body = rng.choice(
        (
            "",
            "null",
            "[" * rng.choice((100, 200_000)),
            '{"a":' * rng.choice((100, 100_000)),
            "9" * rng.choice((30, 5000)),
            '{"program": 1, "program": 2}',
            '{"program": NaN}',
            '"\\ud800"',
            '{"code": "\\ud800"}',
            whole[: rng.randrange(len(whole))],
            whole.replace('"', "'", rng.randrange(9)),
            whole + whole,
            json.dumps({"program": {"source": "x" * rng.choice((10, 3_000_000))}}),
            json.dumps({"k" * 1000 + str(n): n for n in range(rng.choice((1, 3000)))}),
        )
    ).encode("utf-8", "surrogatepass")
    if rng.random() < 0.2:
        body = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 60)))
    return Attack("json", _head(len(body), f"/v1/{rng.choice(_TOOLS)}") + body)


_ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1 << 31,
    1 << 63,
    10**30,
    1e308,
    -0.0,
    "",
    "\0",
    "../" * 20 + "etc/passwd",
    SECRET,
    "npy:/etc/passwd",
    "image:/etc/passwd",
    "$(touch /tmp/owned)",
    "a" * 5000,
    "\u202e\ud7ff\U0001f600",
    [],
    {},
    [[]],
    {"a": {"b": {}}},
    [1] * 200,
    {"type": "f32", "data": [1], "shape": [2]},
    {"formula": "__import__('os').system('id')"},
)


def _fields(rng: random.Random) -> Attack:
    """A right request in which one field is something else, is gone, or is one too many."""
    program = rng.choice(({"binary": _base64(SAXPY_ZEBIN)}, {"source": SCALE, "device": "pvc"}))
    case = dict(CASE) if "binary" in program else {"args": {"V32": "ones:f32:16"}}
    tool = rng.choice(_TOOLS)
    request: dict[str, Any] = {
        "compile": {"program": program, "want": ["visa"]},
        "check": {"program": program},
        "time": {"program": program, "case": case, "generations": ["pvc"], "lines": 2},
        "explain": {"code": "race-local", "source": SCALE, "line": 3},
        "diff": {"left": {"program": program}, "right": {"engine": "jit"}, "case": case},
    }.get(tool, {"program": program, "cases": [case], "budget": 10_000, "engine": "jit"})
    request = json.loads(json.dumps(request))
    holder: Any = request
    while True:
        keys: list[Any] = [*holder] if isinstance(holder, dict) else [*range(len(holder))]
        if not keys:
            break
        key = rng.choice(keys)
        if isinstance(holder[key], (dict, list)) and rng.random() < 0.7:
            holder = cast("Any", holder[key])
            continue
        match rng.randrange(4):
            case 0 if isinstance(holder, dict):
                del holder[key]
            case 1 if isinstance(holder, dict):
                holder[rng.choice(("__class__", "sead", "", "a" * 300))] = rng.choice(_ODD)
            case _:
                holder[key] = rng.choice(_ODD)
        break
    return Attack("fields", tool=tool, request=request)


def _include(rng: random.Random) -> Attack:
    name = rng.choice((SECRET, "../" * 12 + SECRET[1:], "/proc/self/environ", "/dev/zero", "h.h"))
    line = rng.choice(
        (
            f'#include "{name}"',
            f"#include <{name}>",
            f'  #  include_next "{name}"',
            f'%:include "{name}"',
            f'??=include "{name}"',
            f'#inc\\\nlude "{name}"',
            f'/* */ # /* */ include "{name}"',
            f'#define F "{name}"\n#include F',
            f'#import "{name}"',
            f'#embed "{name}"',
            f'#pragma GCC dependency "{name}"',
            f'#if __has_include("{name}")\n#error there\n#endif',
            f'#line 1 "{name}"\nint x = ;',
            f'__asm__(".include \\"{name}\\"");',
            f'char *s = "/*";\n#include "{name}"\nchar *t = "*/";',
            f'_Pragma("GCC dependency \\"{name}\\"")',
        )
    )
    program: dict[str, Any] = {"source": f"{line}\n{SAXPY}", "device": "pvc"}
    if rng.random() < 0.4:
        program["headers"] = {rng.choice((name, "h.h", "a/../../b", "/h")): line}
    return _program("include", program, rng.choice(("compile", "run")))


def _options(rng: random.Random) -> Attack:
    options = rng.choice(
        (
            f"-I/ -include {SECRET}",
            "-Xclang -load -Xclang /tmp/x.so",
            "-o /tmp/owned",
            "-save-temps",
            "-D X='\"; rm -rf /'",
            '-D F=\\"/etc/passwd\\"',
            "-cl-std=CLC++ -D X",
            "-igc_opts 'ShaderDumpEnable=1,DumpToCustomDir=/tmp/owned'",
            "-cl-std=CL1.2 -cl-std=CL2.0",
            "@/etc/passwd",
            "`id`",
            "-D",
            "-cl-" + "a" * 1500,
            "--help",
            "-dump-opt-llvm=/tmp/owned",
            "-mllvm -debug",
            "-fplugin=/tmp/x",
            "\0",
            "-" * 1999,
        )
    )
    program = {"source": SAXPY, "device": "pvc", "options": options}
    return _program("options", program, rng.choice(("compile", "run")))


def _values(rng: random.Random) -> Attack:
    """Sizes and values that ask for far too much, or for files."""
    case: dict[str, Any] = json.loads(json.dumps(CASE))
    match rng.randrange(6):
        case 0:
            case["global_size"] = rng.choice(([1 << 31], [1 << 20] * 3, [64, 64, 64], [3]))
        case 1:
            case["args"]["x"] = rng.choice(
                ("zeros:536870912", "rand:u8:536870913", "image:zeros:u8:9999x9999x4", "iota:1e9")
            )
        case 2:
            case["args"]["y"] = rng.choice(
                ("npy:/etc/passwd", "image:/etc/passwd", "NPY:../x", "hex:", "local:64", "null", 3)
            )
        case 3:
            case["local_size"] = rng.choice(([1 << 30], [7], [1024, 1024], [1]))
        case 4:
            case["surfaces"] = {rng.choice(("0", "-1", "255", "x")): "zeros:f32:64"}
        case _:
            case["expect"] = {"y": rng.choice(("zeros:1", {"type": "f64", "base64": "AA=="}))}
    request = {"program": {"binary": _base64(SAXPY_ZEBIN)}, "cases": [case], "budget": 20_000}
    return Attack("values", tool=rng.choice(("run", "sanitize")), request=request)


def _formula(rng: random.Random) -> Attack:
    formula = rng.choice(
        (
            "__import__('os').system('touch /tmp/owned')",
            "().__class__.__bases__[0].__subclasses__()",
            "open('/etc/passwd').read()",
            "9**9**9**9**9",
            "2**(i*1000000)",
            "ones(10**10)",
            "outer(outer(x, x), outer(x, x))",
            "outer(x, x)",
            "(" * 200 + "x" + ")" * 200,
            "-" * 900 + "x",
            "x.T.T.T",
            "x[1:][::-1][5]",
            "where(x)",
            "sum(x, axis=99)",
            "lambda: 0",
            "[x for x in y]",
            "x if y else a",
            "reshape(x, 9, 9)",
            "1 << 10**18",
            "f'{x}'",
            "y := 3",
        )
    )
    case = dict(CASE) | {"expect": {"y": {"formula": formula}}}
    request = {"program": {"binary": _base64(SAXPY_ZEBIN)}, "cases": [case]}
    return Attack("formula", tool="run", request=request)


def _slow(rng: random.Random) -> Attack:
    """A request that comes piece by piece, and stops before its end or not."""
    body = json.dumps({"code": "race-local"}).encode()
    data = _head(len(body), "/v1/explain") + body
    return Attack("slow", data[: rng.choice((3, 30, len(data) - 1, len(data)))], pause=0.02)


def _greedy(rng: random.Random) -> Attack:
    """What takes time, memory or output until a limit ends it."""
    text = rng.choice(_GREEDY)
    if text.startswith(".version"):
        return Attack("greedy", request={"program": _visa(text), "cases": [{}]})
    device = rng.choice(("pvc", "dg2"))
    options = "-cl-std=CLC++" if "template" in text else ""
    program = {"source": text, "device": device, "options": options}
    case = {"global_size": [1024], "args": {"y": "zeros:u8:4096"}}
    tool = rng.choice(("run", "compile"))
    return Attack(
        "greedy",
        tool=tool,
        request={"program": program} | ({"cases": [case]} if tool == "run" else {}),
    )


def _visa(text: str) -> dict[str, Any]:
    return {"source": text, "device": "pvc"}


_ENDLESS = '.version 4.1\n.kernel "k"\nagain:\njmp (M1, 1) again\nret (M1, 1)\n'
_MACROS = "#define A0 y[0]++;\n" + "".join(
    f"#define A{n} A{n - 1} A{n - 1} A{n - 1} A{n - 1}\n" for n in range(1, 12)
)
_GREEDY = (
    _ENDLESS,
    "__kernel void k(__global char *y) { while (1) y[get_global_id(0) & 63]++; }",
    "__kernel void k(__global char *y) { for (ulong i = 1; i; i++) y[i % 64] ^= i; }",
    _MACROS + "__kernel void k(__global char *y) { A11 }",
    "__constant int t[1 << 28] = {1};\n__kernel void k(__global char *y) { y[0] = t[y[1]]; }",
    "__kernel void k(__global char *y) { char b[1 << 27]; b[y[0]] = 1; y[1] = b[y[2]]; }",
    "__kernel void k(__global char *y) {\n#pragma unroll\n"
    "for (int i = 0; i < 1000000; i++) y[i % 64] += i; }",
    '__kernel void k(__global char *y) { for (int i = 0; i < 1000000; i++) printf("%d %s", i, '
    '"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"); }',
    "__kernel void k(__global char *y) { y[0] = " + "(" * 30_000 + "1" + ")" * 30_000 + "; }",
    "__kernel void k(__global char *y) { __local char b[1 << 30]; b[0] = y[0]; y[1] = b[y[2]]; }",
    "template <int N> struct F { static const int v = F<N - 1>::v + F<N - 2>::v * N; };\n"
    "__kernel void k(__global char *y) { y[0] = F<100000>::v; }",
    "int f(int n) { return n < 2 ? n : f(n - 1) + f(n - 2); }\n"
    "__kernel void k(__global char *y) { y[0] = f(1000); }",
    '__kernel void k(__global char *y) { __asm__ volatile("junk (M1, 99) %0" :: "rw"(y)); }',
)
