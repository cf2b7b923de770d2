"""The arguments of a kernel with metadata, as users see them: names, kinds, sizes, types.

Facts: zebin specification (`kernels_misc_info`); docs/kernel-abi.md, The argument table.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from visim.binary.zebin import ArgInfo, PayloadArgument, ZeKernel
from visim.runtime.arguments.values import Parameter, ParameterKind, ValueType

# fmt: off
_NUMBERS = {
    "char":  "int8",   "uchar":  "uint8",   "unsigned char":  "uint8",  "signed char": "int8",
    "short": "int16",  "ushort": "uint16",  "unsigned short": "uint16",
    "int":   "int32",  "uint":   "uint32",  "unsigned int":   "uint32", "unsigned": "uint32",
    "long":  "int64",  "ulong":  "uint64",  "unsigned long":  "uint64",
    "half":  "float16", "float": "float32", "double": "float64",
    "int8_t":  "int8",  "uint8_t":  "uint8",  "int16_t": "int16", "uint16_t": "uint16",
    "int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
}
# fmt: on
_MEMORY = frozenset({"__global", "__constant"})


def parameters(kernel: ZeKernel) -> tuple[Parameter, ...]:
    """Return the kernel's arguments in order."""
    described = {info.index: info for info in kernel.args_info}
    highest = max([-1, *described, *(entry.arg_index for entry in kernel.payload)])
    return tuple(_parameter(kernel, index, described.get(index)) for index in range(highest + 1))


@cache
def value_type(parameter: Parameter) -> ValueType:
    """Return the type of an argument that is passed by value."""
    size = parameter.size or 0
    name = _NUMBERS.get(parameter.type_name)
    dtype = None if name is None else np.dtype(name)
    if dtype is not None and dtype.itemsize != size:
        dtype = None
    return ValueType(parameter.type_name, size, dtype)


def written(kernel: ZeKernel) -> frozenset[int]:
    """Return the arguments whose memory the kernel writes, as its metadata says."""
    return frozenset(
        entry.arg_index
        for entry in kernel.payload
        if entry.arg_type == "arg_bypointer" and entry.access_type in {"readwrite", "writeonly"}
    )


def _parameter(kernel: ZeKernel, index: int, info: ArgInfo | None) -> Parameter:
    entries = [entry for entry in kernel.payload if entry.arg_index == index]
    name = info.name if info is not None and info.name else f"arg{index}"
    kind = _kind(entries, info)
    written, _, size_text = (info.type_name if info is not None else "").rpartition(";")
    type_name = written or _description(kind, entries)
    match kind:
        case "value":
            size = int(size_text) if size_text.isdecimal() else _extent(entries)
        case "local":
            size = None
        case _:
            size = 8
    return Parameter(name, kind, size, type_name)


def _kind(entries: list[PayloadArgument], info: ArgInfo | None) -> ParameterKind:
    for entry in entries:
        if entry.addrspace in {"image", "sampler"}:
            return "image" if entry.addrspace == "image" else "sampler"
        if entry.arg_type.startswith(("image_", "flat_image_")):
            return "image"
        if entry.addrmode == "slm" or entry.addrspace == "local":
            return "local"
        if entry.arg_type in {"arg_bypointer", "buffer_address", "buffer_offset"}:
            return "buffer"
    return "value" if entries or info is None else _kind_of_unused(info)


def _kind_of_unused(info: ArgInfo) -> ParameterKind:
    """Return the kind of an argument for which the compiler found no use."""
    if info.type_name.startswith("image"):
        return "image"
    if info.type_name.startswith("sampler_t"):
        return "sampler"
    if info.address_qualifier == "__local":
        return "local"
    return "buffer" if info.address_qualifier in _MEMORY else "value"


def _extent(entries: list[PayloadArgument]) -> int:
    return max((max(0, entry.source_offset) + entry.size for entry in entries), default=0)


def _description(kind: ParameterKind, entries: list[PayloadArgument]) -> str:
    """Return what can be said about a type that the file does not name."""
    if kind == "value":
        return f"{_extent(entries)} bytes"
    if kind == "buffer":
        return f"{entries[0].addrspace or 'global'} memory" if entries else "memory"
    return f"{kind} memory" if kind == "local" else kind


def required_local_size(kernel: ZeKernel) -> tuple[int, int, int] | None:
    """Return the local size that the kernel is compiled for, or None where it may be any."""
    stated = kernel.user_attributes.reqd_work_group_size
    size = stated if any(stated) else kernel.execution_env.required_work_group_size
    return size if all(size) else None


def allows_uneven_groups(build_options: str | None) -> bool:
    """Return whether code was compiled so that the last groups may have fewer work-items.

    OpenCL C has that since 2.0. Before, and where options say so, the compiler takes a local size
    that the source requires for that of all groups.
    """
    options = (build_options or "").split()
    standards = [option for option in options if option.startswith("-cl-std=")]
    is_old = not standards or standards[-1].startswith("-cl-std=CL1")
    return not is_old and "-cl-uniform-work-group-size" not in options
