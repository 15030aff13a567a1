"""Numbers that look like codes, by their values or their name: `likely_roles.code_reason` says which.

Means of codes say nothing, and look like data. So a field that looks like one of codes is not masked as a number
before somebody says what it is, unless a rule adds, multiplies or orders it, as rules do with quantities only.
Single numbers of a field of quantities may be codes, too: `likely_missing`.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from masktron.classify import Edit
from masktron.classify.forms import form_of, variables_of_atom
from masktron.classify.unions import listed_numbers
from masktron.config import Config, Role
from masktron.constraints import (
    Atom,
    CrossRecordEdit,
    Linear,
    Member,
    Missing,
    OpaqueEdit,
    Polynomial,
    Present,
    Product,
    Range,
)
from masktron.errors import DocumentError, UsageError
from masktron.likely_roles import (
    MOST_CODES,
    RECORDS_A_CODE,
    LikelyRole,
    called_like_codes,
    code_reason,
    has_zero_before,
    likely_role,
    traits_of,
)
from masktron.problems.problem import Field, Note, Problem, Sentence, fields
from masktron.roles import FieldFacts, resolve_roles
from masktron.setting_values import ALL_FIELDS
from masktron.sources.column import Column, Status
from masktron.sources.dataset import Dataset
from masktron.sources.lexical import XML_SPACE, parse_number, xpath1_text
from masktron.sources.variables import Variable, codes_of_field

WRITTEN_OUT = 4
"""Fields up to which every option is written out for each; beyond, the likely ones are, and others once."""
NEARLY = 0.9
"""Share of different values from which a field nearly names its records."""
_NINES = (97, 98, 99, 997, 998, 999, 9997, 9998, 9999, 99999)
USUAL_CODES = tuple(map(str, (-9999, -999, -998, -100, -99, -98, -97, -88, -10, -9, -8, -7, *_NINES)))
"""Numbers that usually mean 'missing'."""
_OFTEN, _OFTEN_SHARE = 5, 0.002
"""Records, and share of those with a number, from which one of them counts."""
_BELOW = 0.9
"""All other numbers are below so much of a code of nines."""


@dataclass(frozen=True, slots=True)
class Suspects:
    """Fields that look like codes, by name, with the number of their different values.

    Attributes
    ----------
    codes : tuple of (str, int)
        No rule treats them as quantities.
    quantities : tuple of (str, int)
        Some rule does.
    telling : frozenset of str
        Those of the first in which nearly every record has a value of its own, as a telephone number.
    nominal : tuple of (str, int, int)
        Fields that are masked as categories without an order, although nearly every record has a value of its own:
        name, different values and values. None that `named` has.
    named : tuple of LikelyRole
        Fields that seem to name records or to be weights, and of which nobody but the file said what they are.
    """

    codes: tuple[tuple[str, int], ...]
    quantities: tuple[tuple[str, int], ...]
    telling: frozenset[str] = frozenset()
    nominal: tuple[tuple[str, int, int], ...] = ()
    named: tuple[LikelyRole, ...] = ()

    def require_kinds(self, source: str) -> None:
        """Refuse to mask codes as numbers.

        Raises
        ------
        UsageError
            There are some; names all of them, with options to copy.
        """
        if self.codes:
            first, *others = self.problems()
            raise UsageError(first.at(source).then(*others))

    def problems(self) -> tuple[Problem, ...]:
        """Say of each kind of these fields what they may be, the most telling first."""
        found = []
        for code in ("likely-names", "likely-codes"):
            own = [one for one in self.codes if (one[0] in self.telling) == (code == "likely-names")]
            if own:
                named, counts = fields(name for name, _ in own), tuple(count for _, count in own)
                shown = named if len(named) <= WRITTEN_OUT else (Field("FIELD"),)
                names = code == "likely-names"
                found.append(
                    Problem("likely-names" if names else "likely-codes", fields=named, values=counts, shown=shown)
                )
        found += [
            Problem("likely-role", field=Field(one.name), taken_for=one.taken_for, why=one.why, role=str(one.role))
            for one in self.named
        ]
        return tuple(found)

    def notes(self) -> tuple[Sentence, ...]:
        """Say which likely codes are taken for quantities."""
        if not self.quantities:
            return ()
        counts = [
            Note("{field} ({count} different values)", field=Field(name), count=n) for name, n in self.quantities
        ]
        return (
            Note(
                "these look like codes, and are masked as numbers since rules treat them as quantities: {counts}; "
                "declare codes with [[--nominal]] or [[--ordinal]], quantities with [[--numeric]]",
                counts=counts,
            ),
        )


def kinds_by_file(config: Config, stated: Config) -> frozenset[str]:
    """Return the fields whose kind is only what a file says of them.

    Parameters
    ----------
    config : Config
        Completed by what the file says.
    stated : Config
        As they were before.
    """
    completed, given = (frozenset((*one.nominal, *one.ordinal, *one.numeric)) for one in (config, stated))
    return completed - given


def fields_of(
    records: Dataset,
    edits: Sequence[Edit],
    config: Config,
    *,
    weights_later: bool = False,
    called: Callable[[str], str] = str,
    by_file: Collection[str] = (),
    nested: bool = False,
) -> tuple[tuple[FieldFacts, ...], Suspects]:
    """Give every field a role, and find those that look like codes.

    Parameters
    ----------
    records : Dataset
    edits : sequence of Edit
    config : Config
    weights_later : bool
        As for `resolve_roles`.
    called, by_file, nested
        As for `suspects`.

    Raises
    ------
    UsageError, DocumentError
        As for `resolve_roles`, and for fields that look like codes; one error names all fields that need a word.
    """
    source = str(records.path)
    try:
        facts = resolve_roles(records, config, weights_later=weights_later)
    except UsageError as error:
        unnamed = error.problem
        if unnamed is None or unnamed.code != "no-role":
            raise
        names = (one.name for one in unnamed.references["fields"])
        roles = {**config.roles, **dict.fromkeys(names, Role.IDENTIFIER)}
        try:
            named = resolve_roles(records, config.updated(roles=roles), weights_later=weights_later)
            likely = suspects(records, named, edits, config, called, by_file, nested=nested)
        except (UsageError, DocumentError):
            raise error from None  # the first comes first
        raise UsageError(unnamed.then(*likely.problems())) from None
    likely = suspects(records, facts, edits, config, called, by_file, nested=nested)
    likely.require_kinds(source)
    return facts, likely


def suspects(
    records: Dataset,
    facts: Sequence[FieldFacts],
    edits: Sequence[Edit],
    config: Config,
    called: Callable[[str], str] = str,
    by_file: Collection[str] = (),
    *,
    nested: bool = False,
) -> Suspects:
    """Find the fields that would be masked as numbers and look like codes.

    Which these are says `code_reason`. A rule treats one as a quantity where it adds or multiplies it, or puts it in
    order with another field; a comparison with a constant, a set of values or the equality of two fields does not.

    Fields that are declared as numeric are quantities.

    Parameters
    ----------
    records : Dataset
    facts : sequence of FieldFacts
    edits : sequence of Edit
    config : Config
    called : callable, optional
        What settings call a field. Fields that are called alike (one of a member, at several positions of wide
        records) are one field here, with the values of all of them.
    by_file : collection of str
        Fields whose kind in `config` is only what their file or their values say: numbers among them are no codes.
        That does not say what else they may be: SPSS gives a serial number the measure of a category, and a weight
        that of an amount.
    nested : bool
        Whether the records are wide ones of a file with levels.
    """
    alike: dict[str, list[str]] = {}
    for name in (fact.name for fact in facts if fact.numeric and fact.role is Role.CONFIDENTIAL):
        if name not in config.numeric or name in by_file:
            alike.setdefault(called(name), []).append(name)
    columns = {name: [records.columns[one] for one in own] for name, own in alike.items()}
    known = {called(name) for name in by_file}
    counts = {name: 0 if name in known else _values_of_codes(name, own) for name, own in columns.items()}
    quantities = {name for edit in edits for name in _quantities(edit)}
    treated = {name for name, own in alike.items() if not quantities.isdisjoint(own)}
    found = [(name, count) for name, count in counts.items() if count]
    nominal = [fact.name for fact in facts if fact.role is Role.CONFIDENTIAL and not fact.numeric]
    shares = [(name, *_shares([records.columns[name]])) for name in nominal if name not in config.ordinal]
    codes = tuple(one for one in found if one[0] not in treated)
    others = [one for name, own in alike.items() if not counts[name] for one in own]
    categories = [
        fact.name
        for fact in facts
        if fact.role is Role.CONFIDENTIAL
        and not fact.numeric
        and fact.name in by_file
        and records.columns[fact.name].numeric
    ]
    named = (
        *_named(records, others, quantities, config, called, nested=nested),
        *_named(records, categories, quantities, config, called, categories=True, nested=nested),
    )
    already = {one.name for one in named}
    return Suspects(
        codes,
        tuple(one for one in found if one[0] in treated),
        frozenset(name for name, _ in codes if _telling(*_shares(columns[name]))),
        tuple((name, count, held) for name, count, held in shares if name not in already and _telling(count, held)),
        named,
    )


def _named(
    records: Dataset,
    names: Iterable[str],
    treated: Collection[str],
    config: Config,
    called: Callable[[str], str],
    *,
    categories: bool = False,
    nested: bool,
) -> Iterator[LikelyRole]:
    """Yield those of some numbers that seem to be no such, once each; what a rule reckons with is none of them."""
    told = set()
    for name in names:
        if name not in treated and name not in config.roles and called(name) not in told:
            found = likely_role(called(name), traits_of(records.columns[name]), categories=categories, nested=nested)
            if found is not None:
                told.add(found.name)
                yield found


def _shares(columns: Sequence[Column]) -> tuple[int, int]:
    """Return how many different values a field has, and how many values; its columns are those of its positions."""
    different = {text for column in columns for text in column.texts()}
    return len(different), sum(int(column.present.sum()) for column in columns)


def _telling(distinct: int, held: int) -> bool:
    """Whether nearly every record has a value of its own."""
    return held > MOST_CODES and distinct >= NEARLY * held


def looks_like_codes(column: Column) -> bool:
    """Whether a field of numbers looks like one of codes; see `suspects`."""
    return _values_of_codes(column.name, [column]) > 0


def _values_of_codes(name: str, columns: Sequence[Column]) -> int:
    """Return how many different values a field has that looks like one of codes, and 0 for any other."""
    present = sum(int(column.present.sum()) for column in columns)
    different = max(len(np.unique(column.numbers[column.states == Status.PRESENT])) for column in columns)
    if different * RECORDS_A_CODE > present and not called_like_codes(name):  # most amounts end here: they are many
        texts = (text.strip(XML_SPACE) for column in columns for text in column.each_text())
        if not any(map(has_zero_before, texts)):
            return 0
    counts: Counter[str] = Counter()
    for column in columns:
        used = np.flatnonzero(column.used & (column.states == Status.PRESENT))
        many = np.bincount(column.codes, minlength=len(column.states))[used].tolist()
        for text, count in zip(column.lexicon.some(used).tolist(), many, strict=True):
            counts[str(text).strip(XML_SPACE)] += count
    return len(counts) if code_reason(name, counts) else 0


def _quantities(edit: Edit) -> Iterator[str]:
    """Yield the fields that a rule adds, multiplies, or puts in order with another one."""
    match edit.constraint:
        case OpaqueEdit():
            return
        case CrossRecordEdit(bounds=bounds):
            for bound in bounds:
                yield from (tally.field for tally, _ in bound.terms if tally.function in ("sum", "avg"))
        case constraint:
            for disjunct in form_of(constraint):
                for atom in disjunct:
                    if _reckons(atom):
                        yield from variables_of_atom(atom)


def _reckons(atom: Atom) -> bool:
    if isinstance(atom, Linear):
        plain = atom.relation == "=" and not atom.bound and len(atom.terms) == 2
        return not (plain and sum(factor for _, factor in atom.terms) == 0)
    return isinstance(atom, Product | Polynomial)


def unmet_in(records: Dataset, missing: Mapping[str, frozenset[str]]) -> tuple[Sentence, ...]:
    """Name the codes for missing values that settings declare and no record has.

    Parameters
    ----------
    records : Dataset
    missing : mapping of str to frozenset of str
        What the settings say themselves, by field and for all of them (``*``).
    """
    everywhere = missing.get(ALL_FIELDS, frozenset())
    found = {}
    for name, column in records.columns.items():
        if codes := missing.get(name, frozenset()) | everywhere:
            coded = {*column.texts(Status.CODE)}
            found[name] = codes_of_field(codes, text=column.typed.text).unmet(coded)
    return unmet_codes(found, missing)


def unmet_codes(unmet: Mapping[str, Collection[str]], missing: Mapping[str, frozenset[str]]) -> tuple[Sentence, ...]:
    """Say which codes for missing values no record has, in one sentence or none.

    Parameters
    ----------
    unmet : mapping of str to collection of str
        By field, those of it that none of its values is.
    missing : mapping of str to frozenset of str
        What the settings say themselves, by field and for all of them (``*``): those are told that no field has.
    """
    nowhere = [
        (code, name) for name, codes in unmet.items() for code in codes if code in missing.get(name, frozenset())
    ]
    nowhere += [
        (code, "all fields")
        for code in sorted(missing.get(ALL_FIELDS, frozenset()))
        if unmet and all(code in codes for codes in unmet.values())
    ]
    if not nowhere:
        return ()
    return (
        Note(
            "codes for missing values that no record has: {codes}",
            codes=[Note("{code} of {field}", code=code, field=Field(name)) for code, name in nowhere],
        ),
    )


def apart(counts: Mapping[str, int], records: int) -> tuple[str, ...]:
    """Return the usual codes for missing values that many records have, and that stand apart from other numbers.

    Parameters
    ----------
    counts : mapping of str to int
        How many records have each number, by its lexeme: each usual code at least, and the extremes of the others.
    records : int
        How many have a number.
    """
    numbers = {lexeme: parse_number(lexeme) for lexeme in counts}
    others = [number for lexeme, number in numbers.items() if lexeme not in USUAL_CODES]
    if not others or any(map(math.isnan, numbers.values())):
        return ()
    low, high = min(others), max(others)
    often = max(_OFTEN, _OFTEN_SHARE * records)
    return tuple(
        lexeme
        for lexeme in USUAL_CODES
        if counts.get(lexeme, 0) >= often and (low >= 0 if numbers[lexeme] < 0 else high < _BELOW * numbers[lexeme])
    )


def likely_missing(
    records: Dataset, facts: Sequence[FieldFacts], edits: Sequence[Edit], variables: Iterable[Variable]
) -> tuple[Sentence, ...]:
    """Name the numbers of masked fields that may be codes for missing values, and that nobody declared.

    These are numbers that a rule admits beside a range or a relation that does not (``rent <= 9000 or rent = 9998``),
    those that have labels where other values of the field have none, and usual codes such as -9 that many records
    have and that stand `apart` from all other numbers. Zero is a quantity. No number is told that is not in the
    rules, in the labels or among the usual codes.

    Parameters
    ----------
    records : Dataset
    facts : sequence of FieldFacts
    edits : sequence of Edit
    variables : iterable of Variable
        What the file says of its fields.

    Returns
    -------
    tuple of str
        A note for each field.
    """
    labels = {variable.name: variable.labels for variable in variables}
    return tuple(
        note
        for fact in facts
        if fact.numeric and fact.role is Role.CONFIDENTIAL
        for note in _likely_missing(
            fact,
            edits,
            _labelled(records.columns[fact.name], labels.get(fact.name, {})),
            frozenset(map(Fraction, usual_codes(records.columns[fact.name]))),
        )
    )


def usual_codes(column: Column) -> tuple[str, ...]:
    """Return the usual codes that stand apart in a column."""
    values, many = np.unique(column.values[column.present], return_counts=True)
    told = np.isin(values, [float(code) for code in USUAL_CODES])
    if not told.any():
        return ()
    told[np.flatnonzero(~told)[[0, -1]] if not told.all() else []] = True
    counts = zip(map(xpath1_text, values[told].tolist()), many[told].tolist(), strict=True)
    return apart(dict(counts), int(many.sum())) if column.numeric else ()


def code_at_fault(values: Iterable[str]) -> tuple[str, int]:
    """Return the usual code that most of some values are, and how many; none of them where they are few.

    Parameters
    ----------
    values : iterable of str
        What a field holds in the records that fail a rule.
    """
    counts = Counter(xpath1_text(parse_number(value)) for value in values)
    found = max(USUAL_CODES, key=lambda code: counts[code])
    return found, counts[found] if counts[found] >= max(_OFTEN, counts.total() / 2) else 0


def set_aside(records: Dataset, config: Config) -> tuple[Dataset, Config, tuple[Sentence, ...]]:
    """Declare the usual codes that stand apart to mean 'missing'; with a note for each field.

    Parameters
    ----------
    records : Dataset
    config : Config
        Settings of the records.
    """
    columns, missing, notes = dict(records.columns), dict(config.missing), []
    for name, column in records.columns.items():
        codes = usual_codes(column)
        if not codes or config.roles.get(name) is Role.IDENTIFIER:
            continue
        columns[name] = column.declaring(codes)
        missing[name] = missing.get(name, frozenset()).union(codes)
        notes.append(
            Note(
                "{field}: {codes} stands apart and was taken for 'missing'; [[--missing {field}={listed}]] says that "
                "it is",
                field=Field(name),
                codes=codes,
                listed=",".join(codes),
            )
        )
    return records.with_columns(columns), config.updated(missing=missing), tuple(notes)


def _likely_missing(
    fact: FieldFacts, edits: Iterable[Edit], labelled: frozenset[Fraction], usual: frozenset[Fraction]
) -> Iterator[Sentence]:
    known = fact.code_numbers | {Fraction(0)}
    by_rule = {edit.check.id: found for edit in edits if (found := _apart(edit, fact.name) - known)}
    codes = [_written(code) for code in sorted(labelled.union(usual, *by_rule.values()) - known)]
    if not codes:
        return
    several = len(codes) > 1
    reasons = [f"{'stand' if several else 'stands'} apart in {', '.join(by_rule)}"] if by_rule else []
    reasons += [f"{'have labels' if several else 'has a label'}, as other values do not"] if labelled - known else []
    if usual - known:
        reasons += [f"{'stand' if several else 'stands'} apart from the other values in many records"]
    yield Note(
        "{field} is masked as a number, and {codes} {reasons:and}: if {codes:it means|they mean} 'missing', give "
        "[[--missing {field}={listed}]]; else {codes:it is taken for an amount|they are taken for amounts}",
        field=Field(fact.name),
        codes=codes,
        reasons=reasons,
        listed=",".join(codes),
    )


def _labelled(column: Column, labels: Iterable[str]) -> frozenset[Fraction]:
    """Return the numbers that have labels, where some value of the field has none."""
    numbers = {Fraction(code.strip()) for code in labels if not math.isnan(parse_number(code))}
    if not numbers or set(column.values[column.present].tolist()) <= set(map(float, numbers)):
        return frozenset()
    return frozenset(numbers)


def _apart(edit: Edit, name: str) -> frozenset[Fraction]:
    """Return the numbers that a rule admits for a field by themselves, beside a range or a relation that does not."""
    if isinstance(edit.constraint, OpaqueEdit | CrossRecordEdit):
        return frozenset()
    points: set[Fraction] = set()
    ranges: list[Range] = []
    related = False
    for disjunct in form_of(edit.constraint):
        own = [atom for atom in disjunct if name in variables_of_atom(atom)]
        alone = len(own) == len(disjunct) == 1
        for atom in own:
            if alone and (values := listed_numbers(atom)):
                points |= values
            elif isinstance(atom, Range):
                ranges.append(atom)
            else:
                related |= not isinstance(atom, Member | Missing | Present)
    if not ranges and not related:
        return frozenset()
    return frozenset(point for point in points if not any(_within(point, one) for one in ranges))


def _within(point: Fraction, interval: Range) -> bool:
    low, high = interval.low, interval.high
    above = low is None or (low < point if interval.low_open else low <= point)
    return above and (high is None or (point < high if interval.high_open else point <= high))


def _written(number: Fraction) -> str:
    return str(number) if number.denominator == 1 else str(float(number))
