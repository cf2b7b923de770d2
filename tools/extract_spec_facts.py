"""Collects facts of the specification that tests compare the declarations with.

    python -m tools.extract_spec_facts SPEC    write tests/model/spec_facts.json

SPEC is a folder with `visa/`, the pages of Intel's vISA specification (documentation/visa in
the repository of intel-graphics-compiler), `opcodes.json`, the compiler's table of instructions,
and `seeds/`, vISA texts. Only numbers, names, types and the lines of example programs are taken, no
sentences; the tests need nothing but the file that this writes.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

OUTPUT = Path(__file__).parents[1] / "tests" / "model" / "spec_facts.json"
ABOUT = (
    "Made by tools/extract_spec_facts.py. Types: u1 u2 u4 d4 unsigned and signed integers by "
    "their bytes, v vector operand, r raw operand, s surface, p sampler, l label; *x a count of "
    "one byte and as many x, +x as many x as are left."
)
_TYPES = {
    "ub": "u1",
    "uw": "u2",
    "ud": "u4",
    "d": "d4",
    "vector_dst": "v",
    "vector_src": "v",
    "vec_operand": "v",
    "scalar": "v",
    "raw": "r",
    "raw_operand": "r",
    "ub surface index": "s",
    "ub sampler index": "p",
    "uw label index": "l",
    "uw string-pool index": "u2",
    "ud string-pool index": "u4",
    "n x uw label index": "+l",
    "n x raw (n = preceding count byte)": "*r",
}
_DEVICES = {"BDW": "bdw", "SKL": "skl", "ICLLP": "icllp", "TGLLP": "tgllp"}
_PAGE = re.compile(r"## Opcode\s*\n(.*?)## Format\s*\n(.*?)## Semantics", re.DOTALL)
_NUMBER = re.compile(r"=\s*(0x[0-9a-fA-F]+)")
_OPERAND = re.compile(r"^- \*\*([^*(]+)\((\w+)\):\*\*", re.MULTILINE)
_OPERATIONS = "LscSubOp="
_EXAMPLES = re.compile(r"^## Examples\s*$(.*?)^## ", re.MULTILINE | re.DOTALL)


def main(arguments: list[str]) -> int:
    """Write the file; returns the exit code."""
    if len(arguments) != 1:
        sys.stderr.write("usage: python -m tools.extract_spec_facts SPEC\n")
        return 2
    spec = Path(arguments[0])
    data = json.loads((spec / "opcodes.json").read_text(encoding="utf-8"))
    facts = {
        "about": ABOUT,
        "opcodes": list(_opcodes(data)),
        "pages": [page for path in _pages(spec) for page in _page(path)],
        "render_operands": _render_operands(data["rt_write_mode_operands"]),
        "devices": _devices(spec / "visa" / "appendix_instruction_by_platform.md"),
        "examples": list(_examples(spec)),
    }
    OUTPUT.write_text(_shown(facts), encoding="utf-8")
    return 0


def _shown(facts: dict[str, Any]) -> str:
    """Return JSON with a line for each entry."""
    parts: list[str] = []
    for key, value in facts.items():
        if isinstance(value, list):
            lines = ",\n".join(f"  {json.dumps(entry)}" for entry in cast("list[Any]", value))
            parts.append(f" {json.dumps(key)}: [\n{lines}\n ]")
        else:
            parts.append(f" {json.dumps(key)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(parts) + "\n}\n"


# opcodes.json


def _opcodes(data: dict[str, Any]) -> Iterator[dict[str, Any]]:
    layouts = {name: _types(fields) for name, fields in data["lsc_layouts"].items()}
    for row in data["opcodes"]:
        fact = {"code": row["value"], "name": row["name"]}
        if row["name"] == "reserved":
            yield {**fact, "reserved": True}
            continue
        fact["since"] = row["min_platform"]
        if row.get("head_only"):
            fact["newer"] = True
        if "sub_ops" in row:
            fact["subs"] = [
                {"sub": int(number, 0), "name": sub["name"], "types": _sub_types(sub, layouts)}
                for number, sub in row["sub_ops"].items()
            ]
        elif "fields" in row:
            fact["types"] = _types(row["fields"])
        elif types := _newer_types(row["fields_from_head_table"]):
            fact["types"] = types
        yield fact


def _newer_types(fields: list[dict[str, str]]) -> list[str] | None:
    """Return the types in a newer compiler's table, None where it leaves a class open."""
    found: list[str] = []
    for field in fields:
        kind = field["kind"]
        if kind == "execsize":
            found.append("u1")
        elif kind == "pred":
            found.append("u2")
        elif kind in {"imm", "other"}:
            found.append(_TYPES[field["type"]])
        elif kind == "raw":
            found.append("r")
        elif kind.startswith("vector") or kind == "dst_pred":
            found.append("v")
        else:
            return None
    return found


def _sub_types(sub: dict[str, Any], layouts: dict[str, list[str]]) -> list[str]:
    """Return the types of a sub-operation, its number first."""
    return ["u1", *(layouts[sub["layout"]] if "layout" in sub else _types(sub["fields"]))]


