"""Rules for what a unit declares: variables, inputs, attributes (specification 4)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

from visim.attributes import KERNEL_ATTRIBUTES
from visim.check.rule import ModuleSite, Rules, UnitSite, Wrong
from visim.diag import Severity
from visim.isa.forms import LabelMark, SubroutineMark
from visim.lex import nearest
from visim.module import Input, UnitKind
from visim.operands import Attribute, General
from visim.predefined import GENERALS, elements
from visim.target import PLATFORMS, Generation

MOST_KERNELS = 512
MOST_INPUTS = 256
MOST_ELEMENTS = 4096
LONGEST_KERNEL_NAME = 1023
LONGEST_VARIABLE_NAME = 64
LONGEST_LABEL = 1024
LONGEST_PATH = 256
TABLES = ("generals", "addresses", "predicates", "samplers", "surfaces")
PREDICATE_SIZES = (1, 2, 4, 8, 16, 32)
MOST_ADDRESSES, MOST_ADDRESSES_OF_XE3P = 16, 32
_ALIASABLE = {"%arg", "%retval", "%r0", "%impl_arg_buf_ptr", "%local_id_buf_ptr"}
_COMPILERS_ALIASED = frozenset({"%null", "%sp", "%fp", "%hw_id", "%scratchloc"})
_ALIASED = _ALIASABLE | _COMPILERS_ALIASED
_INPUTS = "vISA 4, Input Variables"
_ATTRIBUTES = "vISA 4, Kernel, Pre-defined Attributes"
_SMALLEST_REGISTER = 32
_SCOPES = (0, 1)

rules = Rules()


@rules.module(
    "too-many-kernels",
    "vISA 4, Virtual ISA Header",
    severity=Severity.NOTE,
    failing="".join(
        [".version 4.1\n", *(f'.kernel "k{n}"\nret (M1, 1)\n' for n in range(MOST_KERNELS + 1))]
    ),
    passing='.version 4.1\n.kernel "a"\nret (M1, 1)\n.kernel "b"\nret (M1, 1)\n',
)
def number_of_kernels(at: ModuleSite) -> Iterator[Wrong]:
    """An object has at most 512 kernels. Programs that compilers make can have more."""
    count = len(at.module.kernels)
    if count > MOST_KERNELS:
        yield Wrong(f"the object has {count} kernels, at most {MOST_KERNELS} are possible")


@rules.unit(
    "name-length",
    "vISA 4, Kernel",
    severity=Severity.NOTE,
    failing=f'.version 4.1\n.kernel "{"k" * 1024}"\nret (M1, 1)\n',
    passing=f'.version 4.1\n.kernel "{"k" * 1023}"\nret (M1, 1)\n',
)
def unit_name(at: UnitSite) -> Iterator[Wrong]:
    """The name of a kernel or function has at most 1023 characters.

    Names that C++ compilers make of templates are longer, and Intel's tools take them.
    """
    length = len(at.unit.name)
    if length > LONGEST_KERNEL_NAME:
        yield Wrong(f"a name of {length} characters, more than {LONGEST_KERNEL_NAME}")


@rules.unit(
    "variable-name-length",
    "vISA 4, General Variables",
    severity=Severity.NOTE,
    failing=f".decl {'V' * 65} v_type=P num_elts=8\nret (M1, 1)",
    passing=f".decl {'V' * 64} v_type=P num_elts=8\nret (M1, 1)",
)
def variable_names(at: UnitSite) -> Iterator[Wrong]:
    """The name of a variable has at most 64 characters, that of a label 1024.

    Both serve debugging only.
    """
    for variable in _variables(at):
        length = len(variable.name)
        if length > LONGEST_VARIABLE_NAME:
            text = f"a variable's name of {length} characters, at most {LONGEST_VARIABLE_NAME}"
            yield Wrong(text, origin=variable.origin)
    for item in at.unit.body:
        if isinstance(item, LabelMark | SubroutineMark) and len(item.name) > LONGEST_LABEL:
            text = f"a label of {len(item.name)} characters, at most {LONGEST_LABEL}"
            yield Wrong(text, origin=item.origin)


@rules.unit(
    "variable-size",
    "vISA 4, General Variables",
    failing=".decl X v_type=G type=ub num_elts=4097 align=GRF\nret (M1, 1)",
    passing=".decl X v_type=G type=ub num_elts=4096 align=GRF\nret (M1, 1)",
)
def general_sizes(at: UnitSite) -> Iterator[Wrong]:
    """A general variable has 1 to 4096 elements, and fits in 128 registers."""
    most = _file_bytes(at) // 2
    for variable in at.unit.generals:
        if not 1 <= variable.count <= MOST_ELEMENTS:
            text = f"{variable.name} has {variable.count} elements, not 1 to {MOST_ELEMENTS}"
            yield Wrong(text, origin=variable.origin)
        elif variable.bytes > most:
            text = f"{variable.name} has {variable.bytes} bytes, 128 registers {most}"
            yield Wrong(text, origin=variable.origin)


@rules.unit(
    "variable-type",
    "vISA 4, General Variables",
    failing=".decl X v_type=G type=v num_elts=8\nret (M1, 1)",
    passing=".decl X v_type=G type=w num_elts=8\nret (M1, 1)",
)
def general_types(at: UnitSite) -> Iterator[Wrong]:
    """A general variable has integers or floats: packed vectors are constants only."""
    for variable in at.unit.generals:
        if not (variable.type.is_integer or variable.type.is_float):
            text = f"{variable.name} has the type {variable.type!r}"
            yield Wrong(text, origin=variable.origin)


@rules.unit(
    "predicate-count",
    "vISA 4, Predicate Variables",
    failing=".decl X v_type=P num_elts=3\nret (M1, 1)",
    passing=".decl X v_type=P num_elts=4\nret (M1, 1)",
)
def predicate_sizes(at: UnitSite) -> Iterator[Wrong]:
    """A predicate variable has 1, 2, 4, 8, 16 or 32 elements."""
    for variable in at.unit.predicates:
        if variable.count not in PREDICATE_SIZES:
            text = f"{variable.name} has {variable.count} elements, not 1, 2, 4, 8, 16 or 32"
            yield Wrong(text, origin=variable.origin)


@rules.unit(
    "address-count",
    "vISA 4, Address Variables",
    platform="pvc",
    failing=".decl X v_type=A num_elts=17\nret (M1, 1)",
    passing=".decl X v_type=A num_elts=16\nret (M1, 1)",
)
def address_sizes(at: UnitSite) -> Iterator[Wrong]:
    """An address variable has 1 to 16 elements, or 32 on cri, whose compilers write so many."""
    is_wide = at.platform is None or at.platform.generation >= Generation.XE3P
    most = MOST_ADDRESSES_OF_XE3P if is_wide else MOST_ADDRESSES
    for variable in at.unit.addresses:
        if not 1 <= variable.count <= most:
            text = f"{variable.name} has {variable.count} elements, not 1 to {most}"
            yield Wrong(text, origin=variable.origin)


@rules.unit(
    "alias-beyond-base",
    "vISA 4, General Variables",
    failing=".decl X v_type=G type=d num_elts=16 alias=<D, 224>\nret (M1, 1)",
    passing=".decl X v_type=G type=d num_elts=8 alias=<D, 224>\nret (M1, 1)",
)
def alias_inside(at: UnitSite) -> Iterator[Wrong]:
    """An alias lies inside the variable that it names a part of; %null has no end."""
    for variable in at.unit.generals:
        if variable.alias is None or variable.alias.base == GENERALS[0]:
            continue
        end, base = variable.alias.offset + variable.bytes, variable.alias.base
        if end > _bytes_of(base, at):
            text = f"{variable.name} ends at byte {end} of {base.name}"
            yield Wrong(f"{text}, which has {_bytes_of(base, at)}", origin=variable.origin)


def _bytes_of(base: General, at: UnitSite) -> int:
    if not base.is_predefined:
        return base.bytes
    grf = at.platform.grf_bytes if at.platform else PLATFORMS[-1].grf_bytes
    return elements(base, grf) * base.type.bytes


@rules.unit(
    "alias-unaligned",
    "vISA 4, General Variables",
    failing=".decl X v_type=G type=d num_elts=1 alias=<D, 2>\nret (M1, 1)",
    passing=".decl X v_type=G type=w num_elts=1 alias=<D, 2>\nret (M1, 1)",
)
def alias_aligned(at: UnitSite) -> Iterator[Wrong]:
    """The byte offset of an alias is a multiple of its element's size."""
    for variable in at.unit.generals:
        if variable.alias is not None and variable.alias.offset % variable.type.bytes:
            text = f"{variable.name} starts at byte {variable.alias.offset}"
            size = variable.type.bytes
            yield Wrong(f"{text}, not at a multiple of {size}", origin=variable.origin)


