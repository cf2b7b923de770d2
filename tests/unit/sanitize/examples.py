"""A finding, and a kernel that gives one."""

from visim.sanitize.findings import Actor, Finding, Place

RACE = """\
.version 4.1
.kernel "same"
.decl data v_type=G type=uq num_elts=1 align=qword
.decl one v_type=G type=ud num_elts=1 align=dword
.input data offset=64 size=8
.kernel_attr Target="cm"
.kernel_attr SimdSize=16
.function "same_0"

same_0:
    mov (M1_NM, 1) one(0,0)<1> 0x1:ud
    lsc_store.ugm (M1_NM, 1) flat[data]:a64 one:d32x1t
    ret (M1, 1)
"""


def finding() -> Finding:
    """Return a race of two lines of two files."""
    places = (
        Place("/home/blur.cl", 3, "t[l] = x[g];", "store"),
        Place("/home/a.cl", 7, "y[g] = t[k] & <1>;", "load"),
    )
    actors = (
        Actor((0, 0, 0), 0, 1, (1, 0, 0)),
        Actor((0, 0, 0), 1, 2, (18, 0, 0)),
    )
    return Finding("race-local", "tile", places, actors, "1 writes, 18 reads", 3, "put a barrier")
