"""Texel formats: what the bytes of a texel mean, and conversion in both directions.

A format is a channel order and a channel type, named as in OpenCL: `rgba:unorm8`. Kernels see a
texel as four 32-bit components R, G, B, A: bits of single-precision floats for the normalised and
floating-point types, integers for the others. Knows neither images nor samplers.

Follows OpenCL C 3.0, Image channel order, Image channel data type, and Conversion rules for
normalised integer, half, float and integer channel data types; SCATTER4_TYPED (type conversion).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import Any

import numpy as np
from numpy.typing import NDArray

from visim.errors import ArgumentError
from visim.forks import RenewedProperty
from visim.lex import nearest

Bits = NDArray[np.uint32]
"""Components R, G, B, A of texels: shape (n, 4)."""

_ONE_FLOAT = 0x3F800000
_COMPONENTS = "RGBA"


class Kind(Enum):
    """How a channel's bits become a component."""

    UNORM = auto()
    SNORM = auto()
    SINT = auto()
    UINT = auto()
    FLOAT = auto()


@dataclass(frozen=True, slots=True)
class ChannelType:
    """A channel's type in memory; `code` is OpenCL's number, `dtype` NumPy's name."""

    name: str
    code: int
    kind: Kind
    dtype: str

    @property
    def is_integer(self) -> bool:
        """Whether components are integers and not floats."""
        return self.kind in {Kind.SINT, Kind.UINT}


@dataclass(frozen=True, slots=True)
class ChannelOrder:
    """Which components a texel stores, and what kernels read.

    `stored` has the component that each channel in memory is written from, `read` the channel in
    memory that each of R, G, B, A is read from, or "0" or "1". `code` is OpenCL's number.
    """

    name: str
    code: int
    stored: str
    read: tuple[int | str, ...]
    is_srgb: bool = False

    @property
    def channels(self) -> int:
        """How many channels a texel has in memory."""
        return len(self.stored)


def _order(name: str, code: int, stored: str, is_srgb: bool = False) -> ChannelOrder:
    """Return an order whose missing components read as 0, and as 1 for A."""
    missing = {"R": "0", "G": "0", "B": "0", "A": "1" if "A" not in stored else "0"}
    read = tuple(
        stored.index(letter) if letter in stored else missing[letter] for letter in _COMPONENTS
    )
    return ChannelOrder(name, code, stored, read, is_srgb)


# fmt: off
ORDERS = {
    order.name: order
    for order in (
        _order("r",     0x10B0, "R"),
        _order("a",     0x10B1, "A"),
        _order("rg",    0x10B2, "RG"),
        _order("ra",    0x10B3, "RA"),
        _order("rgba",  0x10B5, "RGBA"),
        _order("bgra",  0x10B6, "BGRA"),
        _order("argb",  0x10B7, "ARGB"),
        ChannelOrder("intensity", 0x10B8, "R", (0, 0, 0, 0)),
        ChannelOrder("luminance", 0x10B9, "R", (0, 0, 0, "1")),
        _order("depth", 0x10BD, "R"),
        _order("srgba", 0x10C1, "RGBA", is_srgb=True),
        _order("sbgra", 0x10C2, "BGRA", is_srgb=True),
        _order("abgr",  0x10C3, "ABGR"),
    )
}
"""Channel orders by name."""

TYPES = {
    kind.name: kind
    for kind in (
        ChannelType("snorm8",  0x10D0, Kind.SNORM, "int8"),
        ChannelType("snorm16", 0x10D1, Kind.SNORM, "int16"),
        ChannelType("unorm8",  0x10D2, Kind.UNORM, "uint8"),
        ChannelType("unorm16", 0x10D3, Kind.UNORM, "uint16"),
        ChannelType("int8",    0x10D7, Kind.SINT,  "int8"),
        ChannelType("int16",   0x10D8, Kind.SINT,  "int16"),
        ChannelType("int32",   0x10D9, Kind.SINT,  "int32"),
        ChannelType("uint8",   0x10DA, Kind.UINT,  "uint8"),
        ChannelType("uint16",  0x10DB, Kind.UINT,  "uint16"),
        ChannelType("uint32",  0x10DC, Kind.UINT,  "uint32"),
        ChannelType("half",    0x10DD, Kind.FLOAT, "float16"),
        ChannelType("float",   0x10DE, Kind.FLOAT, "float32"),
    )
}
"""Channel types by name."""

