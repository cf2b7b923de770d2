"""Results as a Parquet file, for those who look at them with tools for tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

from visim.errors import ToolMissing

PARQUET = "results.parquet"
_ROWS = 4096
"""So many rows are in memory at a time."""
_TEXTS = ("cell", "key", "kind", "outcome", "message")


def check_parquet() -> None:
    """Raise `ToolMissing` if Parquet files cannot be written."""
    _arrow()


def write_parquet(file: Path, lines: Callable[[], Iterable[Mapping[str, Any]]]) -> None:
    """Write results to a file, which is there old or new, never in between.

    Args:
        file: the file.
        lines: reads the results, as the store has them.

    Raises:
        ToolMissing: pyarrow is not installed.
    """
    arrow, parquet = _arrow()
    schema = _schema(arrow)
    made = file.with_name(f".{file.name}.tmp")
    try:
        with parquet.ParquetWriter(made, schema, compression="zstd") as writer:
            for rows in _batches(lines()):
                writer.write_table(arrow.Table.from_pylist(rows, schema=schema))
        made.replace(file)
    finally:
        made.unlink(missing_ok=True)


def _arrow() -> tuple[Any, Any]:
    try:
        import pyarrow  # pyright: ignore[reportMissingImports]
        import pyarrow.parquet  # pyright: ignore[reportMissingImports]
    except ImportError:
        message = "--parquet needs the package pyarrow: pip install 'visim[parquet]'"
        raise ToolMissing(message) from None
    return pyarrow, pyarrow.parquet


def _schema(arrow: Any) -> Any:
    text, number = arrow.string(), arrow.int64()
    return arrow.schema(
        [
            ("campaign", number),
            *((name, text) for name in _TEXTS),
            ("name", arrow.map_(text, text)),
            ("arrays", arrow.map_(text, text)),
            ("cycles", arrow.map_(text, number)),
            ("code", arrow.map_(text, number)),
            ("facts", text),
            ("seconds", arrow.float64()),
            ("attempts", number),
            ("worker", text),
        ]
    )


def _batches(lines: Iterable[Mapping[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rows = (_row(line) for line in lines)
    while batch := list(islice(rows, _ROWS)):
        yield batch


def _row(line: Mapping[str, Any]) -> dict[str, Any]:
    facts = line["facts"]
    return {
        "campaign": line["campaign"],
        **{name: line[name] for name in _TEXTS},
        "name": [(axis, str(value)) for axis, value in line["name"].items()],
        **{name: list(facts.get(name, {}).items()) for name in ("arrays", "cycles", "code")},
        "facts": json.dumps(facts),
        **line["took"],
    }
