"""The `.ze_info` text of a zebin: what a driver must know to launch each kernel.

The records below are the declaration: a field's name is the key in the file, its annotation the
type that is required, its default what a missing key means (no default: the key is required).
Keys that are not declared are ignored, so that files of newer compilers can be read; values of
`str` keys are kept as they are, for the launcher to refuse what it does not know.

Facts: zebin specification, zeinfo.md; docs/kernel-abi.md.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

from visim.binary.yamltree import Place, Record, Triple, parse

_MAX_PAYLOAD_BYTES = 1 << 16
_SIMD_SIZES = (1, 8, 16, 32)


@dataclass(frozen=True, slots=True)
class ExecutionEnv:
    """What a kernel needs from the machine. Sizes are in bytes, dimensions in order x, y, z."""

    grf_count: int
    simd_size: int
    barrier_count: int = 0
    disable_mid_thread_preemption: bool = False
    eu_thread_count: int = 0
    generate_local_id: bool = False
    has_4gb_buffers: bool = False
    has_device_enqueue: bool = False
    has_dpas: bool = False
    has_fence_for_image_access: bool = False
    has_global_atomics: bool = False
    has_indirect_calls: bool = False
    has_multi_scratch_spaces: bool = False
    has_no_stateless_write: bool = False
    has_printf_calls: bool = False
    has_stack_calls: bool = False
    indirect_stateless_count: int = 0
    inline_data_payload_size: int = 0
    offset_to_skip_per_thread_data_load: int = 0
    offset_to_skip_set_ffid_gp: int = 0
    private_size: int = 0
    require_assert_buffer: bool = False
    require_disable_eufusion: bool = False
    require_iab: bool = False
    require_sync_buffer: bool = False
    required_sub_group_size: int = 0
    required_work_group_size: Triple = (0, 0, 0)
    slm_alloc_mode: int = 0
    slm_size: int = 0
    spill_size: int = 0
    subgroup_independent_forward_progress: bool = False
    thread_scheduling_mode: str | None = None
    work_group_walk_order_dimensions: Triple = (0, 1, 2)


@dataclass(frozen=True, slots=True)
class UserAttributes:
    """Attributes that the kernel's author wrote; zeros and None where not written."""

    intel_reqd_sub_group_size: int = 0
    intel_reqd_workgroup_walk_order: Triple = (0, 0, 0)
    invalid_kernel: str | None = None
    reqd_work_group_size: Triple = (0, 0, 0)
    vec_type_hint: str | None = None
    work_group_size_hint: Triple = (0, 0, 0)


@dataclass(frozen=True, slots=True)
class PayloadArgument:
    """One piece of cross-thread data: `size` bytes at `offset` of that data.

    `arg_index` is the explicit argument that it belongs to, -1 if none; `source_offset` where in
    that argument's bytes it begins, -1 if not said. Size 0 describes an argument (a surface, a
    sampler) that takes no bytes.
    """

    arg_type: str
    offset: int
    size: int
    arg_index: int = -1
    addrmode: str | None = None
    addrspace: str | None = None
    access_type: str | None = None
    sampler_index: int = -1
    source_offset: int = -1
    slm_alignment: int = 0
    image_type: str | None = None
    image_transformable: bool = False
    sampler_type: str | None = None
    is_pipe: bool = False
    is_ptr: bool = False
    bti_value: int = -1


@dataclass(frozen=True, slots=True)
class PerThreadPayloadArgument:
    """One piece of per-thread data: `size` bytes at `offset` of that data."""

    arg_type: str
    offset: int
    size: int


@dataclass(frozen=True, slots=True)
class BindingTableIndex:
    """The binding table index through which a kernel reaches an explicit argument."""

    bti_value: int
    arg_index: int


@dataclass(frozen=True, slots=True)
class PerThreadMemoryBuffer:
    """Memory that each thread needs: `size` bytes per hardware thread, or per channel."""

    type: str
    usage: str
    size: int
    slot: int = 0
    is_simt_thread: bool = False


@dataclass(frozen=True, slots=True)
class InlineSampler:
    """A sampler that is declared inside the program."""

    sampler_index: int
    addrmode: str
    filtermode: str
    normalized: bool = False


