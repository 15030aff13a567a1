"""``masktron demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, override

from masktron.commands import running
from masktron.commands.base import Plain
from masktron.declared import OUTPUT, setting
from masktron.errors import Exit
from masktron.progress import Progress


class Demo(Plain):
    """Validate, mask and check the samples that come with masktron."""

    name = "demo"

    out: Path = setting(
        "Where the results go.",
        OUTPUT,
        default=Path("masktron-demo"),
        short="-o",
        metavar="FOLDER",
        shown="masktron-demo",
    )

    @override
    def carry_out(self, progress: Progress) -> Any:
        from masktron.jobs.demo import run_demo

        return run_demo(self.out, running.console(stderr=running.is_stdout(self.json)), progress)

    @override
    def tell(self, result: Any) -> None:
        running.write(result.as_dict(), self.json)  # all else has been said

    @override
    def code(self, result: Any) -> Exit:
        return Exit.COMPLIES if result.complies else Exit.VIOLATION