_ALIASES = {
    "float16": "half",          "float32": "float",
    "snorm_int8": "snorm8",     "snorm_int16": "snorm16",
    "unorm_int8": "unorm8",     "unorm_int16": "unorm16",
    "signed_int8": "int8",      "signed_int16": "int16",      "signed_int32": "int32",
    "unsigned_int8": "uint8",   "unsigned_int16": "uint16",   "unsigned_int32": "uint32",
    "sint8": "int8",            "sint16": "int16",            "sint32": "int32",
}
_ONLY = {
    "bgra":  ("unorm8", "snorm8", "int8", "uint8"),
    "argb":  ("unorm8", "snorm8", "int8", "uint8"),
    "abgr":  ("unorm8", "snorm8", "int8", "uint8"),
    "intensity": ("unorm8", "unorm16", "snorm8", "snorm16", "half", "float"),
    "luminance": ("unorm8", "unorm16", "snorm8", "snorm16", "half", "float"),
    "depth": ("unorm16", "float"),
    "srgba": ("unorm8",),
    "sbgra": ("unorm8",),
}
"""Channel types with which OpenCL allows an order; orders that are not here take all."""
# fmt: on


@dataclass(frozen=True)
class TexelFormat:
    """The format of an image's texels."""

    order: ChannelOrder
    type: ChannelType

    @property
    def name(self) -> str:
        """Order and type, such as `rgba:unorm8`."""
        return f"{self.order.name}:{self.type.name}"

    @RenewedProperty
    def dtype(self) -> np.dtype[Any]:
        """NumPy's type of a channel in memory."""
        return np.dtype(self.type.dtype)

    @property
    def texel_bytes(self) -> int:
        """Size of a texel in memory."""
        return self.order.channels * self.dtype.itemsize

    @property
    def one(self) -> int:
        """The bits of a component that is 1."""
        return 1 if self.type.is_integer else _ONE_FLOAT

    @RenewedProperty
    def border(self) -> Bits:
        """What is read where there is no texel, shape (4,): zeros, A 1 if the order lacks it."""
        return self._components(np.zeros((1, self.order.channels), np.uint32))[0]

    def border_of(self, colour: tuple[float, float, float, float] | None) -> Bits:
        """Return what is read where there is no texel when a sampler has a border colour.

        Components that the order lacks are what they are for texels, shape (4,).
        """
        if colour is None:
            return self.border
        slots = [_COMPONENTS.index(letter) for letter in self.order.stored]
        if self.type.is_integer:
            bits = np.array([[int(colour[slot]) & 0xFFFF_FFFF for slot in slots]], np.uint32)
        else:
            bits = np.array([[colour[slot] for slot in slots]], np.float32).view(np.uint32)
        return self._components(bits)[0]

    def decode(self, stored: NDArray[Any]) -> Bits:
        """Return the components of texels.

        Args:
            stored: Shape (n, channels), of type `dtype`.
        """
        return self._components(self._read(stored))

    def encode(self, bits: Bits) -> NDArray[Any]:
        """Return texels as memory holds them: clamped, rounded to nearest even, NaN as 0.

        Args:
            bits: Components, shape (n, 4).

        Returns:
            Shape (n, channels), of type `dtype`.
        """
        slots = [_COMPONENTS.index(letter) for letter in self.order.stored]
        values = bits[:, slots]
        limits = np.iinfo(self.dtype) if self.dtype.kind in "iu" else None
        match self.type.kind:
            case Kind.UINT if limits is not None:
                return np.minimum(values, limits.max).astype(self.dtype)
            case Kind.SINT if limits is not None:
                return values.view(np.int32).clip(limits.min, limits.max).astype(self.dtype)
            case Kind.UNORM | Kind.SNORM if limits is not None:
                return self._normalised(values.view(np.float32), limits.max)
            case _:
                with np.errstate(over="ignore", invalid="ignore"):
                    return values.view(np.float32).astype(self.dtype)

    def _components(self, channels: Bits) -> Bits:
        """Arrange the channels in memory, as 32-bit components, as R, G, B, A."""
        bits = np.empty((channels.shape[0], 4), np.uint32)
        for slot, source in enumerate(self.order.read):
            if isinstance(source, int):
                bits[:, slot] = channels[:, source]
            else:
                bits[:, slot] = self.one if source == "1" else 0
        return bits

    def _read(self, stored: NDArray[Any]) -> Bits:
        match self.type.kind:
            case Kind.UINT:
                return stored.astype(np.uint32)
            case Kind.SINT:
                return stored.astype(np.int32).view(np.uint32)
            case Kind.FLOAT:
                return stored.astype(np.float32).view(np.uint32)
            case Kind.UNORM | Kind.SNORM:
                top = np.float32(np.iinfo(self.dtype).max)
                values = np.maximum(stored.astype(np.float32) / top, np.float32(-1))
                if self.order.is_srgb:
                    values = self._linear(values)
                return values.view(np.uint32)

    def _normalised(self, values: NDArray[np.float32], top: int) -> NDArray[Any]:
        lowest = 0.0 if self.type.kind is Kind.UNORM else -1.0
        exact = np.where(np.isnan(values), 0.0, values.astype(np.float64)).clip(lowest, 1.0)
        if self.order.is_srgb:
            exact = self._gamma(exact)
        return np.rint(exact * top).astype(self.dtype)

    def _linear(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return sRGB values as linear ones; alpha is linear already."""
        wide = values.astype(np.float64)
        curved = np.where(wide <= 0.04045, wide / 12.92, ((wide + 0.055) / 1.055) ** 2.4)
        return np.where(self._is_colour, curved, wide).astype(np.float32)

    def _gamma(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return linear values as sRGB ones; alpha stays linear."""
        curved = np.where(values <= 0.0031308, 12.92 * values, 1.055 * values ** (1 / 2.4) - 0.055)
        return np.where(self._is_colour, curved, values)

    @RenewedProperty
    def _is_colour(self) -> NDArray[np.bool_]:
        return np.array([letter != "A" for letter in self.order.stored])


def texel_format(text: str, channels: int | None = None) -> TexelFormat:
    """Return a format by name: `order:type`, or a type alone with the order from `channels`.

    Args:
        text: Such as "rgba:unorm8", in any case.
        channels: How many channels an array has, for names without an order.

    Raises:
        ArgumentError: There is no such order or type, or OpenCL does not combine them.
    """
    order_name, separator, type_name = text.strip().lower().rpartition(":")
    if not separator:
        order_name = order_of(channels).name
    type_name = _ALIASES.get(type_name, type_name)
    _check("order", order_name, ORDERS)
    _check("type", type_name, TYPES)
    allowed = _ONLY.get(order_name)
    if allowed is not None and type_name not in allowed:
        raise ArgumentError(
            f"format {text!r}: channel order {order_name} goes with {', '.join(allowed)}"
        )
    return TexelFormat(ORDERS[order_name], TYPES[type_name])


def order_of(channels: int | None) -> ChannelOrder:
    """Return the order that a number of channels means by itself; ArgumentError for others."""
    known = {1: "r", 2: "rg", 4: "rgba"}
    if channels not in known:
        raise ArgumentError(
            f"an image of {channels} channels: expected 1 (R), 2 (RG) or 4 (RGBA); add a fourth "
            "channel to red, green, blue"
        )
    return ORDERS[known[channels]]


def natural_format(dtype: np.dtype[Any], channels: int) -> TexelFormat:
    """Return the format of an array that says nothing else: floats, or integers as they are.

    Raises:
        ArgumentError: Images have no such channels.
    """
    for kind in TYPES.values():
        is_plain = kind.is_integer or kind.kind is Kind.FLOAT
        if is_plain and np.dtype(kind.dtype) == dtype:
            return TexelFormat(order_of(channels), kind)
    raise ArgumentError(
        f"an image of {dtype}: expected float32, float16, or an integer of 8, 16 or 32 bits"
    )


def _check(what: str, name: str, known: dict[str, Any]) -> None:
    if name in known:
        return
    near = nearest(name, list(known))
    hint = f"did you mean {near!r}?" if near else f"known: {', '.join(known)}"
    raise ArgumentError(f"image format: there is no channel {what} {name!r}; {hint}")