@dataclass(frozen=True, slots=True)
class ArgInfo:
    """An explicit argument as its author wrote it; `type_name` is `int*;8`: type and bytes."""

    index: int
    address_qualifier: str
    access_qualifier: str
    type_name: str
    type_qualifiers: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class KernelInfo:
    """Everything that `.ze_info` says about one kernel."""

    name: str
    execution_env: ExecutionEnv
    user_attributes: UserAttributes
    payload_arguments: tuple[PayloadArgument, ...]
    per_thread_payload_arguments: tuple[PerThreadPayloadArgument, ...]
    binding_table_indices: tuple[BindingTableIndex, ...]
    inline_samplers: tuple[InlineSampler, ...]
    per_thread_memory_buffers: tuple[PerThreadMemoryBuffer, ...]
    args_info: tuple[ArgInfo, ...]


@dataclass(frozen=True, slots=True)
class FunctionInfo:
    """Everything that `.ze_info` says about one function that others may call."""

    name: str
    execution_env: ExecutionEnv


@dataclass(frozen=True, slots=True)
class ZeInfo:
    """A whole `.ze_info`: its version (`1.20`), kernels and functions in file order."""

    version: str
    kernels: tuple[KernelInfo, ...] = ()
    functions: tuple[FunctionInfo, ...] = ()


Placed = TypeVar("Placed", PayloadArgument, PerThreadPayloadArgument)


def read_ze_info(data: bytes, file: str, offset: int = 0) -> ZeInfo:
    """Read the bytes of a `.ze_info` section.

    Args:
        data: The section's bytes.
        file: The file's name for messages.
        offset: Where the section begins in the file, for messages.

    Raises:
        InputError: It is not YAML of the expected shape; the message names key and kernel.
    """
    place = Place(file, offset)
    root = Record(parse(data, place), ".ze_info", place)
    version = root.text("version")
    if version.split(".")[0] != "1":
        raise root.error(f"`version` is {version[:20]!r}, only 1.x is known", "version")
    arguments = {
        entry.text("name"): entry.build_all("args_info", ArgInfo)
        for entry in root.records("kernels_misc_info", "kernels_misc_info")
    }
    kernels: dict[str, KernelInfo] = {}
    for entry in root.records("kernels", "kernel"):
        name = entry.text("name")
        if name in kernels:
            raise entry.error("there are two kernels of this name", "name")
        kernels[name] = _kernel(entry, name, arguments.get(name, ()))
    functions = tuple(
        FunctionInfo(entry.text("name"), _environment(entry))
        for entry in root.records("functions", "function")
    )
    return ZeInfo(version, tuple(kernels.values()), functions)


def _kernel(entry: Record, name: str, arguments: Iterable[ArgInfo]) -> KernelInfo:
    return KernelInfo(
        name=name,
        execution_env=_environment(entry),
        user_attributes=entry.record("user_attributes").build(UserAttributes),
        payload_arguments=_placed(entry, "payload_arguments", PayloadArgument),
        per_thread_payload_arguments=_placed(
            entry, "per_thread_payload_arguments", PerThreadPayloadArgument
        ),
        binding_table_indices=entry.build_all("binding_table_indices", BindingTableIndex),
        inline_samplers=entry.build_all("inline_samplers", InlineSampler),
        per_thread_memory_buffers=entry.build_all(
            "per_thread_memory_buffers", PerThreadMemoryBuffer
        ),
        args_info=tuple(sorted(arguments, key=lambda argument: argument.index)),
    )


def _environment(entry: Record) -> ExecutionEnv:
    if "execution_env" not in entry.nodes:
        raise entry.error("the required key `execution_env` is missing")
    record = entry.record("execution_env")
    environment = record.build(ExecutionEnv)
    if environment.simd_size not in _SIMD_SIZES:
        message = f"`simd_size` is {environment.simd_size}, one of 1, 8, 16, 32 is expected"
        raise record.error(message, "simd_size")
    return environment


def _placed(entry: Record, key: str, kind: type[Placed]) -> tuple[Placed, ...]:
    """Read arguments that have a place in the thread's payload, and check that place."""
    found: list[Placed] = []
    for record in entry.records(key):
        argument = record.build(kind)
        if argument.offset + argument.size > _MAX_PAYLOAD_BYTES:
            end = argument.offset + argument.size
            message = f"`size` reaches byte {end}, the payload has at most {_MAX_PAYLOAD_BYTES}"
            raise record.error(message, "size")
        found.append(argument)
    return tuple(found)
