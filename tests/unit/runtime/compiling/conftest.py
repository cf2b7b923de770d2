"""What tests of compiling share."""

from __future__ import annotations

import pytest

from visim.runtime.compiling import ocloc
from visim.runtime.compiling.compilers import compilers


@pytest.fixture
def compiler():
    """The installed compiler."""
    if not compilers():
        pytest.skip("libocloc is not installed (Debian: intel-opencl-icd)")
    yield
    ocloc.close()
