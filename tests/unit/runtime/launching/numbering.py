"""A kernel that stores the number of each of its groups, from 1 on; it is made of parts."""

HEAD = """\
.version 4.1
.kernel "k"
.decl out v_type=G type=uq num_elts=1 align=qword
.decl at v_type=G type=uq num_elts=1 align=qword
.decl number v_type=G type=ud num_elts=1 align=dword
.decl P1 v_type=P num_elts=1
.input out offset=64 size=8
.kernel_attr SimdSize=8
.function "k_0"

k_0:
    shl (M1_NM, 1) at(0,0)<1> %group_id_x(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) at(0,0)<1> at(0,0)<0;1,0> out(0,0)<0;1,0>
    add (M1_NM, 1) number(0,0)<1> %group_id_x(0,0)<0;1,0> 0x1:ud
"""
STORE = "    lsc_store.ugm (M1_NM, 1) flat[at]:a64 number:d32\n    ret (M1, 1)\n"
MEETING = """\
    nbarrier.signal 0x3:ub 0x2:ub
    nbarrier.wait 0x3:ub
"""
GROUPS = 400