@rules.unit(
    "alias-of-predefined",
    "vISA 4, General Variables",
    severity=Severity.NOTE,
    failing=".decl X v_type=G type=ud num_elts=1 alias=<V12, 0>\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=1 alias=<V8, 0>\nret (M1, 1)",
)
def alias_of_predefined(at: UnitSite) -> Iterator[Wrong]:
    """Of the predefined variables, only %r0, %arg, %retval and the pointers have aliases.

    Compilers alias %null, %sp, %fp, %hw_id and %scratchloc too.
    """
    for variable in at.unit.generals:
        base = variable.alias.base if variable.alias else None
        if base is not None and base.name in _COMPILERS_ALIASED and base.is_predefined:
            yield Wrong(f"{base.name} cannot be aliased", origin=variable.origin)


@rules.unit(
    "alias-forbidden",
    "vISA 4, General Variables",
    failing=".decl X v_type=G type=ud num_elts=1 alias=<V3, 0>\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=1 alias=<V7, 4>\nret (M1, 1)",
)
def alias_forbidden(at: UnitSite) -> Iterator[Wrong]:
    """Predefined variables that neither the page nor a compiler aliases have no alias."""
    for variable in at.unit.generals:
        base = variable.alias.base if variable.alias else None
        if base is not None and base.is_predefined and base.name not in _ALIASED:
            yield Wrong(f"{base.name} cannot be aliased", origin=variable.origin)


