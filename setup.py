"""The package's long description: README.md with links that work where it is shown alone.

`Repository` of `project.urls` in pyproject.toml is where they lead. As long as no address is
there, links into the repository are plain text, and pictures are left out. All else that the build
needs stands in pyproject.toml.
"""

import re
import tomllib
from pathlib import Path

from setuptools import setup

ROOT = Path(__file__).parent
_LINK = re.compile(r"(?P<picture>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^)\s]+)\)")


def long_description(readme: str, repository: str | None) -> str:
    """Return a README whose links do not depend on where it is.

    Args:
        readme: the text in Markdown.
        repository: the address of the repository, None where it has none yet.
    """

    def replaced(link: re.Match[str]) -> str:
        picture, text, target = link["picture"], link["text"], link["target"]
        if "://" in target or target.startswith("#"):
            return link[0]
        if repository is None:
            return "" if picture else text
        kind = "raw" if picture else "blob"
        return f"{picture}[{text}]({repository}/{kind}/main/{target})"

    return _LINK.sub(replaced, readme)


if __name__ == "__main__":
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    setup(
        long_description=long_description(
            (ROOT / "README.md").read_text(encoding="utf-8"),
            project.get("urls", {}).get("Repository"),
        ),
        long_description_content_type="text/markdown",
    )
