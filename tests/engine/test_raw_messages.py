"""Raw messages do what the instruction does of which Intel's finalizer makes the same descriptor.

The descriptors are those that GenX_IR (IGC 1.0.12504) writes for the instruction beside them; it
writes the same ones for skl, tgllp and dg2.
"""

from __future__ import annotations

import numpy as np
import pytest

from visim.machine.surfaces import Surfaces

from .harness import run

# Instruction, shared function, registers of both payloads and the response, descriptor.
# A has offsets of a surface, F virtual addresses, H and G headers, S payload, V the response.
PAIRS = [
    ("gather4_scaled.RGBA (M1, 16) T6 0x0:ud A.0 V.0", 12, (2, 0, 8), 0x04805006, "A"),
    ("gather4_scaled.RB (M1, 8) T6 0x0:ud A.0 V.0", 12, (1, 0, 2), 0x02206A06, "A"),
    ("scatter4_scaled.RG (M1, 16) T6 0x0:ud A.0 S.0", 12, (2, 4, 0), 0x04025C06, "A"),
    ("scatter4_scaled.RG (M1, 8) T6 0x0:ud A.0 S.0", 12, (1, 2, 0), 0x02026C06, "A"),
    ("gather_scaled.1 (M1, 16) T6 0x0:ud A.0 V.0", 10, (2, 0, 2), 0x04210106, "A"),
    ("gather_scaled.2 (M1, 8) T6 0x0:ud A.0 V.0", 10, (1, 0, 1), 0x02110406, "A"),
    ("gather_scaled.4 (M1, 8) T6 0x0:ud A.0 V.0", 10, (1, 0, 1), 0x02110806, "A"),
    ("scatter_scaled.1 (M1, 16) T6 0x0:ud A.0 S.0", 10, (2, 2, 0), 0x04030106, "A"),
    ("dword_atomic.add (M1, 16) T6 A.0 S.0 %null.0 V.0", 12, (2, 2, 2), 0x0420A706, "A"),
    ("dword_atomic.cmpxchg (M1, 8) T6 A.0 S.32 S.0 V.0", 12, (1, 2, 1), 0x0210BE06, "A"),
    ("dword_atomic.inc (M1, 8) T6 A.0 %null.0 %null.0 V.0", 12, (1, 0, 1), 0x0210B506, "A"),
    ("dword_atomic.min (M1, 8) T6 A.0 S.0 %null.0 %null.0", 12, (1, 1, 0), 0x02009D06, "A"),
    ("oword_ld (4) T6 0x2:ud V.0", 10, (1, 0, 2), 0x02280306, "H"),
    ("oword_ld (1) T6 0x2:ud V.0", 10, (1, 0, 1), 0x02180006, "H"),
    ("oword_ld_unaligned (2) T6 0x2:ud V.0", 10, (1, 0, 1), 0x02184206, "H"),
    ("oword_st (8) T6 0x2:ud S.0", 10, (1, 4, 0), 0x020A0406, "H"),
    ("svm_gather.4.1 (M1, 8) F.0 V.0", 12, (2, 0, 1), 0x041401FF, "F"),
    ("svm_gather.1.1 (M1, 8) F.0 V.0", 12, (2, 0, 1), 0x041400FF, "F"),
    ("svm_gather.1.2 (M1, 8) F.0 V.0", 12, (2, 0, 1), 0x041404FF, "F"),
    ("svm_gather.1.4 (M1, 8) F.0 V.0", 12, (2, 0, 1), 0x041408FF, "F"),
    ("svm_gather.4.4 (M1, 8) F.0 V.0", 12, (2, 0, 4), 0x044409FF, "F"),
    ("svm_gather.8.1 (M1, 8) F.0 V.0", 12, (2, 0, 2), 0x042402FF, "F"),
    ("svm_gather.8.2 (M1, 8) F.0 V.0", 12, (2, 0, 4), 0x044406FF, "F"),
    ("svm_scatter.4.1 (M1, 8) F.0 S.0", 12, (2, 1, 0), 0x040681FF, "F"),
    ("svm_scatter.1.1 (M1, 8) F.0 S.0", 12, (2, 1, 0), 0x040680FF, "F"),
    ("svm_gather4scaled.RGBA (M1, 8) 0x0:uq F.0 V.0", 12, (2, 0, 4), 0x044460FF, "F"),
    ("svm_scatter4scaled.RG (M1, 8) 0x0:uq F.0 S.0", 12, (2, 2, 0), 0x04066CFF, "F"),
    ("svm_block_ld (4) F(0,0)<0;1,0> V.0", 12, (1, 0, 2), 0x022D03FF, "F"),
    ("svm_block_ld (1) F(0,0)<0;1,0> V.0", 12, (1, 0, 1), 0x021D00FF, "F"),
    ("svm_block_st (4) F(0,0)<0;1,0> S.0", 12, (1, 2, 0), 0x020D43FF, "F"),
    ("svm_atomic.add (M1, 8) F.0 V.0 S.0 %null.0", 12, (2, 1, 1), 0x0414A7FF, "F"),
    ("svm_atomic.add.64 (M1, 8) F.0 V.0 S.0 %null.0", 12, (2, 1, 2), 0x0424B7FF, "F"),
]