@rules.unit(
    "too-many-inputs",
    _INPUTS,
    severity=Severity.NOTE,
    failing="\n".join(
        f".decl X{n} v_type=G type=ub num_elts=1\n.input X{n} offset={64 + n} size=1"
        for n in range(MOST_INPUTS + 1)
    )
    + "\nret (M1, 1)",
    passing=".input D offset=64 size=256\nret (M1, 1)",
)
def number_of_inputs(at: UnitSite) -> Iterator[Wrong]:
    """A kernel has at most 256 inputs.

    Compilers write one for every four bytes of an argument that is a large struct, and so more.
    """
    count = len(at.unit.inputs)
    if count > MOST_INPUTS:
        yield Wrong(f"{count} inputs, the specification has at most {MOST_INPUTS}")


@rules.unit(
    "input-overlap",
    _INPUTS,
    failing=".input D offset=64 size=256\n.input F offset=288 size=256\nret (M1, 1)",
    passing=".input D offset=64 size=256\n.input F offset=320 size=256\nret (M1, 1)",
)
def inputs_apart(at: UnitSite) -> Iterator[Wrong]:
    """Inputs do not overlap in the register file."""
    placed = sorted((entry for entry in _placed(at) if entry.size), key=lambda one: one.offset)
    for before, after in pairwise(placed):
        if before.offset + before.size > after.offset:
            text = f"input {after.variable.name} overlaps input {before.variable.name}"
            yield Wrong(text, origin=after.origin)


@rules.unit(
    "input-size",
    _INPUTS,
    failing=".input D offset=64 size=32\nret (M1, 1)",
    passing=".input D offset=64 size=256\nret (M1, 1)",
)
def input_size(at: UnitSite) -> Iterator[Wrong]:
    """The size of an input is the size of its variable."""
    for entry in _placed(at):
        wanted = _variable_bytes(entry)
        if entry.size != wanted:
            text = f"input {entry.variable.name} has size {entry.size}, its variable {wanted}"
            yield Wrong(text, origin=entry.origin)


