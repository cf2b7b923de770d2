"""What threads write where, so that memory says in which order they ran."""

from __future__ import annotations

TICKET = """
    lsc_load.ugm (M1_NM, 1) V44:d32 flat[V41]:a64
    add (M1_NM, 1) V44(0,0)<1> V44(0,0)<0;1,0> 0x1:ud
    lsc_store.ugm (M1_NM, 1) flat[V41]:a64 V44:d32
    shl (M1_NM, 1) V44(0,0)<1> V44(0,0)<0;1,0> 0x2:ud
    add (M1_NM, 1) V61(0,0)<1> V41(0,0)<0;1,0> V44(0,0)<0;1,0>
    lsc_store.ugm (M1_NM, 1) flat[V61]:a64 V40:d32
"""
"""Writes the thread's number, V40, behind what others have written."""
