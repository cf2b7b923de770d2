"""The GPUs that unmodified programs can see: what their kernel driver tells of them.

Owns identity, topology, memory and clocks, from which the tables of the C library are generated.
Numbers are those of products on the market (Intel's public lists of PCI devices and products, and
the tables of `intel/compute-runtime`).
"""

from __future__ import annotations

from dataclasses import dataclass

from visim.target import Platform, platform

GIB = 1 << 30
RENDER, COPY, COMPUTE = 0, 1, 4
"""Classes of engines in the kernel's interface."""

MASK_BYTES = 16
_SIMD8_EU, _SIMD16_EU = 4, 5
_CRYSTAL_HZ = 19_200_000


@dataclass(frozen=True, slots=True)
class Model:
    """A GPU as the kernel describes it to a driver.

    `name` is that of the device family whose vISA it runs; what all GPUs of a family share is in
    `visim.devices`. `slices` times `subslices` times `eus` are its execution units. `slm_kib` is
    the shared local memory of a subslice. `vram_bytes` 0 is a GPU that shares the host's memory.
    """

    name: str
    product: str
    device_id: int
    revision: int
    ip: tuple[int, int, int]
    slices: int
    subslices: int
    eus: int
    slm_kib: int
    l3_banks: int
    l3_bank_kib: int
    clock_hz: int
    max_mhz: int
    vram_bytes: int
    system_bytes: int = 16 * GIB
    engines: tuple[int, ...] = (RENDER, COPY, COMPUTE)

    @property
    def family(self) -> Platform:
        """The device family."""
        return platform(self.name)

    @property
    def hardware_threads(self) -> int:
        """How many hardware threads the whole GPU has."""
        return self.slices * self.subslices * self.eus * self.family.threads

    @property
    def eu_type(self) -> int:
        """The kind of mask that says which execution units there are."""
        return _SIMD16_EU if self.family.grf_bytes == 64 else _SIMD8_EU

    @property
    def hwconfig(self) -> tuple[int, ...]:
        """The table of (key, words, value) that the GPU's firmware gives to drivers."""
        values = {
            1: self.slices,
            70: self.subslices * self.slices,
            71: self.eus,
            15: self.family.threads,
            64: self.l3_bank_kib,
            73: self.slm_kib,
        }
        return tuple(word for key, value in values.items() for word in (key, 1, value))


# fmt: off
MODELS = (
    Model("bmg", "Arc B580", 0xE20B, 0, (20, 1, 4),
          slices=5, subslices=4, eus=8, slm_kib=128, l3_banks=9, l3_bank_kib=2048,
          clock_hz=_CRYSTAL_HZ, max_mhz=2850, vram_bytes=12 * GIB),
    Model("lnl", "Arc 140V", 0x64A0, 4, (20, 4, 4),
          slices=2, subslices=4, eus=8, slm_kib=128, l3_banks=4, l3_bank_kib=2048,
          clock_hz=_CRYSTAL_HZ, max_mhz=2050, vram_bytes=0),
    Model("ptl", "Arc B390", 0xB080, 0, (30, 0, 4),
          slices=2, subslices=6, eus=8, slm_kib=128, l3_banks=8, l3_bank_kib=2048,
          clock_hz=_CRYSTAL_HZ, max_mhz=2500, vram_bytes=0),
    Model("pvc", "Data Center GPU Max 1100", 0x0BDA, 0x2F, (12, 60, 7),
          slices=7, subslices=8, eus=8, slm_kib=128, l3_banks=56, l3_bank_kib=2048,
          clock_hz=25_000_000, max_mhz=1550, vram_bytes=48 * GIB, engines=(*[COPY] * 9, COMPUTE)),
    Model("dg2", "Arc A770", 0x56A0, 8, (12, 55, 8),
          slices=8, subslices=4, eus=16, slm_kib=128, l3_banks=32, l3_bank_kib=512,
          clock_hz=_CRYSTAL_HZ, max_mhz=2400, vram_bytes=16 * GIB),
    Model("mtl", "Arc Graphics (Core Ultra 7 155H)", 0x7D55, 4, (12, 71, 4),
          slices=2, subslices=4, eus=16, slm_kib=128, l3_banks=8, l3_bank_kib=512,
          clock_hz=_CRYSTAL_HZ, max_mhz=2250, vram_bytes=0),
    Model("arl", "Arc 140T", 0x7D51, 4, (12, 74, 4),
          slices=2, subslices=4, eus=16, slm_kib=128, l3_banks=8, l3_bank_kib=512,
          clock_hz=_CRYSTAL_HZ, max_mhz=2350, vram_bytes=0),
    Model("tgllp", "Iris Xe (Core i7-1165G7)", 0x9A49, 1, (12, 0, 0),
          slices=1, subslices=6, eus=16, slm_kib=64, l3_banks=8, l3_bank_kib=480,
          clock_hz=_CRYSTAL_HZ, max_mhz=1300, vram_bytes=0, engines=(RENDER, COPY)),
)
# fmt: on
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
        "eu_type": one.eu_type,
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
