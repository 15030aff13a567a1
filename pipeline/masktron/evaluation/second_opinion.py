"""A second opinion: what pyschematron decides on the same records, and whether it agrees with us."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import version
from operator import or_
from types import MappingProxyType
from typing import Any, cast

import numpy as np
from elementpath import DocumentNode, ElementNode
from elementpath.tree_builders import get_node_tree
from lxml import etree
from numpy.typing import NDArray

from masktron.errors import RulebookError
from masktron.evaluation.deviations import Deviation, explanations
from masktron.evaluation.findings import Evaluation, Verdict
from masktron.evaluation.not_compared import not_compared, without
from masktron.evaluation.programs import Guard
from masktron.evaluation.pyschematron_validator import PyschematronValidator
from masktron.evaluation.request import EvaluationRequest
from masktron.evaluation.traits import Oddity, ParsedCheck, names, oddities_of, oddity, read
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Check, Rulebook, XPathVersion
from masktron.sources.records import Layout
from masktron.sources.xml.microdata import iter_chunks
from masktron.sources.xml.parser import parse_text, parse_tree, tree_parser

_BINDINGS: Mapping[XPathVersion, str] = MappingProxyType(
    {"1.0": "xslt", "2.0": "xslt2", "3.0": "xslt3", "3.1": "xpath31"}
)
"""The bindings under which pyschematron knows the versions; it is particular about their spelling."""

_LEXEMES = 100_000
"""Values whose oddities are remembered: a masked file repeats them."""
_MOST_TOGETHER = 5_000
"""Records that are read at a time, of which pyschematron sees some."""

type JudgedRecords = dict[Any, int]
"""Record elements of a chunk and the position of each among the judged records."""


@dataclass(frozen=True, slots=True, eq=False)
class Opinion:
    """What pyschematron says of some records.

    Attributes
    ----------
    records : ndarray of intp, shape (n,)
        Positions in the file of the records that were judged, ascending.
    complete : bool
        Whether these are all records of the file.
    verdicts : ndarray of uint8, shape (n, checks)
        `Verdict` codes; over several nodes of a record, the worst.
    fired, failed, errors : ndarray of int64, shape (checks,)
        Numbers of nodes, as in `Evaluation`, over the judged records. A fired report counts as failed.
    not_compared : mapping of int to str
        Checks that look beyond one record, which chunks cannot judge, with the reason.
    crashed : mapping of int to str
        Checks that pyschematron cannot judge on any document, with its error.
    problems : mapping of int to str
        The first error of each check that has errors.
    oddities : tuple of mapping of str to Oddity, n of them
        Of each record, the fields whose values engines read differently, by local name.
    engine : str
    """

    records: NDArray[np.intp]
    complete: bool
    verdicts: NDArray[np.uint8]
    fired: NDArray[np.int64]
    failed: NDArray[np.int64]
    errors: NDArray[np.int64]
    not_compared: Mapping[int, str]
    crashed: Mapping[int, str]
    problems: Mapping[int, str]
    oddities: tuple[Mapping[str, Oddity], ...]
    engine: str


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Records on which pyschematron and we differ about one check, for one reason.

    Attributes
    ----------
    check : int
        Index of the check.
    id : str
        Its name.
    records : int
        How many of the compared records differ for this reason; 0 where only numbers of nodes differ.
    examples : tuple of int
        Positions of the first of them.
    ours, theirs : tuple of (int, int)
        Fired and violated, over all compared records: nodes where the whole file was judged, else records.
    deviation : Deviation or None
        The known deviation that explains it.
    error : str
        pyschematron's error, if it gave one.
    """

    check: int
    id: str
    records: int
    examples: tuple[int, ...]
    ours: tuple[int, int]
    theirs: tuple[int, int]
    deviation: Deviation | None
    error: str = ""

    def __str__(self) -> str:
        why = f"known: {self.deviation.id}" if self.deviation else "not explained by any known deviation"
        error = f" ({self.error})" if self.error else ""
        return (
            f"{self.id}: fired {self.ours[0]}, violated {self.ours[1]}; pyschematron says fired {self.theirs[0]}, "
            f"violated {self.theirs[1]}; {self.records} records differ; {why}{error}"
        )


