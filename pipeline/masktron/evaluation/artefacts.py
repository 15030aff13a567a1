"""Findings that are rounding artefacts: the rule fails in doubles, and holds in exact decimals.

The test is read as what `masktron.reading` says of a record, and evaluated twice on the fields of the finding: in
doubles, as the engines do, and in fractions. Truth has three values, as not all is said; what is not known to hold
exactly is no artefact. The verdict stays the engine's: this only says what lies behind it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from masktron.classify import record_names
from masktron.classify.effort import Effort
from masktron.classify.situation import Situation
from masktron.errors import RulebookError
from masktron.evaluation.findings import Finding
from masktron.evaluation.tree import NEAR, TreeEvaluation, TreeItems, UntypedText
from masktron.reading.nodes import Call, Comparison, Expression, FieldRef
from masktron.reading.reader import ROOT, Scope
from masktron.rulebook.schema import Rulebook
from masktron.sources.records import Layout

type _Values = tuple[tuple[str, str | None], ...]

_REMEMBERED = 20_000
"""Verdicts on equal cells that are kept."""


@dataclass(frozen=True, slots=True)
class _Asked:
    """A test, whether the rule wants it to be true, and the two fields that it compares if it does no more."""

    test: Expression
    wanted: bool
    pair: tuple[str, str] | None

    @classmethod
    def of(cls, test: Expression, wanted: bool) -> _Asked:
        names = (_field_of(test.left), _field_of(test.right)) if isinstance(test, Comparison) else ()
        return cls(test, wanted, (names[0], names[1]) if len(names) == 2 and names[0] and names[1] else None)

    def is_clear(self, values: _Values) -> bool:
        """Whether the two fields are one number each, and far apart: they have the same order in every reading."""
        cells = dict(values)
        if self.pair is None or len(cells) != len(values):
            return False
        try:
            one, other = (float(cells[name] or "") for name in self.pair)
        except (ValueError, KeyError):
            return False
        return abs(one - other) > NEAR * max(abs(one), abs(other))


def _field_of(operand: Expression) -> str | None:
    match operand:
        case FieldRef(name=name) | Call(name="number", arguments=(FieldRef(name=name),)):
            return name
        case _:
            return None


class Artefacts:
    """Tells rounding artefacts among the findings of a rulebook.

    Parameters
    ----------
    rulebook : Rulebook
    layout : Layout
        Of the file, for the name of its records.
    """

    def __init__(self, rulebook: Rulebook, layout: Layout) -> None:
        self._old = rulebook.version == "1.0"
        self._rulebook = rulebook
        self._layout = layout
        self._start = Scope(
            ROOT, namespaces=rulebook.namespaces, record_names=record_names(rulebook, layout), base=ROOT
        )
        self._asked: dict[int, _Asked | None] = {}
        self._known: dict[tuple[int, _Values], bool] = {}

    def marked(self, finding: Finding) -> Finding:
        """Return the finding, with `Finding.artefact` where it is one."""
        return replace(finding, artefact=True) if self.is_artefact(finding) else finding

    def is_artefact(self, finding: Finding) -> bool:
        """Whether what failed holds in exact decimals; False where the tree cannot tell."""
        if finding.member is not None or finding.among or any("/" in name for name, _ in finding.values):
            return False  # the tree is that of one record, and has no members
        if finding.check not in self._asked:  # most rules never fail, and to read a test takes a millisecond
            self._asked[finding.check] = self._read(finding.check)
        asked = self._asked[finding.check]
        if asked is None or finding.kind == "error" or not finding.values or asked.is_clear(finding.values):
            return False
        cells = finding.check, finding.values
        known = self._known.get(cells)
        if known is None:
            known = self._decide(asked, finding.values)
            if len(self._known) < _REMEMBERED:
                self._known[cells] = known
        return known

    def _decide(self, asked: _Asked, values: _Values) -> bool:
        fields: dict[str, TreeItems] = {}
        for name, text in values:
            fields[name] = (*fields.get(name, ()), *(() if text is None else (UntypedText(text),)))
        doubles = TreeEvaluation(fields, float, self._old)
        said = doubles.truth(asked.test)
        if not doubles.doubtful or TreeEvaluation(fields, Fraction, self._old).truth(asked.test) is not asked.wanted:
            return False
        # where the doubles say what the rule wants, nothing that is known here made it fail
        return said is not asked.wanted

    def _read(self, index: int) -> _Asked | None:
        """Return the test of a check that is read at records, or at one field of them."""
        pattern, position, check = next(each for each in self._rulebook.situated() if each[2].index == index)
        situation = Situation(self._rulebook, self._layout, pattern, self._start, Effort())
        try:
            places = situation.places(position)
            if len(places) != 1 or places[0].kind not in ("record", "field"):
                return None
            return _Asked.of(situation.test(position, check, places[0]), check.kind == "assert")
        except (RulebookError, RecursionError):
            return None  # what the tree cannot say is no artefact
