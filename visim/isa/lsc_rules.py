"""What LSC messages may ask for: cache controls, orders and sizes (specification LSC_UNTYPED).

Each rule is the `restrict` of instructions: it returns what is wrong, or None. Cache controls are
those of the page's table, which is about pvc; IGC refuses the same there. Other devices are not
judged, but for SLM, which has no cache.
"""

from typing import Any

from visim.operands import AddressModel, LscAddress, LscCache, LscShape
from visim.target import Platform

_BOTH = frozenset({("df", "df"), ("uc", "uc"), ("st", "uc")})
_LOADS = _BOTH | {("uc", "ca"), ("ca", "uc"), ("ca", "ca"), ("st", "ca"), ("ri", "ca")}
_STORES = _BOTH | {("uc", "wb"), ("wt", "uc"), ("wt", "wb"), ("st", "wb"), ("wb", "wb")}
#: Atomics take place behind the first level, so that it cannot keep anything.
_ATOMICS = frozenset({("df", "df"), ("uc", "uc"), ("uc", "wb")})
#: Data sizes of atomics, with the number of bits in memory.
ATOMIC_SIZES = frozenset({"d16c32", "d32", "d64"})


def load(i: Any, platform: Platform | None) -> str | None:
    """Return what is wrong with a load, or None."""
    return _cache(i, platform, _LOADS, "loads") or _place(i) or _order(i)


def store(i: Any, platform: Platform | None) -> str | None:
    """Return what is wrong with a store, or None."""
    return _cache(i, platform, _STORES, "stores") or _place(i) or _order(i)


def block_load(i: Any, platform: Platform | None) -> str | None:
    """Return what is wrong with the load of a 2D block, or None."""
    return _cache(i, platform, _LOADS, "loads") or _block(i)


def block_store(i: Any, platform: Platform | None) -> str | None:
    """Return what is wrong with the store of a 2D block, or None."""
    return _cache(i, platform, _STORES, "stores") or _block(i)


def atomic(i: Any, platform: Platform | None) -> str | None:
    """Return what is wrong with an atomic, or None."""
    return _cache(i, platform, _ATOMICS, "atomics") or _place(i) or _atomic_shape(i.shape)


def _cache(
    i: Any, platform: Platform | None, legal: frozenset[tuple[str, str]], what: str
) -> str | None:
    cache: LscCache = i.cache
    if getattr(i, "sfid", None) == "slm":
        wrong = cache != LscCache()
        return "SLM has no cache, leave the cache controls out" if wrong else None
    if platform is None or platform.name != "pvc" or (cache.l1, cache.l3) in legal:
        return None
    return f"{what} cannot have the cache controls .{cache.l1}.{cache.l3}"


def _place(i: Any) -> str | None:
    address = getattr(i, "address", None)
    if i.sfid == "tgm":
        return "tgm takes typed messages only"
    if i.sfid != "slm" or not isinstance(address, LscAddress):
        return None
    wrong = address.model is not AddressModel.FLAT
    return f"SLM has flat addresses, not {address.model}" if wrong else None


def _order(i: Any) -> str | None:
    wrong = i.shape.transposed and i.exec.size != 1
    return f"transposed data belongs to one channel, not {i.exec.size}" if wrong else None


def _block(i: Any) -> str | None:
    wrong = i.sfid not in {"ugm", "ugml"}
    return f"2D blocks lie in global memory, not {i.sfid}" if wrong else None


def _atomic_shape(shape: LscShape) -> str | None:
    if shape.transposed:
        return "the data of atomics cannot be transposed"
    if shape.count != 1:
        return f"atomics act on one element a channel, not {shape.count}"
    if shape.data not in ATOMIC_SIZES:
        return f"there are no atomics on {shape.data}, only on d16u32, d32 and d64"
    return None
