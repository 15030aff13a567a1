"""The page docs/nested-compared.md, made of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.nested_compared import NestedComparison, NestedOutcome, NestedRelease

_HEAD = """\
# Households masked under their rules, beside persons alone and a flat file

Written by `python -m reproduction.nested_compared` from real runs on a generated survey in the style of
EU-SILC (`reproduction/generated_households.py`). It has households with persons, components of income, household
totals, equivalised income within a rounding tolerance, and ages of parents and children. 22 rules apply within and
across both levels (`reproduction/nested_survey/survey.sch`).

- *masktron* is one run of `mask` with the settings beside the rules. k households of one composition share all masked
  numbers, their own and those of all their persons.
- *Persons alone*: MDAV over the numbers of all persons, as in tools for one table. Households stay unchanged.
- *Flat file*: MDAV over rows of persons with the numbers of their household repeated, as many offices hold files. The
  first row then stands for the household.

The last two are plain code (`reproduction/nested_compared.py`) without rules. Means are rounded to whole numbers, as
the file has them.
"""
_ALIKE = """\
*Alike* counts households that share their composition and all masked numbers, position by position. An intruder who
recognises one member by its numbers finds the household, and with it all others. Loss is 100 SSE/SST, each number
standardised. Seconds are those of runs beside other work; `mask` also judges the original and the written file, with
independent engines.
"""
_RELEASES = """\
The table has the figures of the commands for the files of masktron. *Linked* are households and persons whose masked
numbers are nearest to their own original ones. An intruder with the composition and all original numbers of a
household finds it. *Total moved most* is the weighted total of a masked number, beside that of the original.
"""
_COLUMNS = (
    "k",
    "`mask`, s",
    "`check`, s",
    "`assess`, s",
    "complies",
    "linked households, %",
    "linked persons, %",
    "total of households moved most",
    "total of persons moved most",
)


def nested_page(found: NestedComparison) -> str:
    """Return the page."""
    rows = [_row(one) for one in found.outcomes]
    names = ("", "k", "fewest alike", "alike with fewer than k", "loss of households, %", "of persons, %", "seconds")
    lines = [
        _HEAD,
        f"The file has {found.households:,} households with {found.persons:,} persons; {found.left_out} households "
        "of sizes that fewer than the largest k have are left out before.\n",
        "## Protection and loss\n",
        _ALIKE,
        _table(names, rows),
        "## Commands\n",
        f"`validate` takes {found.validating:.0f} s on the original.\n",
        _RELEASES,
        _table(_COLUMNS, [_release(one) for one in found.releases]),
        "## Rules\n",
        "Households, and persons in rules on persons, that break a rule of the written file, by libxml2. *Rows* are "
        "households whose own numbers differ between the rows of the flat file.\n",
        _broken(found),
    ]
    return "\n".join(lines)


def _row(one: NestedOutcome) -> tuple[str, ...]:
    return (
        one.way,
        str(one.k),
        str(one.alike),
        f"{one.apart:,}",
        f"{one.household_loss:.2f}",
        f"{one.person_loss:.2f}",
        f"{one.seconds:.0f}",
    )


def _release(one: NestedRelease) -> tuple[str, ...]:
    return (
        str(one.k),
        f"{one.masking:.0f}",
        f"{one.checking:.0f}",
        f"{one.assessing:.0f}",
        "yes" if one.complies else "no",
        *(f"{share:.1f}" for share in one.linked),
        *(f"{name} {change:.2f} %" for name, change in one.change),
    )


def _broken(found: NestedComparison) -> str:
    columns = found.outcomes
    rules = sorted({rule for one in columns for rule in one.broken})
    rows = [(f"`{rule}`", *(f"{one.broken.get(rule, 0):,}" for one in columns)) for rule in rules]
    rows.append(("rows", *(f"{one.differing:,}" for one in columns)))
    return _table(("records that break", *(f"{one.way}, k = {one.k}" for one in columns)), rows)


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [names, ("---", *("---:" for _ in names[1:])), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
