"""Where a body may end."""

import pytest

from visim.check import verify_module
from visim.diag import Source
from visim.text import read_text

HEAD = '.version 4.1\n.kernel "k"\n.kernel_attr SimdSize=8\n.function "k_0"\n\nk_0:\n'


def codes(body: str) -> list[str]:
    return [finding.code for finding in verify_module(read_text(Source("t", HEAD + body)), None)]


@pytest.mark.parametrize(
    "body",
    [
        "    ret (M1, 1)\n",
        "    ret (M1, 1)\n\nremoved:\n",
        '    ret (M1, 1)\n\nremoved:\n    FILE "a.cl"\n    LOC 7\n\nalso_removed:\n',
        "again:\n    goto (M1, 1) again\n",
    ],
)
def test_a_body_ends_with_a_transfer_before_dead_labels(body: str):
    assert codes(body) == []


@pytest.mark.parametrize(
    "body",
    [
        "    goto (M1, 1) end\n    ret (M1, 1)\n\nend:\n",
        "    fence_sw\n",
        "    ret (M1, 1)\n\nremoved:\n    fence_sw\n",
        "",
    ],
)
def test_control_that_can_run_off_the_end_is_an_error(body: str):
    assert codes(body) == ["no-return"]
