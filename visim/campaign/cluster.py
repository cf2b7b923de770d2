"""A Dask cluster as the place where cells run: workers of it have workers of visim.

A cell is isolated there as it is here: a thread of a Dask worker asks a process of its own, which
forks. So a cell that crashes or takes all memory harms no worker of the cluster. Where a worker of
it goes away, the scheduler gives its cells to others.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from itertools import count
from time import monotonic
from typing import Any

from visim.campaign import content
from visim.campaign.cells import Cell
from visim.campaign.children import Limits
from visim.campaign.outcomes import Outcome, Result
from visim.campaign.pools import Done, PoolGoneError
from visim.campaign.workers import Idle
from visim.errors import ArgumentError, ToolMissing

_CONNECT_S = 30
_LOOK_S = 5.0
"""So often the number of the cluster's threads is asked for."""
_WORKERS = Idle()


def run_cell(cell: Mapping[str, Any], seconds: float, memory: int) -> dict[str, Any]:
    """Run a cell in a worker of the cluster; return its result in the form of files."""
    return _WORKERS.run(cell, Limits(seconds, memory)).to_dict()


def result_of(ended: Any, scheduler: str) -> Result | PoolGoneError:
    """Return what came of a cell; wait where it runs again, as a worker has gone with the answer.

    Args:
        ended: the future of distributed. Its status is "cancelled" where the scheduler has gone,
            "lost" where a worker has gone that had the answer; then another one makes it anew.
        scheduler: the address.
    """
    try:
        return Result.of(ended.result())
    except Exception as error:  # distributed wraps what it likes
        if ended.cancelled():
            return PoolGoneError(f"the scheduler {scheduler} has gone; start again to go on")
        if type(error).__name__ == "KilledWorker":
            return Result(Outcome.LOST, "workers of the cluster went away with it, repeatedly")
        return Result(Outcome.LOST, f"the cluster: {type(error).__name__}: {error}")


class ClusterPool:
    """The workers of an existing cluster.

    Args:
        address: that of its scheduler, such as `tcp://10.0.0.1:8786`.

    Raises:
        ToolMissing: the package `distributed` is not installed.
        ArgumentError: there is no scheduler, or its workers have another visim.
    """

    def __init__(self, address: str) -> None:
        try:
            import distributed
            from distributed.comm.addressing import get_address_host_port
        except ImportError:
            message = "--scheduler needs the package distributed: pip install 'visim[cluster]'"
            raise ToolMissing(message) from None
        try:
            get_address_host_port(address)  # a client that fails here is none yet
            self._client: Any = distributed.Client(
                address, timeout=_CONNECT_S, set_as_default=False, name="visim-campaign"
            )
        except (OSError, ValueError, TypeError) as error:
            raise ArgumentError(f"--scheduler {address}: no scheduler answers: {error}") from None
        self._address = address
        self._numbers = count()
        self._size = 0
        self._looked = -_LOOK_S
        try:
            self._check_versions()
        except BaseException:
            self.close()
            raise

    @property
    def size(self) -> int:
        """How many threads the cluster has now."""
        if monotonic() - self._looked > _LOOK_S:
            self._looked = monotonic()
            with suppress(OSError):
                self._size = sum(self._client.nthreads().values())
        return self._size

    def submit(self, cell: Cell, limits: Limits, done: Done) -> None:
        """Have a cell run."""
        future = self._client.submit(
            run_cell,
            cell.to_dict(),
            limits.seconds,
            limits.memory,
            key=f"visim-{cell.key}-{next(self._numbers)}",
            pure=False,
        )

        def tell(ended: Any) -> None:
            done(cell, result_of(ended, self._address))
            ended.release()

        future.add_done_callback(tell)

    def close(self) -> None:
        """Leave the cluster; cells that nobody waits for any more are cancelled."""
        with suppress(Exception):
            self._client.close(timeout=_LOOK_S)

    def _check_versions(self) -> None:
        """Refuse a cluster without workers, or whose workers would give other results."""
        try:
            found: Mapping[str, Any] = self._client.run(content.version)
        except Exception as error:
            message = f"its workers cannot load visim: {type(error).__name__}: {error}"
            raise ArgumentError(f"--scheduler {self._address}: {message}") from None
        if not found:
            raise ArgumentError(f"--scheduler {self._address}: the cluster has no workers")
        mine = content.version()
        other = next((one for one in found.items() if one[1] != mine), None)
        if other is not None:
            raise ArgumentError(
                f"--scheduler {self._address}: {other[0]} has visim {other[1]}, here is {mine}; "
                "install the same everywhere"
            )
