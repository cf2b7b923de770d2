"""What tests of compiling share."""

from __future__ import annotations

import pytest

from visim.runtime.compiling import ocloc
from visim.runtime.compiling.opencl import find_ocloc


@pytest.fixture
def compiler():
    """The installed compiler."""
    if find_ocloc() is None:
        pytest.skip("libocloc is not installed (Debian: intel-opencl-icd)")
    yield
    ocloc.close()
