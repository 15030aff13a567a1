"""``masktron completion``."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from masktron.errors import UsageError

SHELLS = ("bash", "zsh", "fish")
PROGRAM = "masktron"
ASKED = "_MASKTRON_COMPLETE"
"""Variable of the environment by which a shell asks what may stand next."""

_FIRST = '\n[[ $zsh_eval_context[-1] == loadautofunc ]] && _masktron_completion "$@"\n'
"""zsh reads the file when it completes the first time; without this it would only define what completes later."""


def completion(
    shell: Annotated[str, typer.Argument(metavar="SHELL", help="bash, zsh or fish.")],
) -> None:
    """Print what a shell needs to complete commands and options of masktron.

    For bash: masktron completion bash > ~/.masktron-completion, and in ~/.bashrc: source ~/.masktron-completion

    For zsh: masktron completion zsh > _masktron, in a folder of $fpath, before compinit runs.

    For fish: masktron completion fish > ~/.config/fish/completions/masktron.fish
    """
    from typer import completion as of_typer

    if shell not in SHELLS:
        raise UsageError(f"there is no completion for {shell!r}", hint=f"name one of {', '.join(SHELLS)}")
    script = of_typer.get_completion_script(prog_name=PROGRAM, complete_var=ASKED, shell=shell)  # type: ignore[attr-defined]  # it is not exported
    typer.echo(script + (_FIRST if shell == "zsh" else ""))


def answer_shells() -> None:
    """Let typer answer a shell that asks what may stand next; nothing where none does."""
    if os.environ.get(ASKED):
        from typer import completion as of_typer

        of_typer.completion_init()  # type: ignore[attr-defined]  # it is not exported