@dataclass(frozen=True, slots=True)
class Agreement:
    """The comparison of our evaluation with pyschematron's.

    Attributes
    ----------
    records, checks : int
        How many were compared.
    disagreements : tuple of Disagreement
        Ordered by check, one for each reason.
    not_compared : mapping of str to str
        Names of checks that only the whole file can judge, with the reason.
    engine : str
    """

    records: int
    checks: int
    disagreements: tuple[Disagreement, ...]
    not_compared: Mapping[str, str]
    engine: str

    @property
    def blocking(self) -> tuple[Disagreement, ...]:
        """The disagreements that no known deviation explains."""
        return tuple(d for d in self.disagreements if d.deviation is None)


def evaluate_with_pyschematron(
    request: EvaluationRequest, *, records: range | NDArray[np.intp] | None = None, chunk: int = 25
) -> Opinion:
    """Let pyschematron judge the records of a file, some at a time.

    Parameters
    ----------
    request : EvaluationRequest
        Its rulebook has pyschematron's schema.
    records : range or ndarray of intp, optional
        Positions of the records to judge; all by default.
    chunk : int
        Records in each document that pyschematron sees; where only some are to be judged, about as many of these.

    Raises
    ------
    RulebookError
        If the rulebook carries no schema for pyschematron.
    DocumentError
        If the file cannot be read.
    """
    request = request.on_document()
    path, rulebook, layout = request.path, request.rulebook, request.layout
    if rulebook.pyschematron_schema is None:
        raise RulebookError(
            "the rulebook carries no schema for pyschematron",
            where=str(rulebook.path),
            hint="Read it with read_rules.",
        )
    tally = _Tally(rulebook, layout)
    judge = _judge(request)
    complete = True
    # of a sample, as many records in a document as of a whole file
    together = chunk if records is None else min(chunk * _apart(records), max(chunk, _MOST_TOGETHER))
    for root, first, count in ((c.root, c.first, len(c.lines)) for c in iter_chunks(path, layout, together)):
        wanted = _wanted(records, first, count)
        complete = complete and len(wanted) == count
        if len(wanted):
            places = _keep(root, layout, wanted)
            tally.add(judge, etree.ElementTree(root), places, first + wanted)
            request.tell(len(tally))
    return tally.opinion(judge.crashed, complete=complete)


