"""What runs on AArch64: the jobs of a folder, and their outputs back into it."""

from __future__ import annotations

import pickle
import sys
from pathlib import Path

from tools.aarch64.jobs import Arrays, Job
from visim.errors import VisimError


def main(folder: Path) -> None:
    """Run all jobs; what each says, or why it has failed, stands in a file of its name."""
    jobs: list[Job] = pickle.loads((folder / "jobs").read_bytes())
    for job in jobs:
        if (folder / job.name).exists():
            continue
        (folder / job.name).write_bytes(pickle.dumps("it ended the process"))
        try:
            found: Arrays | str = job.run("jit")
        except VisimError as error:
            found = str(error)
        (folder / job.name).write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
