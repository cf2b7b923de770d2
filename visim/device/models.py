"""The GPUs that unmodified programs can see: what their kernel driver tells of them.

Owns identity, topology, memory and clocks, from which the tables of the C library are generated.
Numbers are those of products on the market (Intel's public lists of PCI devices and products, and
the tables of `intel/compute-runtime`).
"""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30
RENDER, COPY, COMPUTE = 0, 1, 4
"""Classes of engines in the kernel's interface."""

MASK_BYTES = 16
_SIMD16_EU = 5


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU as the kernel describes it to a driver.

    `platform` is the device family of visim whose vISA it runs, `generation` that of its command
    streamers. `slices` times `subslices` times `eus` are its execution units, each with `threads`
    hardware threads. `vram_bytes` 0 is a GPU that shares the host's memory.
    """

    name: str
    platform: str
    generation: str
    product: str
    device_id: int
    revision: int
    ip: tuple[int, int, int]
    slices: int
    subslices: int
    eus: int
    threads: int
    slm_kib: int
    l3_banks: int
    l3_bank_kib: int
    clock_hz: int
    max_mhz: int
    vram_bytes: int
    system_bytes: int = 16 * GIB
    engines: tuple[int, ...] = (RENDER, COPY, COMPUTE)

    @property
    def hardware_threads(self) -> int:
        """How many hardware threads the whole GPU has."""
        return self.slices * self.subslices * self.eus * self.threads

    @property
    def hwconfig(self) -> tuple[int, ...]:
        """The table of (key, words, value) that the GPU's firmware gives to drivers."""
        values = {
            1: self.slices,
            70: self.subslices * self.slices,
            71: self.eus,
            15: self.threads,
            64: self.l3_bank_kib,
            73: self.slm_kib,
        }
        return tuple(word for key, value in values.items() for word in (key, 1, value))


MODELS = (
    Model(
        name="bmg",
        platform="bmg",
        generation="xe2",
        product="Arc B580",
        device_id=0xE20B,
        revision=0,
        ip=(20, 1, 4),
        slices=5,
        subslices=4,
        eus=8,
        threads=8,
        slm_kib=128,
        l3_banks=9,
        l3_bank_kib=2048,
        clock_hz=19_200_000,
        max_mhz=2850,
        vram_bytes=12 * GIB,
    ),
)
"""The models, the one that is taken by default first."""

ADDRESS_BITS = 47
"""So wide the GPU's virtual addresses are: what fits below is also an address of a process."""


def model(name: str) -> Model | None:
    """Return the model called `name`, None if there is none."""
    return next((one for one in MODELS if one.name == name), None)


def models_header(models: tuple[Model, ...] = MODELS) -> str:
    """Return the C table of the models, as `device.h` declares it."""
    rows = ",\n".join(_row(one) for one in models)
    return f"static const struct model models[] = {{\n{rows}\n}};\n"


def _row(one: Model) -> str:
    """Return a model as an initializer in C."""
    subslices = one.slices * one.subslices
    fields = {
        "name": f'"{one.name}"',
        "device_id": one.device_id,
        "revision": one.revision,
        "ip_major": one.ip[0],
        "ip_minor": one.ip[1],
        "ip_revision": one.ip[2],
        "vram_bytes": one.vram_bytes,
        "system_bytes": one.system_bytes,
        "clock_hz": one.clock_hz,
        "geometry": _mask(subslices),
        "compute": _mask(subslices),
        "l3": _mask(one.l3_banks),
        "eu": _mask(one.eus),
        "eu_type": _SIMD16_EU,
        "hwconfig": _braced(one.hwconfig),
        "hwconfig_words": len(one.hwconfig),
        "engines": _braced(one.engines),
        "engine_count": len(one.engines),
        "address_bits": ADDRESS_BITS,
    }
    return "    {" + ", ".join(f".{name} = {value}" for name, value in fields.items()) + "}"


def _mask(bits: int) -> str:
    """Return a mask of so many ones as bytes in C."""
    return _braced(((1 << bits) - 1).to_bytes(MASK_BYTES, "little"))


def _braced(values: tuple[int, ...] | bytes) -> str:
    return "{" + ", ".join(str(value) for value in values) + "}"
