"""Does a masked file keep what its method promises? Tests of the contracts of drawn values, against the original.

Each test is one-sided, and its bound is five standard scores of chance away from what an honest file shows, so that
what fails is no accident. Values that follow from unmasked fields by the rules are left out: nothing
else could have been written there.

**No record keeps all its values.** A record counts if it has its own values in all drawn fields and fewer than k
records of the original have these. `mask` draws such records anew, so that there are no more than it reported to be
left. These in turn are no more than chance explains, or `FORCED` of the records, whose rules may leave them no other
values: were the released records of each group assigned to its respondents at random, the count would be a sum over
random permutations; with a_v respondents that count and b_v released records of each combination v in a group of m,
its mean is sum a_v b_v / m, and its variance that of Hoeffding (1951). The bound is five standard deviations and
`SPARE` more.

**Noise.** The difference of masked and original values is noise, plus what settling moved. By the triangle inequality
in the space of records its standard deviation is at least that of the noise less that of what settling moved, which
the manifest has. The variance of the noise, in a sample, is its share of the variance of the original times a mixture
of chi-squares, whose lower quantile is that of Wilson and Hilferty (1931) at `SCORE` standard scores.

**Exchanged values.** Sorted, masked and original values of a field differ by a sum of squares that is at most that
by which settling moved them, which the manifest has: of all ways to pair two sets of numbers, that by rank has the
least sum. It holds without chance, but for rounding.

**Kinds of values.** Drawn values are numbers where the original has numbers, categories that the original has, and
missing where it lacks a value.

**Fields.** A drawn field is not published as it was. Of its values that fewer than k records share, at most half are
the respondents' own.

**Marked values.** They are drawn by the Bayesian bootstrap (Rubin 1981) from clusters of at least c values. The
weight of a value that a of the cluster have is Beta(a, c - a), and those of different values are negatively
associated (Joag-Dev and Proschan 1983). So the count of values that are the respondents' own has a moment
generating function of at most

    E exp(t K) <= prod_v E (1 + W_v (e^t - 1))^a_v,  W_v ~ Beta(a_v, c - a_v),

where a_v marked values of the field are equal; what a_v >= c records have may be all that a cluster has. A count that
is less probable than `SCORE` standard scores by Chernoff's bound is no accident.
So is a file in which no marked value is another one. Where thresholds are quantiles, they are computed anew from the
original, and every value beyond them is marked.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import assert_never

import numpy as np
from numpy.typing import NDArray

from masktron.arrays import FloatColumns, Labels
from masktron.classify.elimination import is_equality
from masktron.classify.forms import form_of, satisfied, variables_of_atom
from masktron.constraints import Atom, Member, Range
from masktron.contracts import (
    ORIGINAL,
    IdenticalGroups,
    MarkedReplaced,
    ModelDrawn,
    NoiseAdded,
    PartitionedSynthesis,
    ValuesExchanged,
)
from masktron.counts import counted
from masktron.problems.problem import Field, Note, fields
from masktron.sources.column import Column, OnDemand
from masktron.verify.cells import combinations_of, numbered, published_as_it_was, same_values
from masktron.verify.findings import Findings
from masktron.verify.release import Release
from masktron.write.declared import Declared
from masktron.write.manifest import DescribedRelease

SCORE = 5.0
"""Standard scores that a figure may be off its expectation."""
FORCED = 0.01
"""Share of the records that may keep their values, if `mask` reported so many."""
ROUNDED = 1e-9
"""Share of the largest value that sums of squares may be off by rounding."""
QUANTILE = 0.85
"""The threshold of a field, where the settings give none."""
SPARE = 2
"""Records beyond that, for expectations so small that a score says nothing."""

type CellMask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Pair:
    """The drawn fields of a masked file beside those of the original, record by record.

    Attributes
    ----------
    original, masked : mapping of str to Column
        By drawn field.
    groups : ndarray of intp, shape (n,)
        Group of each record, all the same where there are none.
    follows : mapping of str to ndarray of bool, shape (n,)
        Values that the rules and the unmasked fields leave no choice.
    k : int
    """

    original: Mapping[str, Column]
    masked: Mapping[str, Column]
    groups: Labels
    follows: Mapping[str, CellMask]
    k: int


def pair_of(
    declared: Declared,
    original: Mapping[str, Column],
    masked: Mapping[str, Column],
    atoms: Sequence[Atom],
    *,
    kept: Sequence[str],
    codes: Mapping[str, Collection[str]],
    k: int,
) -> Pair:
    """Put the drawn fields of two files side by side.

    Parameters
    ----------
    declared : Declared
    original, masked : mapping of str to Column
        All fields, in the order of the original, without records that were left out.
    atoms : sequence of Atom
        Of the rules that count.
    kept : sequence of str
        Fields that are not masked.
    codes : mapping of str to collection of str
        What means 'missing' in a field.
    k : int
    """
    names = [name for name in declared.drawn if name in original and name in masked]
    n = len(next(iter(masked.values())).values) if masked else 0
    groups = np.zeros(n) if declared.groups is None else np.unique(declared.groups, return_inverse=True)[1]
    return Pair(
        {name: without_codes(original[name], codes.get(name)) for name in names},
        {name: without_codes(masked[name], codes.get(name)) for name in names},
        groups.astype(np.intp),
        following(names, kept, atoms, masked),
        k,
    )


def verify(release: Release) -> Findings:
    """Test what the method promises of the fields that it drew record by record, after the steps before masking."""
    declared, before, rows = release.described.declared, release.before, release.rows
    if not declared.drawn:
        return Findings()
    promised = f"what {declared.method} promises"
    if before is None:
        return Findings(not_checked=[f"{promised}: needs the original"])
    if rows is None or (declared.groups is not None and len(declared.groups) != len(rows)):
        return Findings(not_checked=[f"{promised}: the numbers of records differ"])
    order = np.argsort(rows)
    atoms = [atom for edit in release.edits for disjunct in form_of(edit.constraint) for atom in disjunct]
    drawn = [name for name in declared.drawn if name in before.columns]
    read = {*drawn}.union(*map(variables_of_atom, filter(_tells_a_value, atoms)))
    masked = {name: one.taken(order) for name, one in release.released.columns.items() if name in read}
    # a field that only records had that were left out is in no cell of the file
    none = {name: Column.absent(before.columns[name].variable, len(rows)) for name in drawn if name not in masked}
    pair = pair_of(
        declared,
        {name: before.columns[name].taken(rows[order]) for name in drawn},
        masked | none,
        atoms,
        kept=release.described.kept,
        codes=release.described.missing,
        k=release.described.k,
    )
    found = check_pair(declared, pair)
    if isinstance(declared.contract, MarkedReplaced):
        _unmarked(declared, release.described, pair, found)
    return found


def check_groups(declared: Declared, records: int | None) -> Findings:
    """Test what the manifest alone tells: the sizes of the groups that values were drawn for.

    Parameters
    ----------
    declared : Declared
    records : int or None
        In the masked file.
    """
    found = Findings()
    if declared.groups is None:
        return found
    if records is not None and len(declared.groups) != records:
        found.problems.append(
            f"the manifest has groups for {counted(len(declared.groups), 'record')}, and the file {records}"
        )
    if isinstance(declared.contract, PartitionedSynthesis) and declared.groups:
        sizes = np.unique(declared.groups, return_counts=True)[1]
        k = declared.contract.k
        if sizes.min() < k:
            found.problems.append(
                f"values were drawn for a group of {counted(int(sizes.min()), 'record')}, fewer than k = {k}, "
                f"which the contract of {declared.method} promises"
            )
        found.checked.append(f"sizes of {counted(len(sizes), 'group')} that values were drawn for, against k = {k}")
    return found


def check_pair(declared: Declared, pair: Pair) -> Findings:
    """Test the contract of the drawn fields against the original."""
    found = Findings()
    if not pair.original or not len(pair.groups):
        return found
    _kinds_of_values(declared, pair, found)
    match declared.contract:
        case IdenticalGroups():
            pass
        case MarkedReplaced() as promised:
            _marked(declared, promised.cluster, pair, found)
        case NoiseAdded() as promised:
            _kept_records(declared, pair, found)
            _kept_fields(declared, pair, found)
            if promised.of == ORIGINAL:
                _noise(declared, promised.share, pair, found)
            else:
                found.not_checked.append(
                    f"variance of the noise of {declared.method}: it is a share of {promised.of}"
                )
        case PartitionedSynthesis() | ModelDrawn():
            _kept_records(declared, pair, found)
            _kept_fields(declared, pair, found)
        case ValuesExchanged():
            _kept_records(declared, pair, found)
            _kept_fields(declared, pair, found)
            _same_values(declared, pair, found)
        case other:
            assert_never(other)
    return found


def without_codes(column: Column, codes: Collection[str] | None) -> Column:
    """Return a column whose codes for a missing value count as missing."""
    if not codes:
        return column
    return column.declaring(codes)


def following(
    names: Sequence[str], given: Sequence[str], atoms: Sequence[Atom], columns: Mapping[str, Column]
) -> dict[str, CellMask]:
    """Return, for each drawn field, the records in which rules and other fields leave its value no choice.

    A value follows where a condition that holds in the record says it: an equality whose other fields are given or
    follow themselves, or a single admitted value.

    Parameters
    ----------
    names : sequence of str
        Drawn fields.
    given : sequence of str
        Unmasked fields.
    atoms : sequence of Atom
        Of the rules that count.
    columns : mapping of str to Column
        The masked file.
    """
    n = len(next(iter(columns.values()))) if columns else 0
    numbers: FloatColumns = OnDemand(columns, attrgetter("values"))
    known = {name: np.ones(n, dtype=np.bool_) for name in given if name in columns}
    known |= {name: np.zeros(n, dtype=np.bool_) for name in names if name in columns}
    telling = [
        (variables_of_atom(atom), satisfied(atom, numbers, OnDemand.lexemes(columns)))
        for atom in dict.fromkeys(atoms)
        if _tells_a_value(atom) and known.keys() >= set(variables_of_atom(atom))
    ]
    changed = True
    while changed:
        changed = False
        for variables, holds in telling:
            for name in set(variables).intersection(names):
                others = [known[other] for other in variables if other != name]
                follows = np.logical_and.reduce([holds, ~known[name], *others])
                if follows.any():
                    known[name] |= follows
                    changed = True
    return {name: known[name] for name in names if name in known}


def _tells_a_value(atom: Atom) -> bool:
    if isinstance(atom, Range):
        return atom.low is not None and atom.low == atom.high
    if isinstance(atom, Member):
        return len(atom.values) == 1 and not atom.negated
    return is_equality(atom)


# whole records


def _kept_records(declared: Declared, pair: Pair, found: Findings) -> None:
    kept, mean, deviation = kept_records(pair)
    by_chance = math.floor(mean + SCORE * deviation) + SPARE if mean > 0 else 0
    explained = max(by_chance, math.ceil(FORCED * len(pair.groups)))
    if kept > min(explained, declared.unmoved):
        found.problems.append(
            f"{counted(kept, 'record holds its', 'records hold their')} own values in all fields that "
            f"{declared.method} drew, which fewer than {pair.k} records "
            f"have in common; mask reported {declared.unmoved}, and chance and rules explain {explained} at most"
        )
        return
    found.checked.append(
        f"records that hold their own values in all drawn fields: {kept}, of {declared.unmoved} that mask reported"
    )
    if kept:
        found.notes.append(
            f"{counted(kept, 'record holds its', 'records hold their')} own values in all fields that "
            f"{declared.method} drew"
        )


def kept_records(pair: Pair) -> tuple[int, float, float]:
    """Count the records that keep their own values; with mean and standard deviation of the count by chance."""
    before, after = _combinations(pair)
    names = list(pair.original)
    own = np.stack([pair.original[name].present & ~pair.follows[name] for name in names], axis=1).any(axis=1)
    counts = (own & (np.bincount(before)[before] < pair.k)).astype(np.float64)
    kept = int(counts[before == after].sum())
    width = int(max(before.max(), after.max())) + 1
    cells, which = np.unique(
        np.concatenate([pair.groups * width + before, pair.groups * width + after]), return_inverse=True
    )
    n, sizes = len(before), np.bincount(pair.groups)
    a = np.bincount(which[:n], counts, minlength=len(cells))
    b = np.bincount(which[n:], minlength=len(cells)).astype(np.float64)
    group = cells // width
    per_group = [np.bincount(group, term, minlength=len(sizes)) for term in (a * b, a * b * b + b * a * a)]
    m = np.maximum(sizes, 1).astype(np.float64)
    variance = (per_group[0] - per_group[1] / m + np.square(per_group[0] / m)) / np.maximum(m - 1, 1)
    return kept, float((per_group[0] / m).sum()), math.sqrt(max(float(variance[sizes > 1].sum()), 0.0))


def _combinations(pair: Pair) -> tuple[Labels, Labels]:
    """Number the combinations of values in all drawn fields, before and after; equal numbers are equal values."""
    n = len(pair.groups)
    codes = combinations_of([_codes(pair.original[name], pair.masked[name]) for name in pair.original], 2 * n)
    return codes[:n], codes[n:]


def _codes(before: Column, after: Column) -> Labels:
    """Number the values of a field in both files: numbers as numbers, all else as text; -1 for no value."""
    import pandas as pd  # noqa: PLC0415 -- most runs do without

    numbers = np.concatenate([np.where(one.present, one.values, np.nan) for one in (before, after)]) + 0.0
    texts = np.concatenate([one.held for one in (before, after)])
    texts[~np.isnan(numbers)] = None
    as_numbers, as_texts = pd.factorize(numbers)[0], pd.factorize(texts)[0]
    return np.where(as_texts >= 0, as_texts + as_numbers.max(initial=-1) + 1, as_numbers).astype(np.intp)


def _kinds_of_values(declared: Declared, pair: Pair, found: Findings) -> None:
    """A drawn value is a number or a category of the original, and missing where the original is."""
    for name, before in pair.original.items():
        now = pair.masked[name]
        there = before.present & now.present
        wrong = {
            "has no value where the original has one": before.present & ~now.present,
            "has a value where the original has none": now.present & ~before.present,
            "is no number": there & ~now.is_number if before.numeric else np.zeros_like(there),
            "is a category that the original does not have": np.zeros_like(there)
            if before.numeric
            else there & _is_new(before, now),
        }
        found.problems += [
            Note(
                "{field}, which {method} drew, {what} in {cells:record}, first in released record "
                "{first}, in the order of the original",
                field=Field(name),
                method=declared.method,
                what=what,
                cells=int(cells.sum()),
                first=int(np.argmax(cells)) + 1,
            )
            for what, cells in wrong.items()
            if cells.any()
        ]


def _is_new(before: Column, now: Column) -> CellMask:
    """Tell which values no cell of the original has, shape (n,)."""
    own, theirs = numbered([before, now])
    return theirs > own.max(initial=-1)  # numbers are given in the order in which values are met


def _kept_fields(declared: Declared, pair: Pair, found: Findings) -> None:
    """A drawn field is not published as it was, unless the rules leave it no choice."""
    for name, before in pair.original.items():
        free = before.present & ~pair.follows[name]
        codes = _codes(before, before)[: len(free)]
        rare = np.flatnonzero(free & (np.bincount(codes + 1)[codes + 1] < pair.k))
        kept = int(same_values(before, pair.masked[name])[rare].sum())
        if free.any() and published_as_it_was(before, pair.masked[name]):
            drawn = "the field {field}, which {method} drew, is published as it was, in every record"
            found.problems.append(Note(drawn, field=Field(name), method=declared.method))
        elif kept > len(rare) / 2 + SPARE:
            found.problems.append(
                Note(
                    "{kept} of {rare} values of {field}, which {method} drew, are the respondents' own, among those "
                    "that fewer than {k} records share",
                    kept=kept,
                    rare=len(rare),
                    field=Field(name),
                    method=declared.method,
                    k=pair.k,
                )
            )


# noise


def _noise(declared: Declared, share: float, pair: Pair, found: Findings) -> None:
    proved, silent = 0, []
    for name, before in pair.original.items():
        if not before.numeric:
            continue
        seen, least = noise_of(
            before, pair.masked[name], pair.follows[name], pair.groups, share, declared.settled.get(name, 0.0)
        )
        if math.isnan(seen):
            continue
        if not least > 0:
            silent.append(name)
        elif seen < least:
            found.problems.append(
                Note(
                    "the noise in {field} has a variance of {seen:.3g} % of that of the original, and the "
                    "contract of {method} promises {share:.3g} %; after what settling moved and what chance "
                    "explains, {least:.3g} % are the least",
                    field=Field(name),
                    seen=100 * seen**2,
                    method=declared.method,
                    share=100 * share,
                    least=100 * least**2,
                )
            )
        else:
            proved += 1
    if proved:
        found.checked.append(f"variance of the noise in {counted(proved, 'field')}, against {100 * share:.3g} %")
    if silent:
        found.not_checked.append(
            Note(
                "noise in {fields}: settling moved these fields by as much as the noise, or there are too few "
                "records, so that nothing is proved",
                fields=fields(silent),
            )
        )


def _same_values(declared: Declared, pair: Pair, found: Findings) -> None:
    """A field holds the values of the original as often as before, but for what settling moved."""
    proved, silent = 0, []
    for name, before in pair.original.items():
        own, now = before.values[before.present], pair.masked[name].values[pair.masked[name].present]
        if not before.numeric or np.isnan(now).any() or len(own) != len(now):
            continue  # what is no number, or missing, was said
        own, now = np.sort(own), np.sort(now)
        scale = float(np.abs(own).max(initial=0.0)) or 1.0
        apart = math.sqrt(float(np.square((now - own) / scale).sum()))
        most = math.sqrt(declared.settled.get(name, 0.0)) / scale
        if apart > most * (1.0 + ROUNDED) + ROUNDED:
            found.problems.append(
                Note(
                    "the values of {field} are not those of the original in another order: sorted, they differ by "
                    "more than settling moved them",
                    field=Field(name),
                )
            )
        elif most > 0 and most**2 >= float(np.square((own - own.mean()) / scale).sum()):
            silent.append(name)
            continue
        proved += 1
    if proved:
        found.checked.append(f"values of {counted(proved, 'field')}, in order, against what settling moved")
    if silent:
        said = "values of {fields}: settling moved these fields by as much as they vary, so that nothing is proved"
        found.not_checked.append(Note(said, fields=fields(silent)))


def noise_of(
    before: Column, after: Column, follows: CellMask, groups: Labels, share: float, settled: float
) -> tuple[float, float]:
    """Return the standard deviation of the noise that is seen, and the least that the promise allows.

    Both in standard deviations of the original within the groups. NaN where the field does not vary within groups, or
    has no value to compare; the least is negative where nothing is proved.
    """
    there = before.present & before.is_number
    cells = np.flatnonzero(there & after.is_number & ~follows)
    rows = np.flatnonzero(there)
    m = np.bincount(groups)
    variance = _squares(before.values[rows], groups[rows], len(m)) / np.maximum(m, 1)
    free = np.maximum(np.bincount(groups[cells], minlength=len(m)) - 1, 0)
    base = float((free * variance).sum())
    if not base > 0:
        return math.nan, math.nan
    seen = float(_squares(after.values[cells] - before.values[cells], groups[cells], len(m)).sum())
    degrees = base**2 / float((free * variance**2).sum())
    lowest = 1 - 2 / (9 * degrees) - SCORE * math.sqrt(2 / (9 * degrees))
    least = math.sqrt(share * max(lowest, 0.0) ** 3) - math.sqrt(settled / base)
    return math.sqrt(seen / base), least * (1 - 1e-9)


def _squares(values: NDArray[np.float64], groups: Labels, count: int) -> NDArray[np.float64]:
    """Sum of squared deviations from the mean, by group."""
    sizes = np.maximum(np.bincount(groups, minlength=count), 1)
    means = np.bincount(groups, values, minlength=count) / sizes
    return np.bincount(groups, np.square(values - means[groups]), minlength=count)


# marked values


def _marked(declared: Declared, cluster: int, pair: Pair, found: Findings) -> None:
    n, values, own, proved = len(pair.groups), 0, 0, 0
    for name, positions in declared.marked.items():
        at = np.array(positions, dtype=np.intp)
        if at.size and at.max() >= n:
            found.problems.append(
                Note("the manifest marks a value of {field} in a record that there is not", field=Field(name))
            )
            continue
        at = at[pair.original[name].present[at] & ~pair.follows[name][at]]
        kept = int(same_values(pair.original[name], pair.masked[name])[at].sum())
        alike = np.bincount(_codes(pair.original[name], pair.original[name])[at])
        allowed = most_own(alike[alike > 0], cluster)
        if kept > allowed:
            found.problems.append(
                Note(
                    "{kept} of {size} values of {field} that {method} was to replace are the respondents' own; "
                    "{allowed} are within what chance explains",
                    kept=kept,
                    size=int(at.size),
                    field=Field(name),
                    method=declared.method,
                    allowed=allowed,
                )
            )
        values += int(at.size)
        own += kept
        proved += 1
    if own == values and (values or not any(declared.marked.values())):
        found.problems.append(
            f"{declared.method} changed no value: {counted(values, 'value')} of the manifest were to be replaced"
        )
    found.checked.append(
        f"{counted(values, 'value that was', 'values that were')} to be replaced, in {counted(proved, 'field')}"
    )


def most_own(alike: NDArray[np.integer], cluster: int) -> int:
    """Return how many replaced values may be the respondents' own by chance.

    Parameters
    ----------
    alike : ndarray of int
        Of each different value that was to be replaced: how many records have it.
    cluster : int
        Fewest values that one is drawn from.
    """
    t = np.geomspace(0.01, 30.0, 200)
    bound = np.full_like(t, SCORE**2 / 2 + math.log(SCORE * math.sqrt(2 * math.pi)))  # of the normal distribution
    for a, times in zip(*np.unique(alike, return_counts=True), strict=True):
        if a >= cluster:
            bound += times * a * t
            continue
        j = np.arange(a)[:, None]
        factors = np.log((a - j) * (a + j) / ((j + 1) * (cluster + j))) + np.log(np.expm1(t))
        moments = np.vstack([np.zeros_like(t), np.cumsum(factors, axis=0)])
        bound += times * np.logaddexp.reduce(moments, axis=0)
    return min(math.floor((bound / t).min()), int(alike.sum()))


def _unmarked(declared: Declared, described: DescribedRelease, pair: Pair, found: Findings) -> None:
    """Every value beyond its threshold is marked, where the threshold is a quantile of the part of the file."""
    params = described.params
    if {"thresholds", "variables"} & params.keys():
        found.not_checked.append(
            "whether all values beyond their thresholds were replaced: the settings name thresholds or variables"
        )
        return
    quantile, side = float(params.get("quantile", QUANTILE)), str(params.get("side", "upper"))
    solved = {name for name, *_ in described.solved}
    for name, before in pair.original.items():
        if not before.numeric or name in solved:
            continue
        beyond = np.zeros(len(pair.groups), dtype=np.bool_)
        for part in np.unique(pair.groups):
            rows = np.flatnonzero((pair.groups == part) & before.present)
            values = before.values[rows] / 2  # differences do not overflow
            room = ROUNDED * np.abs(values).max(initial=0.0)
            if not len(rows):
                continue
            if side != "lower":
                beyond[rows] |= values > np.quantile(values, quantile) + room
            if side != "upper":
                beyond[rows] |= values < np.quantile(values, 1 - quantile) - room
        marked = np.zeros_like(beyond)
        marked[[at for at in declared.marked.get(name, ()) if at < len(marked)]] = True
        if left := int((beyond & ~marked & ~pair.follows[name]).sum()):
            found.problems.append(
                Note(
                    "{left} values of {field} beyond its threshold are not marked as replaced in the manifest",
                    left=left,
                    field=Field(name),
                )
            )
