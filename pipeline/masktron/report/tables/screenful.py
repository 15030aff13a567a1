"""Lines that fit a screen: what has to be said is said whole, the rest is cut to a line each, or counted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from masktron.counts import counted
from masktron.problems.problem import Sentence
from masktron.problems.wording import sentence
from masktron.report.text import printable
from masktron.results import RuleFate, TreatmentResult

LINES, COLUMNS = 30, 100
"""What fits."""
_LABEL = 10
"""Columns for what a line is about."""
_ENOUGH = 0.5
"""Part of a line that is kept at least where a text is cut at the end of a clause."""


def further(what: str) -> str:
    """Say how to read what a summary leaves out."""
    return f"{what}: --verbose; for programs: --json FILE"


@dataclass(frozen=True, slots=True)
class SummaryLine:
    """Something to say.

    Attributes
    ----------
    label, text : str
        What it is about, and what is said.
    whole : bool
        Whether it is never cut.
    style : str
        Of the label, for rich.
    cut_to : str
        What is said where it is cut, with what matters most first; the text by default.
    """

    label: str
    text: Sentence
    whole: bool = True
    style: str = "bold"
    cut_to: Sentence = ""

    def wrapped(self, width: int, *, cut: bool, rows: int = 1) -> list[str]:
        """Return the lines of the text, or so many that are left of it, with dots where more was."""
        room = max(width - _LABEL, 20)
        text = self.cut_to if cut and self.cut_to else self.text
        lines = textwrap.wrap(printable(sentence(text).replace("\n", " ")), room, break_on_hyphens=False) or [""]
        if not cut or len(lines) <= rows:
            return lines
        return [*lines[: rows - 1], _clause(lines[rows - 1][: room - 4], " ".join(lines[rows - 1 :]))]


def _clause(line: str, text: str) -> str:
    """Return what of a text a line has room for: up to the end of a clause, where one is not too early."""
    if not text.startswith(f"{line} "):
        line = line.rpartition(" ")[0] or line
    ends = [line.rfind(mark) for mark in ("; ", ": ", ", ")]
    kept = max((at for at in ends if at >= _ENOUGH * len(line)), default=len(line))
    return f"{line[:kept]} ..."


def brief(label: str, texts: Iterable[Sentence], style: str = "bold") -> list[SummaryLine]:
    """Return lines that may be cut, or counted where there are too many; what matters most comes first."""
    return [SummaryLine(label, text, whole=False, style=style) for text in texts]


@dataclass(frozen=True, slots=True)
class Screenful:
    """Lines in their order, of which the brief ones give way.

    Attributes
    ----------
    lines : sequence of SummaryLine
    rest : str
        How to read what was cut, the last line.
    used : int
        Lines of the screen that stand above it.
    """

    lines: Sequence[SummaryLine]
    rest: str = further("all tables and notes")
    used: int = 0

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        width = min(options.max_width, COLUMNS)
        laid = self._laid(width)
        left_out = len(self.lines) - len(laid)
        said = ""
        for line, rows in laid:
            for at, row in enumerate(rows):
                label = line.label if at == 0 and line.label != said else ""
                yield Text.assemble((f"{label:<{_LABEL}}", line.style), row)
            said = line.label
        more = f"{counted(left_out, 'more matter')} to know, and {self.rest}" if left_out else self.rest
        for at, row in enumerate(SummaryLine("more", more).wrapped(width, cut=False)):
            yield Text.assemble((f"{'' if at else 'more':<{_LABEL}}", "bold"), row)

    def _laid(self, width: int) -> list[tuple[SummaryLine, list[str]]]:
        """Choose what is shown, and cut it: brief lines as far as there is room, warnings before all others."""
        whole = sum(len(line.wrapped(width, cut=False)) for line in self.lines if line.whole)
        room = LINES - self.used - whole - 1
        kept: dict[int, list[str]] = {}
        spare = max(room, 3)
        briefs = [at for at, line in enumerate(self.lines) if not line.whole]
        grave = [at for at in briefs if self.lines[at].style != "bold"]
        for some in (grave, [at for at in briefs if at not in grave]):
            chosen = some[:spare]
            spare -= len(chosen)
            for at in chosen:
                full = self.lines[at].wrapped(width, cut=False)
                fits = len(full) - 1 <= spare
                rows = 2 if self.lines[at].cut_to and spare else 1
                kept[at] = full if fits else self.lines[at].wrapped(width, cut=True, rows=rows)
                spare -= len(kept[at]) - 1
        return [
            (line, line.wrapped(width, cut=False) if line.whole else kept[at])
            for at, line in enumerate(self.lines)
            if line.whole or at in kept
        ]


def treated_in_brief(treatments: Sequence[TreatmentResult], fates: Sequence[RuleFate]) -> list[SummaryLine]:
    """Say which fields were treated how, and how many rules became what; those that ask nothing more by name."""
    kinds = dict.fromkeys(one.kind for one in treatments)
    own = {kind: [one for one in treatments if one.kind == kind] for kind in kinds}
    lines = []
    if kinds:
        named = (f"{kind} of {', '.join(one.field for one in own[kind])}" for kind in kinds)
        lines.append(SummaryLine("treated", "; ".join(named)))
    for kind in [kind for kind in kinds if kind != "recoding"]:
        lines += brief("treated", ["; ".join(f"{one.field}: {one.how}" for one in own[kind])])
    if fates:
        fated = dict.fromkeys(one.fate for one in fates)
        told = ", ".join(f"{sum(one.fate == fate for one in fates)} {fate}" for fate in fated)
        less = [one.rule for one in fates if one.fate in ("lost", "weakened", "removed")]
        told += f"; less or nothing is asked by {', '.join(less)}" if less else ""
        lines.append(SummaryLine("rules now", told))
        idle = [one.rule for one in fates if one.fate == "vacuous"]
        if idle:
            lines.append(SummaryLine("look at", f"nothing is asked any more by {', '.join(idle)}", style="yellow"))
    return lines
