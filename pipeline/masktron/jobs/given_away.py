"""Fields of the released file that give away what was suppressed, drawn anew or swapped."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from masktron.config import Role
from masktron.jobs.recoded import as_treated
from masktron.jobs.run import Run
from masktron.kernels.distinct import codes_of
from masktron.measures.keys.key_file import KeyFile
from masktron.measures.keys.read_off import WORK, ReadOff, Telling, read_off
from masktron.problems.problem import Field, Note, Sentence, fields
from masktron.results import ConcernResult
from masktron.sources.column import Column, Status
from masktron.step_kinds import Treatment, perturbed_fields, suppressed_in

type _Numbers = NDArray[np.int32]

_LEAST_SHARED = 10
"""Records that share a value with an earlier one, from which on it is no chance that one field goes with another."""
_FILE_ORDER = "the order of the file"
_RUN_OF_DIGITS = re.compile(r"([0-9]+)")


def given_away_notes(run: Run) -> Iterator[Sentence]:
    """Name the fields that show where another one was changed: each value of that had one value of these before.

    A record with town b1 in county a has been moved, where all of b1 lay in county b. What the town was is another
    question, which `with_read_off` answers.

    Parameters
    ----------
    run : Run
        Its records as treatments leave them.
    """
    original, released = run.original, run.kept
    before = as_treated(original.kept, run.treatments)
    changed = [name for name in perturbed_fields(run.treatments) if name in released.columns]
    hidden = (Role.CONFIDENTIAL, Role.IDENTIFIER)
    names = (fact.name for fact in original.fields if fact.role not in hidden and fact.name not in changed)
    others = [name for name in names if name in released.columns]
    for name in changed:
        was, now = (records.columns[name].numbered(held=True) for records in (before, released))
        own = {other: released.columns[other].numbered(held=True) for other in others}
        showing = [other for other, codes in own.items() if _goes_with(was, codes) and not _follows(now, codes)]
        if showing:
            yield Note(
                "{showing} can show which records changed {field}: in the original, each value of {field} went with "
                "one value there; draw or swap them together, or leave out or recode what shows it",
                showing=fields(showing),
                field=Field(name),
            )


def read_off_before_masking(keys: KeyFile | None, found: Run) -> KeyFile | None:
    """Fill in what fields give away that are neither masked nor removed, as `with_read_off` does for a whole file."""
    treatments = found.treatments
    if not treatments:
        return keys
    left = found.masked | found.removed
    shown = {name: own for name, own in found.kept.columns.items() if name not in left}
    before = as_treated(found.original.kept, treatments).columns
    return with_read_off(keys, treatments, before, shown, in_order=found.given.order == "keep")


def with_read_off(
    keys: KeyFile | None,
    treatments: Iterable[Treatment],
    before: Mapping[str, Column],
    released: Mapping[str, Column],
    *,
    in_order: bool,
) -> KeyFile | None:
    """Fill in what an intruder reads rightly off other fields, where that makes the risk larger.

    That is what was suppressed, drawn anew or swapped.

    Parameters
    ----------
    keys : KeyFile or None
        As they are written.
    treatments : iterable of Treatment
    before, released : mapping of str to Column
        The fields as they were before anything was hidden, and those that are written, in the same order.
    in_order : bool
        Whether the released file stands in this order, so that neighbours in the file may tell.
    """
    hidden, beside = _hidden(treatments)
    names = [name for name in hidden if name in released and name in before]
    if keys is None or not names:
        return keys
    told, columns = dict[str, ReadOff](), dict(keys.columns)
    telling = {other: _as_telling(own) for other, own in released.items()}
    masked = frozenset(
        other for other, own in released.items() if other not in hidden and _differs(before.get(other), own)
    )
    if in_order:
        telling[_FILE_ORDER] = Telling(np.full(len(keys), -1, dtype=np.int32), (np.arange(len(keys)),))
    for name in names:
        shown, true, numbers = _both(released[name], before[name])
        if (shown == true).all():
            continue
        others = {other: telling[other].codes for other in beside.get(name, ()) if other in telling and other != name}
        own = {other: one for other, one in telling.items() if other != name and other not in others}
        told[name] = replace(read_off(shown, true, own, others, numbers, WORK // len(names)), masked=masked)
        if name in columns:
            columns[name] = _filled(columns[name], shown, told[name].cells)
    filled = replace(keys, columns=columns, told=told, as_written=keys)
    worse = any(one.right for one in told.values()) and filled.risk.mean >= keys.risk.mean
    return filled if worse else replace(keys, told=told)


def _hidden(treatments: Iterable[Treatment]) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """Return the fields that were suppressed, drawn or swapped, and those of its record each was suppressed with.

    In a nested file, suppressions of members name the fields of their household, too, and leave them as they are.
    """
    done = tuple(treatments)
    beside: dict[str, tuple[str, ...]] = {}
    for one in suppressed_in(done):
        for name in one.fields:
            beside.setdefault(name, one.fields)
    return tuple(dict.fromkeys([*beside, *perturbed_fields(done)])), beside


def _as_telling(column: Column) -> Telling:
    """Return a field as an intruder may use it; of equal values any order will do, as nothing is protected by it."""
    mixed = np.random.default_rng(0).permutation(len(column))
    orders = []
    for ranks in _ranks(column):
        order = mixed[np.argsort(ranks[mixed], kind="stable")]
        orders.append(order[ranks[order] >= 0])
    return Telling(column.numbered(held=True), orders, column.values if column.numeric else None)


def _ranks(column: Column) -> Iterator[NDArray[np.intp]]:
    """Yield ranks of the values, -1 where missing, as somebody may sort them: numbers; texts; texts with H9, H10."""
    if column.numeric:
        ranks = np.unique(column.values, return_inverse=True)[1].ravel().astype(np.intp)
        yield np.where(column.present, ranks, -1)
        return
    used = np.flatnonzero(column.used & (column.states == Status.PRESENT))
    texts = column.lexicon.some(used).tolist()
    ways: tuple[Callable[[str], Any], ...] = (str, _by_numbers)
    for key in ways:
        places = {text: at for at, text in enumerate(sorted(set(texts), key=key))}
        of_text = np.full(len(column.states), -1, dtype=np.intp)
        of_text[used] = [places[text] for text in texts]
        yield of_text[column.codes]


def _by_numbers(text: str) -> list[tuple[str, int]]:
    """Return a key by which runs of digits in a text count as numbers."""
    return [("0", int(part)) if at % 2 else (part, 0) for at, part in enumerate(_RUN_OF_DIGITS.split(text))]


def _both(released: Column, before: Column) -> tuple[_Numbers, _Numbers, NDArray[np.float64]]:
    """Return the codes of a key as released and as it was, and the number of each code; NaN where it is none."""
    codes = codes_of(np.concatenate([released.held, before.held]))
    numbers = np.full(int(codes.max(initial=-1)) + 1, np.nan)
    there = codes >= 0
    numbers[codes[there]] = np.concatenate([released.values, before.values])[there]
    return codes[: len(released)], codes[len(released) :], numbers


def _differs(before: Column | None, released: Column) -> bool:
    """Tell whether some value of a field is another one."""
    return before is not None and bool((before.held != released.held).any())


def _filled(column: _Numbers, shown: _Numbers, cells: _Numbers) -> _Numbers:
    """Return a column with some cells filled in, which have the codes of `shown`, by those of the column itself."""
    there = np.flatnonzero(shown >= 0)
    # a value that nobody shows gets a code of its own
    most = max(0, int(shown.max()), int(cells.max()))
    own = int(column.max(initial=-1)) + 1 + np.arange(most + 1, dtype=np.int32)
    own[shown[there]] = column[there]
    return np.where(cells >= 0, own[np.maximum(cells, 0)], column).astype(np.int32)


def read_off_concerns(keys: KeyFile | None) -> Iterator[ConcernResult]:
    """Name the keys of which hidden values come back, with the fields that give them away."""
    for name, one in () if keys is None else keys.told.items():
        if not one.fields:
            continue
        by = [Note("{names:with}", names=fields(names)) for names in one.fields]
        what = {one.hidden: "suppressed", 0: "changed"}.get(one.suppressed, "suppressed or changed")
        yield ConcernResult(
            "read-off-key",
            name,
            one.right,
            one.hidden,
            Note(
                "{right:,} of {hidden:,} {what} cells of {field} can be read off other fields of the released file: "
                "{by:;} ({share:.1f} % of these guesses are right)",
                right=one.right,
                hidden=one.hidden,
                what=what,
                field=Field(name),
                by=by,
                share=100 * one.right / one.guessed,
            ),
            _hint(name, one.fields[0][0], masked=one.fields[0][0] in one.masked),
        )


def _hint(name: str, telling: str, *, masked: bool) -> Sentence:
    """Say what to do about a field that tells a key."""
    if telling == _FILE_ORDER:
        return Note("write the records in random order ([[--shuffle]])")
    # mask recodes no masked field
    recoded = name if masked else telling
    return Note(
        "write {recoded} in coarser classes ([[--recode {recoded}=...]]), or leave out {telling} "
        "([[--role {telling}=identifier]])",
        recoded=Field(recoded),
        telling=Field(telling),
    )


def read_off_notes(keys: KeyFile | None) -> Iterator[Sentence]:
    """Say what key figures would be by the written file alone, and which pairs of fields nobody tried."""
    if keys is not None and (written := keys.as_written) is not None:
        both = zip(_printed(keys), _printed(written), strict=True)
        if differ := [f"{figure} and not {before.split()[-1]}" for figure, before in both if figure != before]:
            yield f"key figures count cells that can be read off as known: {', '.join(differ)}"
    for name, one in () if keys is None else keys.told.items():
        if one.untried:
            yield Note(
                "{untried:,} pairs of fields are too many to try whether they give away values of {field}; single "
                "fields, larger sets and neighbours in sorted order were tried",
                untried=one.untried,
                field=Field(name),
            )


def _printed(keys: KeyFile) -> tuple[str, ...]:
    """Return key figures as notes have them."""
    return (
        f"key_k is {keys.frequencies.smallest:,.0f}",
        f"key_uniques is {keys.frequencies.below(2):,}",
        f"global_risk in % is {100 * keys.mean_risk:.1f}",
    )


def _follows(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether records with the same first number have the same second one, but for what is missing."""
    there = (first >= 0) & (second >= 0)
    pairs = np.unique(np.column_stack([first[there], second[there]]), axis=0)
    return len(pairs) == len(np.unique(pairs[:, 0]))


def _goes_with(first: _Numbers, second: _Numbers) -> bool:
    """Tell whether the second number follows from the first, and not by chance."""
    known = first[(first >= 0) & (second >= 0)]
    return len(known) - len(np.unique(known)) >= _LEAST_SHARED and _follows(first, second)
