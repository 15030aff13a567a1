"""`python -m reproduction.nested_compared`: households masked under their rules, persons alone, and a flat file.

Writes docs/nested-compared.md from real runs on a generated survey.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from lxml import etree

import masktron
from reproduction.generated_households import NESTED_SETTINGS, PERSONS, write_households
from reproduction.keys_compared import ROOT, broken
from reproduction.nested_page import nested_page
from reproduction.usual_order import microaggregated

OF_HOUSEHOLDS = ("FamilyAllowance", "HousingAllowance", "Gross", "Tax", "Disposable", "Equivalised")
"""Numbers of the household that are masked."""
OF_PERSONS = ("Wage", "SelfEmployment", "Unemployment", "Pension", "Income")
"""Numbers of a person that are masked."""
RULES = NESTED_SETTINGS / "survey.sch"


@dataclass(frozen=True, slots=True)
class NestedOutcome:
    """A survey as one of the ways leaves it.

    Attributes
    ----------
    way : str
    k : int
    alike : int
        The fewest households that share composition and all masked numbers, position by position.
    apart : int
        Households that share them with fewer than k.
    household_loss, person_loss : float
        100 SSE/SST of the masked numbers of a level, each standardised.
    broken : mapping of str to int
        Households and persons that break each rule.
    differing : int
        Households whose own numbers differ between their rows, where there are several.
    seconds : float
    """

    way: str
    k: int
    alike: int
    apart: int
    household_loss: float
    person_loss: float
    broken: Mapping[str, int]
    differing: int
    seconds: float


@dataclass(frozen=True, slots=True)
class NestedRelease:
    """What the commands say of one masked survey.

    Attributes
    ----------
    k : int
    masking, checking, assessing : float
        Seconds.
    complies : bool
        Whether `check` finds the release in order.
    linked : tuple of float
        Households, and persons, that an intruder links to their original by distance, in per cent.
    change : tuple of (str, float)
        For each level the field whose weighted total has moved most, and by how many per cent.
    """

    k: int
    masking: float
    checking: float
    assessing: float
    complies: bool
    linked: tuple[float, ...]
    change: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class NestedComparison:
    """All ways, side by side.

    Attributes
    ----------
    households, persons : int
    left_out : int
        Households of rare compositions, which no way has.
    validating : float
        Seconds that `validate` takes on the original.
    outcomes : tuple of NestedOutcome
    releases : tuple of NestedRelease
    """

    households: int
    persons: int
    left_out: int
    validating: float
    outcomes: tuple[NestedOutcome, ...]
    releases: tuple[NestedRelease, ...]


@dataclass(frozen=True, slots=True)
class _Survey:
    """The numbers of both levels, and how many persons each household has, in the order of the file."""

    households: pd.DataFrame
    persons: pd.DataFrame
    sizes: list[int]

    @classmethod
    def read(cls, path: Path) -> _Survey:
        """Read the numbers of a survey."""
        households, persons, sizes = [], [], []
        for one in units(path):
            members = one.findall("Person")
            households.append([float(one.findtext(name) or "nan") for name in OF_HOUSEHOLDS])
            persons += [[float(person.findtext(name) or "nan") for name in OF_PERSONS] for person in members]
            sizes.append(len(members))
        return cls(
            pd.DataFrame(households, columns=list(OF_HOUSEHOLDS)),
            pd.DataFrame(persons, columns=list(OF_PERSONS)),
            sizes,
        )

    @property
    def rows(self) -> pd.DataFrame:
        """The flat file: one row for each person, with the numbers of the household repeated."""
        repeated = self.households.loc[np.repeat(np.arange(len(self.sizes)), self.sizes)]
        return pd.concat([repeated.reset_index(drop=True), self.persons], axis=1)


def units(path: Path) -> Iterator[etree._Element]:
    """Yield the households of a survey, one at a time."""
    for _, one in etree.iterparse(path, tag="Household"):
        yield one
        one.clear()
        while one.getprevious() is not None:
            del one.getparent()[0]


def persons_alone(survey: _Survey, k: int) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Microaggregate the persons, as if the file had nothing else; households stay as they are."""
    return survey.households, microaggregated(survey.persons, k), 0


def flattened(survey: _Survey, k: int) -> tuple[pd.DataFrame, pd.DataFrame, int]:
    """Microaggregate the rows of the flat file; a household is what its first row says."""
    rows = microaggregated(survey.rows, k).round()
    ends = np.cumsum(survey.sizes)
    own = rows[list(OF_HOUSEHOLDS)]
    household = np.repeat(np.arange(len(survey.sizes)), survey.sizes)
    differing = int((own.groupby(household).nunique().max(axis=1) > 1).sum())
    first = own.iloc[ends - np.array(survey.sizes)].reset_index(drop=True)
    return first, rows[list(OF_PERSONS)], differing


def write_like(path: Path, households: pd.DataFrame, persons: pd.DataFrame, out: Path) -> None:
    """Write a survey with whole numbers in the place of its own."""
    own, theirs = iter(households.round().to_numpy()), iter(persons.round().to_numpy())
    with out.open("wb") as file:
        file.write(b"<Survey>\n")
        for one in units(path):
            _fill(one, OF_HOUSEHOLDS, next(own))
            for person in one.findall("Person"):
                _fill(person, OF_PERSONS, next(theirs))
            one.tail = "\n"
            file.write(etree.tostring(one))
        file.write(b"</Survey>\n")


