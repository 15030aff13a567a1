"""An assessment on one screen: the figures by what they are about, and what keys tell."""

from __future__ import annotations

import math

from rich.console import RenderableType

from masktron.report.key_lines import key_lines
from masktron.report.level_lines import level_lines
from masktron.report.summaries.screenful import Screenful, SummaryLine, brief, further
from masktron.report.summaries.treated_in_brief import treated_in_brief
from masktron.report.tables.assess import compared_told, untold
from masktron.report.tables.cells import in_short, statements
from masktron.results import AssessResult
from masktron.serialised import plain_data


def summary(result: AssessResult) -> list[RenderableType]:
    """Figures with values, a paragraph for each group; what they mean is in the tables."""
    told = [one for one in result.figures if not math.isnan(one.value)]
    lines = [
        *(SummaryLine(label, text) for label, _, text in (one.partition(": ") for one in in_short(told))),
        *treated_in_brief(result.treatments, result.fates),
        *brief("keys", [] if result.keys is None else key_lines(result.keys.as_dict())),
        *brief("levels", level_lines(plain_data(result.levels))),
        *brief("note", result.notes),
        *brief("no figure", untold(result)),
    ]
    rest = further("what each figure means, and all notes")
    return [Screenful(lines, rest, used=7), compared_told(result), *statements(result.verdict)]
