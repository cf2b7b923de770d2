"""What the shell offers when a command is not typed to its end, and the script that asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import click
from click.shell_completion import CompletionItem, get_completion_class

from visim.cli import examples
from visim.target import PLATFORMS

if TYPE_CHECKING:
    from visim import Kernel

SHELLS = ("bash", "zsh", "fish")


def devices(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the devices whose names begin so."""
    return _beginning((platform.name for platform in PLATFORMS), incomplete)


def kernels(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
    """Return the kernels of the file on the command line whose names begin so."""
    return _beginning((kernel.name for kernel in _kernels(ctx)), incomplete)


def arguments(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Return the kernel's arguments that have no value yet, as `NAME=`."""
    found = _kernels(ctx)
    chosen = [one for one in found if one.name == ctx.params.get("kernel")] or found[:1]
    written: tuple[str, ...] = ctx.params.get(param.name or "") or ()
    given = {text.partition("=")[0] for text in written}
    return [
        CompletionItem(f"{argument.name}=", help=argument.type_name)
        for kernel in chosen
        for argument in kernel.args
        if argument.name not in given and f"{argument.name}=".startswith(incomplete)
    ]


def one_of(*choices: str) -> Callable[[click.Context, click.Parameter, str], list[str]]:
    """Return what offers words that are always the same."""

    def offered(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[str]:
        return _beginning(choices, incomplete)

    return offered


def _beginning(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete)]


def _kernels(ctx: click.Context) -> tuple[Kernel, ...]:
    """Return the kernels of the file that is named, none where it cannot be read as it is."""
    import visim
    from visim.errors import VisimError

    # An option without its value, which is what is completed, keeps click from naming arguments.
    file = ctx.params.get("file") or next(iter(ctx.args), None)
    if not isinstance(file, str):
        return ()
    try:
        if file.startswith(examples.PREFIX):
            file = examples.program_of(file.removeprefix(examples.PREFIX))
        return visim.load(file, platform=ctx.params.get("platform")).kernels
    except (VisimError, OSError):
        return ()


@click.command()
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    r"""Print what makes SHELL complete commands, files, kernels, arguments and devices.

    \b
    bash:  eval "$(visim completion bash)"         in ~/.bashrc
    zsh:   eval "$(visim completion zsh)"          in ~/.zshrc
    fish:  visim completion fish | source          in ~/.config/fish/config.fish
    """
    app = ctx.find_root().command
    kind = get_completion_class(shell)
    if kind is not None:
        click.echo(kind(app, {}, "visim", "_VISIM_COMPLETE").source())
