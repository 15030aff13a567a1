"""``masktron demo``."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import attrs
from attrs import field

from masktron.commands import running
from masktron.commands.base import JsonLine, Line, Plain
from masktron.declared import OUTPUT, checked, declared
from masktron.errors import Exit
from masktron.progress import Progress


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class DemoLine(JsonLine):
    """What is said while it runs."""

    def carry_out(self, command: Any, progress: Progress) -> Any:
        """Run the demonstration."""
        from masktron.jobs.demo import run_demo

        return run_demo(command.out, running.console(stderr=running.is_stdout(self.json)), progress)

    def tell(self, command: Any, result: Any) -> None:
        """Write the result; all else has been said."""
        running.write(result.as_dict(), self.json)

    def code(self, result: Any) -> Exit:
        """Return whether all complies."""
        return Exit.COMPLIES if result.complies else Exit.VIOLATION


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Demo(Plain):
    """Validate, mask and check the samples that come with masktron."""

    name = "demo"
    line: ClassVar[type[Line]] = DemoLine

    out: Path = field(
        default=Path("masktron-demo"),
        metadata=declared(
            "Where the results go.", OUTPUT, short="-o", metavar="FOLDER", shown="masktron-demo", read=Path
        ),
    )