def result(line: str, device: str) -> tuple[bytes, bytes]:
    """Run a line; return the memory and V."""
    rng = np.random.default_rng(8)
    space = np.zeros(1024 + 64, np.uint8)
    start = -space.ctypes.data % 64
    memory = space[start : start + 1024]
    memory[:] = rng.integers(0, 256, 1024, np.uint8)
    offsets = (rng.permutation(16) * 32).astype(np.uint32)
    header = np.zeros(8, np.uint32)
    header[2] = 2
    payload = rng.integers(0, 1 << 32, 64, np.uint32)
    payload[:8] = memory.view(np.uint32)[offsets[:8] // 4]
    payload[3] += 1
    surfaces = Surfaces()
    surfaces.bind(6, memory, "memory")
    ended = run(
        f"movs (M1_NM, 1) T6(0) 0x6:ud\n{line}",
        {
            "A": offsets,
            "F": offsets[:8].astype(np.uint64) + memory.ctypes.data,
            "H": header,
            "S": payload,
            "V": np.full(64, 0xEEEEEEEE, np.uint32),
        },
        mask=0xB6D5,
        platform=device,
        declarations=".decl T6 v_type=T num_elts=1",
        surfaces=surfaces,
        buffers={"M": memory},
    )
    assert ended.exit.fault is None, ended.exit.fault
    return memory.tobytes(), ended["V"].tobytes()


def raw(line: str, function: int, counts: tuple[int, int, int], descriptor: int, first: str) -> str:
    src0, src1, response = counts
    lanes = 16 if "(M1, 16)" in line else 8
    mask = "M1" if "(M1" in line else "M1_NM"
    dst = "V.0" if response else "%null.0"
    if src1:
        return (
            f"raw_sends.{function}.{src0}.{src1}.{response} ({mask}, {lanes}) "
            f"0x0:ud 0x{descriptor:x}:ud {first}.0 S.0 {dst}"
        )
    return (
        f"raw_send ({mask}, {lanes}) 0x{function:x} {src0} {response} "
        f"0x{descriptor:x}:ud {first}.0 {dst}"
    )


@pytest.mark.parametrize("device", ["skl", "tgllp", "dg2"])
@pytest.mark.parametrize(("line", "function", "counts", "descriptor", "first"), PAIRS)
def test_a_descriptor_means_its_instruction(line, function, counts, descriptor, first, device):
    message = raw(line, function, counts, descriptor, first)
    assert result(message, device) == result(line, device)


def test_shared_local_memory_has_an_index_of_its_own():
    values = {"A": np.arange(16, dtype=np.uint32) * 4, "S": np.arange(16, dtype=np.uint32) + 7}
    ended = run(
        """
        scatter4_scaled.R (M1, 16) %slm 0x0:ud A.0 S.0
        raw_send (M1, 16) 0xc 2 2 0x4205efe:ud A.0 V.0
        """,
        {**values, "V": np.zeros(16, np.uint32)},
        slm_bytes=64,
    )
    assert ended["V"].tolist() == values["S"].tolist()


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "raw_send (M1, 16) 0x8 6 7 0x0c784000:ud V.0 V.0",
            ["shared function 8 (video motion estimation, type 0x1)", "descriptor 0xc784000"],
        ),
        ("raw_send (M1, 16) 0x3 1 0 0x2000004:ud V.0 %null.0", ["message gateway"]),
        (
            "raw_sends.12.1.1.1 (M1, 8) 0x4c:ud 0x2415006:ud V.0 V.0 V.0",
            ["data cache 1, type 0x5", "extended descriptor 0x4c"],
        ),
        ("raw_send (M1, 8) 0xc 2 8 0x4805006:ud V.0 V.0", ["16 channels in an instruction of 8"]),
        ("raw_send (M1, 8) 0xc 1 1 0x210b006:ud V.0 V.0", ["the atomic operation 0"]),
        ("raw_send (M1, 8) 0xc 1 2 0x2206afa:ud V.0 V.0", ["index 250, which is not a surface"]),
        ("raw_sends_eot.7.1.0.0 (M1, 8) 0x0:ud 0x2000010:ud V.0 V.0 %null.0", ["ends the thread"]),
        ("raw_send (M1, 8) 0xa 1 1 V(0,1)<0;1,0> V.0 V.0", ["descriptor in V(0,1)<0;1,0>"]),
    ],
)
def test_others_say_what_they_ask_for(line, parts):
    ended = run(line, {"V": np.zeros(64, np.uint32)})
    assert ended.fault.category == "unsupported"
    assert [part for part in parts if part not in ended.fault.message] == []


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        (
            "raw_sends.15.1.0.8 (M1, 1) 0x0:ud 0x280041e:ud V.0 %null.0 V.0",
            ["function 15 (ugm, operation 0x1e)", "descriptor 0x280041e"],
        ),
        ("raw_sends.14.1.0.1 (M1, 8) 0x0:ud V(0,1)<0;1,0> V.0 %null.0 V.0", ["14 (slm), "]),
        ("raw_sends.3.1.0.0 (M1, 1) 0x0:ud 0x2000008:ud V.0 %null.0 %null.0", ["gateway, type"]),
        ("(P1) raw_send (M1, 1) 0x3 1 0 0x2000004:ud V.0 %null.0", ["under a predicate"]),
    ],
)
def test_messages_to_the_load_and_store_cache_name_it_and_what_they_do(line, parts):
    """Code for SYCL has such messages in inline assembly."""
    ended = run(line, {"V": np.zeros(256, np.uint32)}, {"P1": 1}, platform="pvc")
    assert ended.fault.category == "unsupported"
    assert [part for part in parts if part not in ended.fault.message] == []
