"""Products of bytes, in chains of which each adds to the one before, as matrices have them."""

from __future__ import annotations

from dataclasses import dataclass, field

from visim.engine.jit.ir.products import Host, ProductWriter, Signs
from visim.engine.jit.ir.text import Text
from visim.engine.jit.ir.weaving import Weaver
from visim.engine.jit.writing.functions import ModuleFrame
from visim.engine.jit.writing.operands import Operands
from visim.engine.jit.writing.taking import LaneTaker
from visim.sem.expr import Expr


@dataclass
class DotWriter:
    """Writes the micro-operation `dot` for one instruction."""

    module: ModuleFrame
    text: Text
    taker: LaneTaker
    _vectors: dict[Expr, str] = field(default_factory=dict[Expr, str])

    def write(self, values: Operands, expr: Expr) -> str:
        """Return a sum of products; those that it adds to are written together with it."""
        signs, chain, total = _signs(expr), [expr], expr.args[2]
        while total.uop.name == "dot" and _signs(total) == signs:
            chain.append(total)
            total = total.args[2]
        version = self.module.version
        library = self.module.library
        has_words = library.machine.has_word_products
        host = Host(version.vector_lanes or 4, version.has_byte_products, has_words)
        writer = ProductWriter(self.text, library, host, expr.lanes, signs)
        terms = [
            (self._left(values, writer, one.args[0]), values.value(one.args[1]))
            for one in reversed(chain)
        ]
        return writer.add(values.value(total), terms)

    def _left(self, values: Operands, writer: ProductWriter, a: Expr) -> list[str]:
        """Return the forms of a left factor; lanes are taken of the forms of their source."""
        if a.uop.name != "take":
            return writer.left(a.lanes, values.value(a))
        source = a.args[0]
        if source not in self._vectors:
            forms = writer.left(source.lanes, values.value(source))
            self._vectors[source] = Weaver(self.text).joined(forms, source.lanes, "i32")
        whole, count = self._vectors[source], 2 if writer.by_words else 1
        picks = ([pick + form * source.lanes for pick in a.attribute] for form in range(count))
        lanes = count * source.lanes
        return [self.taker.taken(source, "i32", lanes, whole, each) for each in picks]


def _signs(expr: Expr) -> Signs:
    return Signs(*(arg.type.is_signed for arg in expr.args[:2]))


__all__ = ["DotWriter"]