@rules.unit(
    "input-crosses-register",
    _INPUTS,
    platform="skl",
    failing=".decl X v_type=G type=ud num_elts=3\n.input X offset=88 size=12\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=3\n.input X offset=84 size=12\nret (M1, 1)",
)
def inputs_in_registers(at: UnitSite) -> Iterator[Wrong]:
    """An input smaller than a register lies in one register."""
    if at.platform is None:
        return
    grf = at.platform.grf_bytes
    for entry in _general_inputs(at):
        crosses = entry.offset // grf != (entry.offset + entry.size - 1) // grf
        if 0 < entry.size < grf and crosses:
            last = entry.offset + entry.size - 1
            text = f"input {entry.variable.name} covers bytes {entry.offset} to {last}"
            yield Wrong(f"{text}, across registers of {grf} bytes", origin=entry.origin)


@rules.unit(
    "input-unaligned",
    _INPUTS,
    failing=".decl X v_type=G type=ud num_elts=1\n.input X offset=66 size=4\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=1\n.input X offset=68 size=4\nret (M1, 1)",
)
def input_alignment(at: UnitSite) -> Iterator[Wrong]:
    """An input starts at a multiple of its element's size; sampler and surface inputs at one of 4.

    An input that fills a register or more starts at a register.
    """
    grf = at.platform.grf_bytes if at.platform else _SMALLEST_REGISTER
    for entry in _placed(at):
        variable = entry.variable
        unit = variable.type.bytes if isinstance(variable, General) else 4
        is_whole = isinstance(variable, General) and at.platform and entry.size >= grf
        wanted = grf if is_whole else unit
        if entry.offset % wanted:
            text = f"input {variable.name} starts at byte {entry.offset}"
            yield Wrong(f"{text}, not at a multiple of {wanted}", origin=entry.origin)


@rules.unit(
    "input-beyond-registers",
    _INPUTS,
    failing=".decl X v_type=G type=ud num_elts=1\n.input X offset=32764 size=4\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=1\n.input X offset=1020 size=4\nret (M1, 1)",
)
def inputs_fit(at: UnitSite) -> Iterator[Wrong]:
    """Inputs lie in the register file, which has at most 256 registers."""
    for entry in _placed(at):
        end = entry.offset + entry.size
        if end > _file_bytes(at):
            text = f"input {entry.variable.name} ends at byte {end}"
            yield Wrong(f"{text}, the register file at {_file_bytes(at)}", origin=entry.origin)


def _file_bytes(at: UnitSite) -> int:
    return 256 * (at.platform.grf_bytes if at.platform else PLATFORMS[-1].grf_bytes)


@rules.unit(
    "input-alias",
    _INPUTS,
    severity=Severity.WARNING,
    failing=".decl X v_type=G type=ud num_elts=1 alias=<D, 0>\n"
    ".input X offset=64 size=4\nret (M1, 1)",
    passing=".input D offset=64 size=256\nret (M1, 1)",
)
def input_is_no_alias(at: UnitSite) -> Iterator[Wrong]:
    """An input has storage of its own: it is not declared as an alias."""
    for entry in _general_inputs(at):
        if isinstance(entry.variable, General) and entry.variable.alias is not None:
            text = f"input {entry.variable.name} is an alias of {entry.variable.alias.base.name}"
            yield Wrong(text, origin=entry.origin)


@rules.unit(
    "input-order",
    _INPUTS,
    severity=Severity.WARNING,
    failing=".decl X v_type=G type=ud num_elts=3\n.implicit_LOCAL_ID X offset=64 size=12\n"
    ".input D offset=128 size=256\nret (M1, 1)",
    passing=".decl X v_type=G type=ud num_elts=3\n.input D offset=128 size=256\n"
    ".implicit_LOCAL_ID X offset=64 size=12\nret (M1, 1)",
)
def explicit_first(at: UnitSite) -> Iterator[Wrong]:
    """The arguments of the user come before implicit inputs in the table."""
    seen: Input | None = None
    for entry in _placed(at):
        if entry.is_implicit:
            seen = entry
        elif seen is not None:
            text = f"input {entry.variable.name} comes after implicit {seen.variable.name}"
            yield Wrong(text, origin=entry.origin)