def _types(fields: list[dict[str, str]]) -> list[str]:
    found: list[str] = []
    for field in fields:
        kind = _TYPES.get(field["type"], f"?{field['field']}")
        if kind == "*r":
            found.pop()  # the count is part of the list
        found.append(kind)
    return found


def _render_operands(lines: list[str]) -> list[tuple[int | None, str]]:
    """Return the operands of a render target write: the mode's bit that adds each, and its type."""
    found: list[tuple[int | None, str]] = []
    for line in lines:
        bit = re.match(r"bit(\d+) ", line)
        if bit:
            found.append((int(bit.group(1)), "v" if "vector" in line else "r"))
        else:
            found += [(None, "r")] * len(line.rpartition(" ")[2].split(","))
    return found


# The pages


def _pages(spec: Path) -> list[Path]:
    return sorted((spec / "visa" / "instructions").glob("*.md"))


def _page(path: Path) -> list[dict[str, Any]]:
    """Return a fact for each format that a page has."""
    found: list[dict[str, Any]] = []
    text = path.read_text(encoding="utf-8")
    match = _PAGE.search(text)
    if match is None:
        return found
    code, *sub = (int(number, 0) for number in _NUMBER.findall(match.group(1)))
    kinds = {name.strip(): _TYPES.get(kind, f"?{kind}") for name, kind in _OPERAND.findall(text)}
    for condition, names in _formats(match.group(2)):
        types = ["u1" if name.startswith("0x") else kinds.get(name, f"?{name}") for name in names]
        if "NumParams" in names and path.stem.startswith("3D"):
            # Which parameters follow, the operation says.
            types[names.index("NumParams") :] = ["*r"]
        fact: dict[str, Any] = {"page": path.stem, "code": code, "types": types}
        if sub:
            fact["sub"] = sub[0]
        if condition.startswith(_OPERATIONS):
            fact["operations"] = condition.removeprefix(_OPERATIONS).split(", ")
        if fact not in found:
            found.append(fact)
    return found


def _formats(table: str) -> Iterator[tuple[str, list[str]]]:
    """Return the conditions and operand names of the formats in a page's section."""
    condition, names = "", None
    for line in table.splitlines():
        if "### CONDITION" in line:
            if names:
                yield condition, names
            condition, names = "", None
        elif line.startswith("- "):
            condition = f"{condition}; {line[2:].strip()}".strip("; ")
        elif line.startswith("|") and "---" not in line:
            cells = [cell.strip().replace("\\*", "") for cell in line.strip("|").split("|")]
            found = [cell for cell in cells if cell]
            if found and names is None:
                names = found[1:]
            elif found and names is not None:
                names += found
    if names:
        yield condition, names


def _devices(path: Path) -> dict[str, list[str]]:
    """Return which of visim's devices the appendix gives each page."""
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in path.read_text(encoding="utf-8").splitlines()
        if line.startswith("|") and "---" not in line
    ]
    header = next(row for row in rows if "BDW" in row)
    found: dict[str, list[str]] = {}
    for row in rows:
        if re.fullmatch(r"\w+", row[0]):
            cells = zip(header[1:], row[1:], strict=True)
            found[row[0]] = [
                _DEVICES[name] for name, mark in cells if mark == "Y" and name in _DEVICES
            ]
    return found


# Example programs


def _examples(spec: Path) -> Iterator[dict[str, Any]]:
    """Return every line of an example that pages and seeds print, once."""
    seen: set[str] = set()
    for where, text in _example_texts(spec):
        for line in text.splitlines():
            code = line.strip()
            if not code or code.startswith(("//", "```", "...", "See ")) or code in seen:
                continue
            seen.add(code)
            yield {"where": where, "text": code}


def _example_texts(spec: Path) -> Iterator[tuple[str, str]]:
    for path in _pages(spec):
        for section in _EXAMPLES.findall(path.read_text(encoding="utf-8")):
            yield path.stem, section
    seed = (spec / "seeds" / "lsc_untyped.txt").read_text(encoding="utf-8")
    yield "seeds/lsc_untyped", "\n".join(_EXAMPLES.findall(seed))
    chapter = (spec / "visa" / "3_execution_model.md").read_text(encoding="utf-8")
    yield "chapter 3", chapter.partition("do-while loop.")[2].split("```")[1]
    yield from _table_examples((spec / "visa" / "8_appendix_visa_assembly_syntax.md").read_text())


def _table_examples(chapter: str) -> Iterator[tuple[str, str]]:
    """Return the examples in the tables of chapter 8; operands stand alone there."""
    tables = chapter.partition("### Directives")[2].partition("### Instructions formats")[0]
    for line in tables.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if line.startswith("|") and "---" not in line and len(cells) > 2:
            texts = [_plain(cell) for cell in cells if cell]
            if texts[-1] not in {"Example", "Address-able"}:
                yield "chapter 8", texts[-1]


def _plain(cell: str) -> str:
    return cell.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
