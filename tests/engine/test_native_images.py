"""What native code answers of messages to images is what the machine says, bit for bit.

Each message is run on both engines: answers, images, counts of accesses out of range and faults are
compared. Where native code answers, the machine is not asked at all.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

import visim
from tests.model import images as model
from visim import FaultError, Image, Sampler
from visim.machine.formats import ORDERS, TYPES, texel_format
from visim.machine.surfaces import Surfaces

LANES = 16
SHAPES = {
    "1d": (9,),
    "1d_buffer": (9,),
    "1d_array": (3, 5),
    "2d": (4, 5),
    "2d_array": (3, 4, 5),
    "3d": (3, 2, 5),
}
ADDRESSES = ("none", "clamp", "clamp_to_edge", "repeat", "mirrored_repeat")
SAMPLERS = [
    Sampler(address=address, filter=chosen, normalized=normalized)
    for address, chosen, normalized in product(ADDRESSES, ("nearest", "linear"), (False, True))
    if normalized or "repeat" not in address
]
LOAD = "(P1) load_3d.RGBA (M1, 16) 0x0:uw T6 V40.0 V32.0 V33.0 V35.0 V34.0"
GATHER = "(P1) gather4_typed.GA (M1, 8) T6 V32.0 V33.0 V34.0 %null.0 V40.0"
STORE = "(P1) scatter4_typed.RGBA (M1, 8) T6 V32.0 V33.0 V34.0 %null.0 V36.0"
STORE_SOME = "(P1) scatter4_typed.RB (M1, 8) T6 V32.0 V33.0 V34.0 %null.0 V36.0"
SAMPLE = "(P1) sample_lz.RGBA (M1, 16) 0x0:uw S1 T6 V41.0 V42.0 V43.0 V44.0"
_NAMES = "\n".join(
    f".decl V{number} v_type=G type={kind} num_elts={count} align=GRF {more}"
    for number, kind, count, more in (
        *((32 + n, "ud", 16, "") for n in range(4)),
        (36, "ud", 32, ""),
        (40, "ud", 64, ""),
        (41, "f", 64, "alias=<V40, 0>"),
        *((42 + n, "f", 16, f"alias=<V{32 + n}, 0>") for n in range(3)),
        (45, "ud", 16, ""),
    )
)
TEXT = f"""
.version 4.1
.kernel "k"
{_NAMES}
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.decl S1 v_type=S num_elts=1
.decl P1 v_type=P num_elts=16
.input V32 offset=64 size=64
.input V33 offset=128 size=64
.input V34 offset=192 size=64
.input V35 offset=256 size=64
.input V36 offset=320 size=128
.input V45 offset=448 size=64
.kernel_attr SimdSize=16
    movs (M1_NM, 1) T6(0) 0x1:ud
    movs (M1_NM, 1) T7(0) 0x2:ud
    movs (M1_NM, 1) S1(0) 0x0:ud
    mov (M1_NM, 16) V40(0,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(2,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(4,0)<1> 0xeeeeeeee:ud
    mov (M1_NM, 16) V40(6,0)<1> 0xeeeeeeee:ud
    cmp.ne (M1_NM, 16) P1 V45(0,0)<1;1,0> 0x0:ud
    MESSAGE
    oword_st (8) T7 0x0:ud V40.0
    oword_st (8) T7 0x8:ud V40.128
    ret (M1, 1)
"""


@cache
def _kernel(message):
    return visim.assemble(TEXT.replace("MESSAGE", message), platform="skl")["k"]


def _run(message, array, given, engine, *, kind="2d", name=None, sampler=None, **more):
    """Return what an engine makes of a message: answers, texels, accesses dropped, the fault."""
    texels = array.copy()
    texels.flags.writeable = more.pop("writable", True)
    image = Image(texels, kind=kind, format=name)
    out = np.zeros(64, np.uint32)
    bound = {"surfaces": {1: image, 2: out}, "samplers": {0: sampler or Sampler()}} | more
    try:
        report = _kernel(message).launch([part.tobytes() for part in given], engine=engine, **bound)
        end = report.dropped_accesses
    except FaultError as error:
        end = str(error)
    return out.tolist(), texels.tobytes(), end


def _both(message, array, given, **options):
    """Run a message on both engines; they agree. Return what they made of it."""
    expected = _run(message, array, given, "interpreter", **options)
    assert _run(message, array, given, "jit", **options) == expected
    return expected


@pytest.fixture
def alone(monkeypatch):
    """Let only the interpreter ask the machine: return a way to forbid it to all."""

    def refuse(*_):
        raise AssertionError("the machine was asked")

    return lambda: monkeypatch.setattr(Surfaces, "request", refuse)


def _formats():
    """Yield the names of all formats that there are."""
    for order, kind in product(ORDERS, TYPES):
        try:
            yield texel_format(f"{order}:{kind}").name
        except visim.ArgumentError:
            continue


def _texels(name, shape, rng):
    """Return texels of any bits, but for half precision without NaN."""
    found = texel_format(name)
    size = found.dtype.itemsize
    full = (*shape, found.order.channels)
    bits = rng.integers(0, 256, (*full, size), np.uint8).view(f"u{size}")[..., 0]
    if found.type.name == "half":
        bits[(bits & 0x7C00) == 0x7C00] &= 0x83FF
    return bits.view(found.dtype)


def _given(rng, at=None, lod=0, values=None):
    """Return u, v, r, the level, data and which channels are on."""
    whole = rng.integers(-2, 7, (3, LANES)).astype(np.int32) if at is None else at
    data = rng.normal(0, 1.3, 32).astype(np.float32) if values is None else values
    on = rng.integers(0, 4, LANES).astype(np.uint32)
    return [*whole, np.full(LANES, lod, np.uint32), data, on]


def _sampled_at(rng, shape, *, normalized):
    """Return coordinates inside, outside, far outside and on edges of texels."""
    found = rng.uniform(-1.7, 2.7, (3, LANES))
    for axis, size in enumerate(reversed(shape)):
        found[axis, :4] = rng.integers(-2, size + 2, 4) / size
        found[axis, 4:6] = (rng.integers(0, size, 2) + 0.5) / size
        found[axis] *= 1 if normalized else size
    found[:, 6] = rng.choice([-1e30, 1e30, -0.0, 1e-40], 3)
    return found.astype(np.float32)


class TestEveryFormat:
    @pytest.mark.parametrize("name", list(_formats()))
    def test_is_read_written_and_sampled_alike(self, name):
        rng = np.random.default_rng(len(name))
        texels, given = _texels(name, (4, 5), rng), _given(rng)
        for message in (LOAD, GATHER, STORE, STORE_SOME):
            _both(message, texels, given, name=name)
        whole = rng.integers(0, 2**32, 32, np.uint32)
        if "float" not in name and "half" not in name:
            _both(STORE, texels, _given(rng, values=whole), name=name)
        for sampler in (SAMPLERS[1], SAMPLERS[2], SAMPLERS[-1]):
            at = _sampled_at(rng, (4, 5), normalized=sampler.normalized)
            _both(SAMPLE, texels, _given(rng, at), name=name, sampler=sampler)

    @pytest.mark.parametrize("name", ["r:half", "rgba:half", "rg:float", "a:unorm16", "ra:snorm8"])
    def test_keeps_what_is_no_number(self, name):
        rng = np.random.default_rng(4)
        strange = [np.nan, -np.nan, np.inf, -np.inf, -0.0, 1e-40, 65520, 7e-8]
        data = rng.choice(np.array(strange, np.float32), 32)
        data.view(np.uint32)[3] = 0x7F80_0001
        stored = _both(STORE, _texels(name, (4, 5), rng), _given(rng, values=data), name=name)[1]
        format_ = texel_format(name)
        texels = np.frombuffer(stored, format_.dtype).reshape(4, 5, format_.order.channels)
        for sampler in SAMPLERS:
            at = _sampled_at(rng, (4, 5), normalized=sampler.normalized)
            _both(SAMPLE, texels, _given(rng, at), name=name, sampler=sampler)
        _both(LOAD, texels, _given(rng), name=name)


class TestEveryKind:
    @pytest.mark.parametrize("kind", SHAPES)
    def test_is_read_and_written_alike(self, kind):
        rng = np.random.default_rng(1)
        texels = _texels("rg:int16", SHAPES[kind], rng)
        for message in (LOAD, GATHER, STORE):
            dropped = [_both(message, texels, _given(rng), kind=kind)[2] for _ in range(4)]
            assert any(dropped)

    @pytest.mark.parametrize("kind", SHAPES)
    @pytest.mark.parametrize("sampler", SAMPLERS, ids=str)
    def test_is_sampled_alike(self, kind, sampler):
        rng = np.random.default_rng(2)
        texels = rng.normal(0, 100, (*SHAPES[kind], 2)).astype(np.float32)
        for _ in range(3):
            at = _sampled_at(rng, SHAPES[kind], normalized=sampler.normalized)
            _both(SAMPLE, texels, _given(rng, at), kind=kind, sampler=sampler)


class TestNativeCode:
    @pytest.mark.parametrize("name", [n for n in model.REQUIRED if not n.startswith("s")])
    @pytest.mark.parametrize("message", [LOAD, STORE, STORE_SOME, SAMPLE])
    def test_answers_alone_for_the_formats_that_opencl_requires(self, message, name, alone):
        rng = np.random.default_rng(3)
        texels = _texels(name, (4, 5), rng)
        given = _given(rng, _sampled_at(rng, (4, 5), normalized=False))
        if message != SAMPLE:
            given = _given(rng)
        expected = _run(message, texels, given, "interpreter", name=name)
        alone()
        assert _run(message, texels, given, "jit", name=name) == expected

    def test_leaves_the_rest_to_the_machine(self, alone):
        rng = np.random.default_rng(3)
        texels = np.ones((4, 4), np.float32)
        alone()
        with pytest.raises(AssertionError, match="asked"):
            _run(LOAD, texels, _given(rng, lod=1), "jit")

    def test_sees_the_images_of_each_launch(self):
        rng = np.random.default_rng(5)
        first, other = np.ones((4, 5), np.float32), rng.normal(0, 1, (3, 2, 4)).astype(np.float32)
        inside = _given(rng, np.ones((3, LANES), np.int32))
        for texels in (first, other, first):
            _both(LOAD, texels, inside)

    def test_the_highest_of_several_channels_stays(self):
        rng = np.random.default_rng(6)
        given = _given(rng, np.ones((3, LANES), np.int32))
        _both(STORE, np.zeros((4, 5), np.float32), given)


class TestFaults:
    GIVEN = (*np.ones((3, LANES), np.float32), np.zeros(LANES, np.uint32), np.ones(32, np.float32))

    def _fault(self, message, array, wrong=None, **options):
        given = [part.copy() for part in self.GIVEN]
        if message != SAMPLE:
            given[:3] = [part.astype(np.uint32) for part in given[:3]]
        if wrong is not None:
            given[1][wrong] = np.nan
        on = np.ones(LANES, np.uint32)
        on[2] = 0
        end = _both(message, array, [*given, on], **options)[2]
        assert isinstance(end, str)
        return end

    def test_of_coordinates_name_the_channel(self):
        texels = np.ones((4, 5), np.float32)
        assert "channel 5: a coordinate" in self._fault(SAMPLE, texels, 5)

    def test_of_channels_that_are_off_are_none(self):
        given = [part.copy() for part in self.GIVEN]
        given[0][2] = np.inf
        on = np.ones(LANES, np.uint32)
        on[2] = 0
        assert _both(SAMPLE, np.ones((4, 5), np.float32), [*given, on])[2] == 0

    def test_of_coordinates_that_a_kind_does_not_have_are_none(self):
        given = [part.copy() for part in self.GIVEN]
        given[1][3] = np.nan
        end = _both(SAMPLE, np.ones(5, np.float32), [*given, np.ones(LANES, np.uint32)], kind="1d")
        assert end[2] == 0

    def test_of_filtered_integers(self):
        linear = Sampler(filter="linear")
        assert "linear filter" in self._fault(SAMPLE, np.ones((4, 5), np.int32), sampler=linear)

    def test_of_read_only_arrays(self):
        fault = self._fault(STORE, np.ones((4, 5), np.float32), writable=False)
        assert "read-only" in fault

    @pytest.mark.parametrize("message", [LOAD, STORE, SAMPLE])
    def test_of_surfaces_that_are_not_bound(self, message):
        texels, out = np.ones((4, 5), np.float32), np.zeros(64, np.uint32)
        bound = {"surfaces": {2: out, 3: Image(texels)}}
        assert "unbound" in self._fault(message, texels, **bound)

    def test_of_samplers_that_are_not_bound(self):
        texels = np.ones((4, 5), np.float32)
        assert "sampler" in self._fault(SAMPLE, texels, samplers={3: Sampler()})
