"""vISA texts that tests of programs and launches share."""

from __future__ import annotations

SCALE = """\
.version 4.1
.kernel "scale"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl factor v_type=G type=f num_elts=1 align=dword
.decl bytes v_type=G type=ud num_elts=1 align=dword
.decl address v_type=G type=uq num_elts=1 align=qword
.decl block v_type=G type=f num_elts=16 align=wordx32
.input data offset=64 size=8
.input factor offset=72 size=4
.kernel_attr SimdSize=16
.function "scale_0"

scale_0:
    mul (M1_NM, 1) bytes(0,0)<1> %group_id_x(0,0)<0;1,0> 0x40:ud
    add (M1_NM, 1) address(0,0)<1> data(0,0)<0;1,0> bytes(0,0)<0;1,0>
    lsc_load.ugm (M1_NM, 1) block:d32x16t flat[address]:a64
    mul (M1, 16) block(0,0)<1> block(0,0)<1;1,0> factor(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[address]:a64 block:d32x16t
    ret (M1, 1)
"""
POWER = """\
.version 4.1
.kernel "power"
.decl x v_type=G type=f num_elts=16 align=GRF
.input x offset=64 size=64
.kernel_attr SimdSize=16
.function "power_0"

power_0:
    exp (M1, 16) x(0,0)<1> x(0,0)<1;1,0>
    ret (M1, 1)
"""
LOOP = """\
.version 4.1
.kernel "endless"
.kernel_attr SimdSize=8
.function "endless_0"

endless_0:

again:
    goto (M1, 8) again
    ret (M1, 1)
"""
BLOCK = """
.version 3.6
.kernel "block"
.decl V32 v_type=G type=ud num_elts=16 align=GRF
.decl AT v_type=G type=ud num_elts=1 align=dword
.decl T6 v_type=T num_elts=1
.decl T7 v_type=T num_elts=1
.input AT offset=32 size=4
.input T6 offset=36 size=4
.input T7 offset=40 size=4
oword_ld_unaligned (4) T6 AT(0,0)<0;1,0> V32.0
oword_st (4) T7 0x0:ud V32.0
ret (M1, 1)
"""
SURFACE = """\
.version 4.1
.kernel "store"
.decl T6 v_type=T num_elts=1
.decl x v_type=G type=ud num_elts=8 align=GRF
.decl at v_type=G type=ud num_elts=8 align=GRF
.input T6 offset=64 size=4
.input at offset=96 size=32
.kernel_attr SimdSize=8
.function "store_0"

store_0:
    mov (M1, 8) x(0,0)<1> 0x7:ud
    scatter4_scaled.R (M1, 8) T6 0x0:ud at.0 x.0
    ret (M1, 1)
"""
CALLER = """\
.version 4.1
.kernel "caller"
.kernel_attr SimdSize=8
.function "caller_0"

caller_0:
    fcall (M1, 8) helper 0 0
    ret (M1, 1)
"""
HELPER = """\
.version 4.1
.global_function "helper"
.kernel_attr SimdSize=8
.function "helper_0"

helper_0:
    fret (M1, 8)
"""