def _fill(element: etree._Element, names: Sequence[str], values: Iterable[float]) -> None:
    for name, value in zip(names, values, strict=True):
        found = element.find(name)
        if found is not None:
            found.text = str(int(value))


def sharing(path: Path) -> list[int]:
    """Count for each household those that share its composition and masked numbers."""
    said = []
    for one in units(path):
        persons = [tuple(person.findtext(name) for name in OF_PERSONS) for person in one.findall("Person")]
        said.append((tuple(one.findtext(name) for name in OF_HOUSEHOLDS), tuple(persons)))
    counts = Counter(said)
    return [counts[own] for own in said]


def lost(before: pd.DataFrame, after: pd.DataFrame) -> float:
    """Return 100 SSE/SST, each number standardised."""
    spread = before.std(ddof=0)
    kept = spread[spread > 0].index
    error = ((before[kept] - after[kept]) / spread[kept]) ** 2
    return float(100 * error.to_numpy().sum() / (len(before) * len(kept)))


def outcome(way: str, k: int, original: Path, released: Path, differing: int, seconds: float) -> NestedOutcome:
    """Measure what one of the ways has written, households in the order of the original."""
    before, after = _Survey.read(original), _Survey.read(released)
    alike = sharing(released)
    return NestedOutcome(
        way,
        k,
        min(alike),
        sum(one < k for one in alike),
        lost(before.households, after.households),
        lost(before.persons, after.persons),
        {rule: count for rule, count in broken(released, RULES, original).items() if count},
        differing,
        seconds,
    )


def compared(folder: Path, persons: int, ks: Sequence[int]) -> NestedComparison:
    """Mask a survey in all ways.

    Parameters
    ----------
    folder : Path
        Where the files go.
    persons : int
    ks : sequence of int
    """
    whole = write_households(folder / "whole.xml", persons)
    original = folder / "survey.xml"
    left_out = _without_rare(whole, original, max(ks))
    survey = _Survey.read(original)
    found: list[NestedOutcome] = []
    releases: list[NestedRelease] = []
    original_valid, validating = _timed(lambda: masktron.validate(original, RULES))
    if not original_valid.valid:
        raise ValueError("the generated survey breaks its rules")
    for k in ks:
        released = folder / f"masktron-{k}.xml"
        releases.append(_released(original, released, k))
        print(releases[-1], file=sys.stderr)
        found.append(outcome("masktron", k, original, released, 0, releases[-1].masking))
        for name, way in (("persons alone", persons_alone), ("flat file", flattened)):
            start = time.perf_counter()
            released = folder / f"{name}-{k}.xml"
            *numbers, differing = way(survey, k)
            taken = time.perf_counter() - start
            write_like(original, numbers[0], numbers[1], released)
            found.append(outcome(name, k, original, released, differing, taken))
    return NestedComparison(
        len(survey.sizes), len(survey.persons), left_out, validating, tuple(found), tuple(releases)
    )


def _released(original: Path, released: Path, k: int) -> NestedRelease:
    """Mask a survey, check what was written, and assess it."""
    config = masktron.load_config(NESTED_SETTINGS / "survey.toml")
    manifest = released.with_suffix(".manifest.json")
    _, masking = _timed(lambda: masktron.mask(original, RULES, released, config=config, k=k, manifest=manifest))
    checked, checking = _timed(lambda: masktron.check(released, RULES, original=original, manifest=manifest))
    assessed, assessing = _timed(lambda: masktron.assess(released, original, manifest=manifest))
    figures = [{one.name: one for one in level.figures} for level in assessed.levels]
    return NestedRelease(
        k,
        masking,
        checking,
        assessing,
        checked.complies,
        tuple(float(one["linkage"].value or 0) for one in figures),
        tuple((one["total_change"].field, float(one["total_change"].value or 0)) for one in figures),
    )


def _timed[T](run: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    return run(), time.perf_counter() - start


def _without_rare(whole: Path, out: Path, k: int) -> int:
    """Write the survey without households of a size that fewer than k have; return how many these are."""
    sizes = Counter(len(one.findall("Person")) for one in units(whole))
    left_out = 0
    with out.open("wb") as file:
        file.write(b"<Survey>\n")
        for one in units(whole):
            if sizes[len(one.findall("Person"))] < k:
                left_out += 1
            else:
                file.write(etree.tostring(one))
        file.write(b"</Survey>\n")
    return left_out


def main() -> int:
    """Write the page; return 1 where a file of ours breaks a rule, has fewer than k alike, or does not comply."""
    parser = argparse.ArgumentParser(prog="python -m reproduction.nested_compared", description=__doc__)
    parser.add_argument("--persons", type=int, default=PERSONS, help="persons of the generated survey")
    parser.add_argument("--k", type=int, action="append", help="households that are alike; 3, 5 and 10 by default")
    parser.add_argument("--out", type=Path, default=ROOT / "docs" / "nested-compared.md", help="the page")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        found = compared(Path(folder), options.persons, options.k or (3, 5, 10))
    options.out.write_text(nested_page(found), encoding="utf-8")
    missed = sorted(
        {one.k for one in found.outcomes if one.way == "masktron" and (one.broken or one.alike < one.k)}
        | {one.k for one in found.releases if not one.complies}
    )
    print(f"{options.out}: {', '.join(map(str, missed)) or 'no k'} missed by masktron")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
