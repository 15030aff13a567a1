"""Run the command line in this process and keep what it says."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from masktron.commands import help_pages
from masktron.commands.line import main
from masktron.errors import MasktronError
from refusals import code_of, require_problem

SCHEMATRON = "http://purl.oclc.org/dsdl/schematron"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str
    error: MasktronError | None = None

    def refuses(self, code: int, problem: str, /, **references: Any) -> None:
        """Check the exit code, and the code and references of the error that was shown."""
        assert self.code == code, self
        assert self.error is not None, self
        require_problem(self.error, problem, **references)
        assert code_of(self.err) == problem


SUMMARISED = {"mask", "check", "assess", "keys", "validate"}
"""Commands that print all they found with ``--verbose`` alone."""


class Runner:
    """Calls ``masktron`` with arguments; width is fixed, and all is printed, so that messages do not wrap.

    With ``whole=False`` commands print what they do by default.
    """

    def __init__(self, capsys: pytest.CaptureFixture[str], *, whole: bool = True, width: str = "200") -> None:
        self.capsys, self.whole, self.width = capsys, whole, width

    def __call__(self, *arguments: object) -> Outcome:
        self.capsys.readouterr()
        argv = ["masktron", *(str(argument) for argument in arguments)]
        if self.whole and argv[1:2] and argv[1] in SUMMARISED and "--help" not in argv:
            argv.insert(2, "--verbose")
        shown = patch.object(help_pages, "page_of_error", wraps=help_pages.page_of_error)
        with patch.object(sys, "argv", argv), patch.dict("os.environ", {"COLUMNS": self.width}), shown as page:
            try:
                main()
            except SystemExit as stop:
                code = stop.code
            else:
                code = 0
        captured = self.capsys.readouterr()
        assert "Traceback" not in captured.err
        error = page.call_args.args[0].with_traceback(None) if page.called else None
        return Outcome(int(code or 0), captured.out, captured.err, error)


def write_file(path: Path, content: str | bytes) -> Path:
    """Write a file, and return where it is."""
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def write_rules(path: Path, *tests: str, binding: str = "", context: str = "Record", extra: str = "") -> Path:
    """Write a rulebook with one pattern per test; ids are R1, R2, ..."""
    escaped = [test.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;") for test in tests]
    patterns = "".join(
        f'<pattern><rule context="{context}">'
        f'<assert id="R{number}" test="{test}">R{number} fails</assert></rule></pattern>'
        for number, test in enumerate(escaped, 1)
    )
    attribute = f' queryBinding="{binding}"' if binding else ""
    path.write_text(f'<schema xmlns="{SCHEMATRON}"{attribute}>{extra}{patterns}</schema>', encoding="utf-8")
    return path


def write_data(path: Path, rows: Iterable[dict[str, object]], record: str = "Record") -> Path:
    """Write records in the plain format; None leaves a field out."""
    lines = ["<Data>"]
    for row in rows:
        cells = "".join(f"<{name}>{value}</{name}>" for name, value in row.items() if value is not None)
        lines.append(f"<{record}>{cells}</{record}>")
    path.write_text("\n".join([*lines, "</Data>"]), encoding="utf-8")
    return path


def numbers(n: int = 40, seed: int = 1) -> list[dict[str, object]]:
    """Records with A + B = T, all integers."""
    import numpy as np

    generator = np.random.default_rng(seed)
    parts = generator.integers(0, 1000, size=(n, 2)).tolist()
    return [{"A": a, "B": b, "T": a + b} for a, b in parts]
