"""``masktron completion``."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from masktron.commands import ASKED, PROGRAM
from masktron.commands.base import Plain
from masktron.declared import setting
from masktron.errors import UsageError
from masktron.problems.problem import Known
from masktron.progress import Progress, no_progress

SHELLS = ("bash", "zsh", "fish")


class Completion(Plain):
    """Print what a shell needs to complete commands and options of masktron.

    For bash: masktron completion bash > ~/.masktron-completion, and in ~/.bashrc: source ~/.masktron-completion

    For zsh: masktron completion zsh > _masktron, in a folder of $fpath, before compinit runs.

    For fish: masktron completion fish > ~/.config/fish/completions/masktron.fish
    """

    name = "completion"
    hides = ("json",)
    shows_progress = False

    shell: str = setting("bash, zsh or fish.", kw_only=False, metavar="SHELL")

    def run(self, progress: Progress = no_progress) -> None:
        """Print the script."""
        del progress
        made = get_completion_class(self.shell) if self.shell in SHELLS else None
        if made is None:
            raise UsageError.of(
                "unknown-name", kind="completion", name=self.shell, known=Known(self.shell, tuple(SHELLS))
            )
        click.echo(made(click.get_current_context().find_root().command, {}, PROGRAM, ASKED).source())
