"""Classification: every check of a rulebook becomes one edit with its normal form.

Classification is extraction: the form is computed from the expression, and the class is read off the form, so that
the two cannot disagree and spelling does not matter.

Begin with `reading`, which takes one check to its class, and `conditions`, which takes an expression to a formula.
The types of what comes out are in `masktron.constraints`.
"""

from __future__ import annotations

from collections import Counter

from masktron.classify.edit import Edit, reading_removed
from masktron.classify.forms import Effort
from masktron.classify.reading import CLASSES, Reading
from masktron.classify.situation import situations
from masktron.errors import RulebookError
from masktron.reading.contexts import matched_names
from masktron.reading.nodes import ContextRecord, Expression, OtherNodes, Unknown, fields_of, walk
from masktron.reading.reader import ROOT, Scope, read
from masktron.rulebook.schema import Rulebook
from masktron.sources.record_layout import Layout

__all__ = ["CLASSES", "Edit", "classify", "reading_removed", "record_names"]


def classify(rulebook: Rulebook, layout: Layout | None = None) -> tuple[Edit, ...]:
    """Bring every check of a rulebook to its normal form.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout, optional
        Of the file, for the record's name and the names of its fields; without it they are found from the rules.

    Returns
    -------
    tuple of Edit
        One per check, by index; what is not understood is an `OpaqueEdit` with its reason.
    """
    records = record_names(rulebook, layout)
    scope = Scope(ROOT, namespaces=rulebook.namespaces, record_names=records, base=ROOT)
    effort = Effort.shared(len(rulebook.checks))
    readings = [Reading(*where) for where in situations(rulebook, layout, scope, effort)]
    known = frozenset(name for reading in readings for name in reading.named())
    edits = [reading.edit(known) for reading in readings]
    if effort.narrow and any(reading.ran_out for reading in readings):
        again = [Reading(*where) for where in situations(rulebook, layout, scope, Effort())]
        edits = [
            reading.edit(known) if narrow.ran_out else edit
            for edit, narrow, reading in zip(edits, readings, again, strict=True)
        ]
    return tuple(edits)


def record_names(rulebook: Rulebook, layout: Layout | None) -> frozenset[str]:
    """Return the local names of record elements: the file's, or the element on which most checks read children."""
    if layout is not None:
        return frozenset({layout.record_tag.rpartition("}")[2]})
    bare = Scope(namespaces=rulebook.namespaces)
    votes: Counter[str] = Counter()
    asked: set[str] = set()
    for pattern in rulebook.patterns:
        for rule in pattern.rules:
            try:
                tests = [read(check.test, bare) for check in rule.checks]
                names = matched_names(rule.context, bare)
            except RulebookError:
                continue
            asked.update(*(fields_of(test) for test in tests))
            votes.update(dict.fromkeys(names, sum(not _reads_itself(test, names) for test in tests)))
    ranked = sorted(((count, name in asked, name) for name, count in votes.items() if count), reverse=True)
    return frozenset(name for _, _, name in ranked[:1])


def _reads_itself(test: Expression, names: tuple[str, ...]) -> bool:
    """Whether a test reads the value of its context node, or a sibling of another name: the node is a field then."""
    for node in walk(test):
        match node:
            case ContextRecord() | Unknown(source="number()" | "string()" | "string-length()" | "data()"):
                return True
            case OtherNodes(path=path) if path.startswith("../") and "/" not in path[3:] and path[3:] not in names:
                return True
            case _:
                pass
    return False
