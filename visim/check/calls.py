"""The rule for the sizes of arguments and results that calls and functions agree on.

It looks at calls whose function is in the same module: in a file of its own, and again where files
are linked.
"""

from __future__ import annotations

from collections.abc import Iterator

from visim.check.rule import ModuleSite, Rules, Wrong
from visim.isa.flow import FunctionCall, IndirectFunctionCall
from visim.module import Unit

_SIZES = (("ArgSize", "arguments", "of arguments"), ("RetValSize", "returned", "of results"))

rules = Rules()


@rules.module(
    "call-sizes",
    "vISA 4, Kernel, Pre-defined Attributes; vISA 6, FCALL",
    failing='.version 4.1\n.kernel "k"\nfcall (M1, 8) f 2 1\nret (M1, 8)\n'
    '.global_function "f"\n.kernel_attr ArgSize=1\n.kernel_attr RetValSize=1\nfret (M1, 8)\n',
    passing='.version 4.1\n.kernel "k"\nfcall (M1, 8) f 1 1\nret (M1, 8)\n'
    '.global_function "f"\n.kernel_attr ArgSize=1\n.kernel_attr RetValSize=1\nfret (M1, 8)\n',
)
def call_sizes(at: ModuleSite) -> Iterator[Wrong]:
    """A call passes as many registers of arguments as its function takes, and gets as many back.

    A function says so with ArgSize and RetValSize. Those of a function that calls others may count
    what these take and return as well, so that they may be larger than the call's.
    """
    functions = {unit.name: unit for unit in at.module.functions}
    for unit in at.module.units:
        for item in unit.body:
            if isinstance(item, FunctionCall) and item.function in functions:
                yield from _misfits(item, functions[item.function])


def _misfits(call: FunctionCall, function: Unit) -> Iterator[Wrong]:
    for attribute, name, what in _SIZES:
        stated, passed = function.attribute(attribute), getattr(call, name)
        if not isinstance(stated, int) or isinstance(stated, bool):
            continue
        if passed > stated or (passed < stated and not _calls(function)):
            text = f"the call of {function.name} has {passed} registers {what}"
            yield Wrong(f"{text}, the function {stated} ({attribute})", origin=call.origin)


def _calls(function: Unit) -> bool:
    return any(isinstance(item, FunctionCall | IndirectFunctionCall) for item in function.body)
