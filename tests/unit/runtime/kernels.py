"""Kernels for the tests of the runtime: made by hand, so that every byte is known."""

from __future__ import annotations

from visim.binary.zebin import (
    ArgInfo,
    BindingTableIndex,
    ExecutionEnv,
    PayloadArgument,
    PerThreadMemoryBuffer,
    PerThreadPayloadArgument,
    UserAttributes,
    ZeKernel,
)
from visim.diag import Source
from visim.linker import LinkedKernel, link_kernel
from visim.runtime.arguments.parameters import parameters
from visim.runtime.payload import abi
from visim.runtime.payload.geometry import Sizes, nd_range
from visim.runtime.payload.layout import PayloadLayout
from visim.runtime.payload.threads import Tables
from visim.target import platform
from visim.text import read_text

HEADER = (
    PayloadArgument("global_id_offset", 0, 12),
    PayloadArgument("local_size", 12, 12),
)
ENQUEUED = PayloadArgument("enqueued_local_size", 32, 12)


def local_id_bytes(grf: int, simd: int) -> int:
    """Size of the local ids as the compiler lays them out, all three dimensions."""
    return 3 * (32 if grf == 32 and simd <= 16 else 64)


def text_with(inputs, simd=16, attributes=()):
    """vISA text of a kernel with inputs (name, type, elements, offset), which only returns."""
    lines = [".version 4.1", '.kernel "kernel"']
    for name, kind, count, _ in inputs:
        lines.append(f".decl {name} v_type=G type={kind} num_elts={count} align=GRF")
    sizes = {"b": 1, "ub": 1, "w": 2, "uw": 2, "d": 4, "ud": 4, "f": 4, "q": 8, "uq": 8, "df": 8}
    for name, kind, count, offset in inputs:
        lines.append(f".input {name} offset={offset} size={count * sizes[kind]}")
    lines += [f".kernel_attr SimdSize={simd}", *attributes, '.function "main_0"', "", "main_0:"]
    return "\n".join([*lines, "    ret (M1, 1)", ""])


def linked(text: str, device: str) -> LinkedKernel:
    module = read_text(Source("kernel.visaasm", text))
    return link_kernel(module, module.kernels[0], platform(device))


class ZeBuilder:
    """A kernel with metadata, put together from its parts."""

    def __init__(self, device="pvc", simd=16, *, ids=True, payload=HEADER, inputs=(), **more):
        self.device = device
        grf = platform(device).grf_bytes
        size = local_id_bytes(grf, simd)
        environment = {"grf_count": 128, "simd_size": simd} | more.pop("environment", {})
        self.kernel = ZeKernel(
            name="k",
            visaasm="",
            execution_env=ExecutionEnv(**environment),
            payload=tuple(payload),
            per_thread_payload=(PerThreadPayloadArgument("local_id", 0, size),) if ids else (),
            binding_table=tuple(more.pop("binding_table", ())),
            inline_samplers=tuple(more.pop("inline_samplers", ())),
            per_thread_memory=tuple(more.pop("per_thread_memory", ())),
            user_attributes=more.pop("user_attributes", UserAttributes()),
            args_info=tuple(more.pop("args_info", ())),
        )
        assert not more
        self.linked = linked(text_with(inputs, simd), device)

    def plan(self, given=(), *, surfaces=None, segments=None, **sizes):
        """Prepare a launch."""
        abi.check_supported(self.kernel)
        layout = PayloadLayout(self.kernel, self.linked)
        extent = nd_range(Sizes(**sizes), None)
        described = parameters(self.kernel)
        return abi.prepare(
            layout, described, list(given), extent, Tables(surfaces or {}, {}), segments
        )


def register(kernel: LinkedKernel, start, name: str) -> bytes:
    """What the variable `name` holds when a thread starts as `start` says."""
    unit = kernel.units[0]
    variable = next(v for v in unit.unit.generals if v.name == name)
    return image_bytes(start, kernel.offset(unit, variable), variable.bytes)


def predefined(kernel: LinkedKernel, start, index: int, size: int) -> bytes:
    """What the predefined variable V`index` holds when a thread starts."""
    return image_bytes(start, kernel.predefined[index], size)


def image_bytes(start, offset: int, size: int) -> bytes:
    image = bytearray(1 << 16)
    for place, data in start.registers:
        image[place : place + len(data)] = data
    return bytes(image[offset : offset + size])


__all__ = [
    "ENQUEUED",
    "HEADER",
    "ArgInfo",
    "BindingTableIndex",
    "PayloadArgument",
    "PerThreadMemoryBuffer",
    "ZeBuilder",
    "image_bytes",
    "linked",
    "predefined",
    "register",
    "text_with",
]


def start_of(plan, group=0, thread=0, part=0):
    """How a thread of a group starts."""
    return plan.parts[part].dispatch.start(group, thread)


def table(payload, given=(), *, device="pvc", args_info=(), size=64, **sizes):
    """The argument table behind the header, as a thread finds it."""
    base = 256 if device == "pvc" else 128
    built = ZeBuilder(
        device, payload=(*HEADER, *payload), inputs=[("t", "ub", size, base)], args_info=args_info
    )
    sizes = sizes or {"global_size": 16}
    return register(built.linked, start_of(built.plan(given, **sizes)), "t")
