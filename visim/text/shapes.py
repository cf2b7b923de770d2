"""What reading and writing a text must know of a form besides its schema."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from visim.isa.registry import Instruction, Schema, schema_of


@dataclass(frozen=True, slots=True)
class Shape:
    """A form's schema, whether a predicate may stand before it, and whether a field has labels."""

    schema: Schema
    is_predicated: bool
    names_labels: bool


@cache
def shape_of(form: type[Instruction]) -> Shape:
    """Return the shape of a form's class."""
    schema = schema_of(form)
    return Shape(
        schema,
        any(entry.name == "pred" for entry in schema.fields),
        any(hasattr(entry.kind, "labels_of") for entry in schema.fields),
    )