_ATTRIBUTE_VALUES: dict[str, tuple[str, Sequence[int]]] = {
    "SimdSize": ("1, 8, 16 or 32", (1, 8, 16, 32)),
    "ArgSize": ("0 to 32 registers", range(33)),
    "RetValSize": ("0 to 12 registers", range(13)),
}


@rules.unit(
    "attribute-value",
    _ATTRIBUTES,
    failing=".kernel_attr SimdSize=12\nret (M1, 1)",
    passing=".kernel_attr SimdSize=16\nret (M1, 1)",
)
def attribute_values(at: UnitSite) -> Iterator[Wrong]:
    """Attributes have values that mean something.

    SimdSize is 8, 16 or 32 (1 in programs of explicit vectors), SLMSize at most 64 KiB (128 on
    pvc), ArgSize at most 32 and RetValSize at most 12 registers; SpillMemOffset is a multiple of a
    register's size. OutputAsmPath has at most 256 characters. Of a variable, Scope is 0 or 1.
    """
    for attribute in at.unit.attributes:
        legal = _ATTRIBUTE_VALUES.get(attribute.name)
        value = attribute.value
        if legal is not None and isinstance(value, int) and value not in legal[1]:
            yield Wrong(f"{attribute.name} is {value}, not {legal[0]}", origin=attribute.origin)
        elif attribute.name == "SLMSize":
            yield from _local_size(attribute, at)
        elif attribute.name == "SpillMemOffset":
            yield from _spill_offset(attribute, at)
        elif isinstance(value, str) and len(value) > LONGEST_PATH:
            text = f"{attribute.name} has {len(value)} characters, at most {LONGEST_PATH}"
            yield Wrong(text, origin=attribute.origin)
    yield from _scopes(at)


@rules.unit(
    "unknown-attribute",
    "vISA 4, Attributes",
    severity=Severity.WARNING,
    failing=".kernel_attr SimdSise=16\nret (M1, 1)",
    passing=".kernel_attr SimdSize=16\nret (M1, 1)",
)
def known_attributes(at: UnitSite) -> Iterator[Wrong]:
    """A kernel's attribute is one that Intel's finalizer knows: it ignores others silently."""
    for attribute in at.unit.attributes:
        if attribute.name not in KERNEL_ATTRIBUTES:
            guess = nearest(attribute.name, KERNEL_ATTRIBUTES)
            hint = f"did you mean {guess!r}?" if guess else None
            yield Wrong(f"unknown attribute {attribute.name!r}", hint, attribute.origin)


def _scopes(at: UnitSite) -> Iterator[Wrong]:
    for variable in _variables(at):
        for attribute in variable.attributes:
            if attribute.name == "Scope" and attribute.value not in _SCOPES:
                text = f"Scope of {variable.name} is {attribute.value}, not 0 or 1"
                yield Wrong(text, origin=variable.origin)


def _local_size(attribute: Attribute, at: UnitSite) -> Iterator[Wrong]:
    most = at.platform.slm_kib if at.platform else max(one.slm_kib for one in PLATFORMS)
    if isinstance(attribute.value, int) and not 0 <= attribute.value <= most:
        text = f"SLMSize is {attribute.value}, not 0 to {most} KiB"
        yield Wrong(text, origin=attribute.origin)


def _spill_offset(attribute: Attribute, at: UnitSite) -> Iterator[Wrong]:
    grf = at.platform.grf_bytes if at.platform else _SMALLEST_REGISTER
    if isinstance(attribute.value, int) and attribute.value % grf:
        text = f"SpillMemOffset is {attribute.value}, not a multiple of {grf}"
        yield Wrong(text, origin=attribute.origin)


def _variables(at: UnitSite) -> Iterator[Any]:
    for table in TABLES:
        yield from getattr(at.unit, table)


def _placed(at: UnitSite) -> list[Input]:
    """Return the inputs that have a place: parameters of functions have none."""
    return [entry for entry in at.unit.inputs if at.unit.kind is UnitKind.KERNEL]


def _general_inputs(at: UnitSite) -> Iterator[Input]:
    return (entry for entry in _placed(at) if isinstance(entry.variable, General))


def _variable_bytes(entry: Input) -> int:
    variable = entry.variable
    return variable.bytes if isinstance(variable, General) else 4 * variable.count