def _apart(records: range | NDArray[np.intp]) -> int:
    """Return how far records stand apart in the mean, at least 1."""
    return max(1, (int(records[-1]) + 1) // len(records)) if len(records) else 1


class NotSampledError(Exception):
    """Records that were cut from a file are not what they were taken for; it never reaches the user."""


def evaluate_cut(
    rulebook: Rulebook,
    layout: Layout,
    documents: Iterable[tuple[bytes, NDArray[np.intp]]],
    guard: Guard,
    *,
    complete: bool,
) -> Iterator[int | Opinion]:
    """Let pyschematron judge records that were cut from a file; yield how many it has judged, and then the opinion.

    Parameters
    ----------
    rulebook : Rulebook
        One that asks for no document.
    layout : Layout
    documents : iterable of (bytes, ndarray of intp)
        Each with some records in their parent, and their positions in the file.
    guard : Guard
        What has to be true of each document.
    complete : bool
        Whether these are all records of the file.

    Raises
    ------
    NotSampledError
        A document is not well-formed, not as the guard wants it, or has another number of records.
    """
    tally = _Tally(rulebook, layout)
    judge = PyschematronValidator(_schema(rulebook))
    for document, positions in documents:
        try:
            root = etree.fromstring(document, tree_parser())
        except etree.XMLSyntaxError as problem:
            raise NotSampledError(str(problem)) from None
        tree = root.getroottree()
        records = _records(root, layout)
        if not tree.xpath(guard.test, namespaces=dict(guard.prefixes) or None) or len(records) != len(positions):
            raise NotSampledError(guard.test)
        tally.add(judge, tree, {record: place for place, record in enumerate(records)}, positions)
        yield len(tally)
    yield tally.opinion(judge.crashed, complete=complete)


def _schema(rulebook: Rulebook) -> Any:
    return without(rulebook.pyschematron_schema, not_compared(rulebook)).with_updated(
        query_binding=_BINDINGS[rulebook.version]
    )


def _judge(request: EvaluationRequest) -> PyschematronValidator:
    rulebook, original = request.rulebook, request.original
    schema = _schema(rulebook)
    # elementpath knows no document() in XPath 1.0
    documents = None if rulebook.version == "1.0" else request.documents(known=True)
    if documents is None:
        return PyschematronValidator(schema)
    texts = {one.name: one.text for one in documents.beside}
    trees = {name: get_node_tree(root=etree.ElementTree(parse_text(text.encode()))) for name, text in texts.items()}
    if original is not None and documents.original is not None:
        tree = get_node_tree(root=parse_tree(original))
        trees |= {name: tree for name in rulebook.documents if name not in texts}
    return PyschematronValidator(schema, {name: cast(DocumentNode, tree) for name, tree in trees.items()})


def _wanted(records: range | NDArray[np.intp] | None, first: int, count: int) -> NDArray[np.intp]:
    """Return which of the ``count`` records from ``first`` on are to be judged, counted from ``first``."""
    here = np.arange(count, dtype=np.intp)
    return here if records is None else here[np.isin(here + first, np.asarray(records))]


def _keep(root: etree._Element, layout: Layout, wanted: NDArray[np.intp]) -> JudgedRecords:
    """Take the other records out of a chunk; return the place of each that stays."""
    level = _records(root, layout)
    stays = set(wanted.tolist())
    for position, record in enumerate(level):
        if position not in stays and (parent := record.getparent()) is not None:
            parent.remove(record)
    return {level[position]: place for place, position in enumerate(wanted.tolist())}


def _records(root: etree._Element, layout: Layout) -> list[etree._Element]:
    level = [root]
    for tag in layout.record_path[1:]:
        level = [child for parent in level for child in parent if child.tag == tag]
    return level


class _Tally:
    """Collects decisions, and finds out which of them a chunk cannot know."""

    def __init__(self, rulebook: Rulebook, layout: Layout) -> None:
        self._checks = len(rulebook.checks)
        self._beyond = {index: why for index, why in enumerate(locality(rulebook, layout)) if why}
        self._beyond |= not_compared(rulebook)
        self._verdicts: list[NDArray[np.uint8]] = []
        self._records: list[NDArray[np.intp]] = []
        self._oddities: list[Mapping[str, Oddity]] = []
        self._counts = np.zeros((len(Verdict), self._checks), dtype=np.int64)
        self._problems: dict[int, str] = {}
        self._of_lexeme = functools.lru_cache(_LEXEMES)(oddities_of)

    def __len__(self) -> int:
        return len(self._oddities)

    def add(
        self,
        judge: PyschematronValidator,
        document: etree._ElementTree,
        places: JudgedRecords,
        positions: NDArray[np.intp],
    ) -> None:
        """Judge a chunk."""
        verdicts = np.zeros((len(places), self._checks), dtype=np.uint8)
        for node, index, verdict, error in judge.decide(document):
            place = _home(node, places)
            if place is None:
                self._beyond.setdefault(index, "it fires outside the records")
                continue
            self._counts[verdict, index] += 1
            verdicts[place, index] = max(verdicts[place, index], verdict)
            if error:
                self._problems.setdefault(index, error)
        self._verdicts.append(verdicts)
        self._records.append(positions)
        self._oddities += (oddity(record, self._of_lexeme) for record in places)

    def opinion(self, crashed: Mapping[int, str], *, complete: bool) -> Opinion:
        """Return what was collected, without the checks that need the whole file."""
        verdicts = np.vstack([np.zeros((0, self._checks), dtype=np.uint8), *self._verdicts])
        beyond = sorted(self._beyond)
        verdicts[:, beyond] = Verdict.NOT_FIRED
        self._counts[:, beyond] = 0
        return Opinion(
            records=np.concatenate([np.zeros(0, dtype=np.intp), *self._records]),
            complete=complete,
            verdicts=verdicts,
            fired=self._counts.sum(axis=0),
            failed=self._counts[Verdict.FAILS],
            errors=self._counts[Verdict.ERROR],
            not_compared=dict(sorted(self._beyond.items())),
            crashed={i: e for i, e in crashed.items() if i not in self._beyond},
            problems={i: e for i, e in self._problems.items() if i not in self._beyond},
            oddities=tuple(self._oddities),
            engine=f"pyschematron {version('pyschematron')}, elementpath {version('elementpath')}",
        )


def _home(node: Any, places: JudgedRecords) -> int | None:
    """Return the place of the record that a node belongs to; None for no record."""
    while node is not None:
        if isinstance(node, ElementNode) and (place := places.get(node.value)) is not None:
            return place
        node = node.parent
    return None


def compare(ours: Evaluation, theirs: Opinion, rulebook: Rulebook) -> Agreement:
    """Compare two evaluations: the same checks fired, and the same ones are violated.

    Which of false and dynamic error a violation is does not count as a difference: either fails the check.

    Parameters
    ----------
    ours : Evaluation
        Of all records of the file.
    theirs : Opinion
        Of all or some of them.
    rulebook : Rulebook
        The one that both evaluated.
    """
    readings = _readings(rulebook)
    compared = [check for check in rulebook.checks if check.index not in theirs.not_compared]
    disagreements = [d for check in compared for d in _differences(check, ours, theirs, readings)]
    return Agreement(
        records=len(theirs.records),
        checks=len(compared),
        disagreements=tuple(disagreements),
        not_compared={rulebook.checks[i].id: why for i, why in sorted(theirs.not_compared.items())},
        engine=theirs.engine,
    )


def _readings(rulebook: Rulebook) -> Callable[[int], ParsedCheck]:
    """Return a function from the index of a check to the expressions that decide about it."""
    situations: dict[int, tuple[str, tuple[str, ...], tuple[str, ...]]] = {}
    for pattern in rulebook.patterns:
        contexts: tuple[str, ...] = ()
        for rule in pattern.rules:
            contexts = (*contexts, rule.context)
            lets = tuple(let.value for let in (*rulebook.lets, *pattern.lets, *rule.lets))
            situations |= {check.index: (check.test, lets, contexts) for check in rule.checks}
    namespaces = dict(rulebook.namespaces)
    return lambda index: read(*situations[index], rulebook.version, namespaces)


def _differences(
    check: Check, ours: Evaluation, theirs: Opinion, readings: Callable[[int], ParsedCheck]
) -> Iterator[Disagreement]:
    index = check.index
    a = _merged(ours.judged[theirs.records, index])
    b = _merged(theirs.verdicts[:, index])
    mine, other = _summary(a), _summary(b)
    if theirs.complete:
        mine = (int(ours.fired[index]), int(ours.failed[index] + ours.errors[index]))
        other = (int(theirs.fired[index]), int(theirs.failed[index] + theirs.errors[index]))
    differing = np.flatnonzero(a != b)
    if not len(differing) and mine == other:
        return
    reading = readings(index)
    known, fields = explanations(reading), names(reading)
    crash = theirs.crashed.get(index, "")
    grouped: dict[Deviation | None, list[int]] = {}
    for place in differing:
        # What crashes on one record is lost for all of them.
        flags = _flags(theirs.oddities if crash else theirs.oddities[place : place + 1], fields)
        failed = bool(crash) or theirs.verdicts[place, index] == Verdict.ERROR
        grouped.setdefault(_reason(known, flags, failed=failed), []).append(int(theirs.records[place]))
    if not grouped:
        grouped[_reason(known, Oddity.NONE, failed=bool(crash))] = []
    error = crash or theirs.problems.get(index, "")
    for reason, records in grouped.items():
        yield Disagreement(index, check.id, len(records), tuple(records[:5]), mine, other, reason, error)


def _flags(oddities: Iterable[Mapping[str, Oddity]], fields: frozenset[str] | None) -> Oddity:
    """Return the flags of the values that a check reads, in all the records."""
    found = [flags for o in oddities for name, flags in o.items() if fields is None or name in fields]
    return functools.reduce(or_, found, Oddity.NONE)


def _reason(known: tuple[Deviation, ...], flags: Oddity, *, failed: bool) -> Deviation | None:
    """Return the first deviation for which the record has the values, and which is an error if pyschematron's was."""
    fitting = (d for d in known if d.needs & flags == d.needs)
    return next((d for d in fitting if d.engine != "pyschematron" or (d.measured == "error") == failed), None)


def _merged(verdicts: NDArray[np.uint8]) -> NDArray[np.uint8]:
    return np.minimum(verdicts, np.uint8(Verdict.FAILS))


def _summary(verdicts: NDArray[np.uint8]) -> tuple[int, int]:
    return int((verdicts != Verdict.NOT_FIRED).sum()), int((verdicts == Verdict.FAILS).sum())
