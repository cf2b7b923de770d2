"""Messages in their general form: what a kernel's module says of them, and atomic operations.

`moving` has what all kernels share: it looks where lanes are, whatever their addresses and mask,
and moves values. Which atomic operation is done there differs from message to message.
"""

from __future__ import annotations

from visim.engine.jit.common.moving import FAILED, PARAMETERS, REACHED
from visim.engine.jit.ir.floats import Library
from visim.engine.jit.ir.lanes import lane_loop, loop_tail
from visim.engine.jit.layout import EXCHANGE_DATA, Context
from visim.engine.jit.writing.atomics import atomic_lines
from visim.engine.jit.writing.forms import Access
from visim.machine.allocations import LARGEST_ELEMENT, PADDING
from visim.sem.effects import AtomicOperation

_BEYOND = """
define internal i1 @block.beyond(ptr %entry, i64 %offset, ptr %to, i64 %wanted) noinline {
begin:
  %size.at = getelementptr i64, ptr %entry, i64 1
  %size = load i64, ptr %size.at, align 8
  %known = icmp ne i64 %size, 0
  br i1 %known, label %look, label %unknown
look:
  %count.at = getelementptr i64, ptr %entry, i64 3
  %count = load i64, ptr %count.at, align 8
  %bounded = icmp slt i64 %count, 0
  br i1 %bounded, label %padding, label %part
padding:
  %inside = icmp ult i64 %offset, %size
  %rest = sub i64 %size, %offset
  %behind = sub i64 %wanted, %rest
  %near = icmp ult i64 %behind, $PADDING$
  %large = icmp ugt i64 %wanted, $LARGEST$
  %begins = and i1 %inside, %large
  %padded = and i1 %begins, %near
  br i1 %padded, label %part, label %unknown
part:
  %start = call i64 @llvm.umin.i64(i64 %offset, i64 %size)
  %held = sub i64 %size, %start
  %base = load ptr, ptr %entry, align 8
  %from = getelementptr i8, ptr %base, i64 %start
  call void @llvm.memset.p0.i64(ptr %to, i8 0, i64 %wanted, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %held, i1 false)
  %counted = select i1 %bounded, i64 0, i64 1
  %more = add i64 %count, %counted
  store i64 %more, ptr %count.at, align 8
  ret i1 true
unknown:
  ret i1 false
}""".replace("$PADDING$", str(PADDING)).replace("$LARGEST$", str(LARGEST_ELEMENT))


def beyond_function(library: Library) -> str:
    """Return the name of the function that loads a block which does not fit into its surface.

    What is out of range is 0, and counted in the entry of the binding table. Compilers read beyond
    the ends of constants. It returns false where the table has no bytes for the surface, and where
    the surface faults: there only the few bytes behind the end that flat memory has may be read.
    """
    library.intrinsic("llvm.umin.i64", "i64", "i64", "i64")
    library.functions.setdefault("block.beyond", _BEYOND)
    return "block.beyond"


def general_function(library: Library, access: Access, way: str) -> str:
    """Return the name of the function for a kind of message, where threads run in a way.

    It returns whether all went well. Callers keep their registers: they seldom come here.
    """
    if access.operation is None:
        return f"visim_{access.verb}_{way}"
    if access.name not in library.functions:
        library.intrinsic("llvm.cttz.i64", "i64", "i64", "i1")
        library.functions[access.name] = _atomic(access, access.operation, way)
    return access.name


def _atomic(access: Access, operation: AtomicOperation, way: str) -> str:
    """Return a function that does an atomic operation at any lanes, lowest first."""
    lines = [
        f"define internal preserve_mostcc i1 @{access.name}({PARAMETERS}) noinline #0 {{",
        "entry:",
        f"  %status = call preserve_mostcc i64 @visim_reach_{way}({PARAMETERS})",
        f"  %ap = getelementptr i64, ptr %ctx, i64 {int(Context.EXCHANGE)}",
        "  %area = load ptr, ptr %ap, align 8",
        f"  %data = getelementptr i8, ptr %area, i64 {EXCHANGE_DATA}",
        f"  %here = icmp eq i64 %status, {REACHED}",
        "  br i1 %here, label %lanes, label %end",
        "lanes:",
        *lane_loop("lanes"),
        "  %at = getelementptr ptr, ptr %area, i64 %lane",
        "  %p = load ptr, ptr %at, align 8",
        *atomic_lines(operation, access.lanes, access.scalar, own=access.own),
        *loop_tail(),
        "  br label %end",
        "end:",
        f"  %well = icmp ne i64 %status, {FAILED}",
        "  ret i1 %well",
        "}",
    ]
    return "\n".join(lines)
