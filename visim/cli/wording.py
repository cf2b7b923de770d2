"""What the library says, in the words of the command line: `--global`, not `global_size`."""

from __future__ import annotations

import re

OPTIONS = {
    "global_size": "global",
    "local_size": "local",
    "global_offset": "offset",
    "thread_groups": "groups",
    "group_size": "group-size",
    "thread_space": "thread-space",
    "require_exact": "require-exact",
    "surfaces": "surface",
    "samplers": "sampler",
    "platform": "device",
    "output": "o",
}
"""Options of the command line that have another name than the library's, by that."""

_ANYWHERE = (
    "global_size|local_size|global_offset|thread_groups|group_size|thread_space|require_exact"
)
_AT_ITS_BEGINNING = (
    "surfaces|samplers|platform|device|options|dependency|engine|seed|budget|timeout|workers|checks"
    "|collect|sanitize|bounds|visa|isa_version|kernel|compiler|socket|trace-only"
)
_NAME = re.compile(
    rf"(?<![\w'\"./-])(?:(?P<name>{_ANYWHERE})\b(?P<value>='\w+')?(?!['\"(])"
    rf"|^(?P<first>{_AT_ITS_BEGINNING})(?=: ))",
    re.MULTILINE,
)
_SAID = {
    "visim.Local(nbytes)": "local:BYTES",
    "checks='off'": "--checks off",
    "checks='on'": "--checks on",
}


def flag(name: str) -> str:
    """Return an option of the library as it is typed: `global_size` is `--global`."""
    typed = OPTIONS.get(name, name).replace("_", "-")
    return f"-{typed}" if len(typed) == 1 else f"--{typed}"


def in_options(message: str) -> str:
    """Return a message of the library that speaks of options as they are typed.

    Names that stand in quotation marks are somebody else's, such as those of arguments.
    """
    for said, typed in _SAID.items():
        message = message.replace(said, typed)
    return _NAME.sub(_typed, message)


def _typed(match: re.Match[str]) -> str:
    value = match["value"]
    return flag(match["name"] or match["first"]) + (f" {value[2:-1]}" if value else "")
