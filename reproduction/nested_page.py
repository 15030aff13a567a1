"""The page docs/nested-compared.md, made of figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reproduction.nested_compared import NestedComparison, NestedOutcome

_HEAD = """\
# Households masked under their rules, beside persons alone and a flat file

Written by `python -m reproduction.nested_compared` from real runs on a generated survey that is made like EU-SILC
(`reproduction/generated_households.py`): households with their persons, components of income, totals of households,
equivalised income within a tolerance of rounding, ages of parents and children; 22 rules on and across both levels
(`reproduction/nested_survey/survey.sch`).

- *masktron* is one run of `mask` with the settings beside the rules: k households of one composition are alike in all
  masked numbers, their own and those of all their persons.
- *Persons alone*: MDAV over the numbers of all persons, as tools do that read one table; households stay as they are.
- *Flat file*: MDAV over rows of persons with the numbers of their household repeated, as many offices hold files;
  a household is then what its first row says.

Both are written plainly (`reproduction/nested_compared.py`), and know no rule. Means are rounded to whole numbers, as
the file has them.
"""
_ALIKE = """\
*Alike* counts households that share their composition and all masked numbers, position by position: who knows the
numbers of one member finds the household, and with it all others. Loss is 100 SSE/SST, each number standardised.
Seconds are those of runs beside other work; `mask` also judges the original and the written file, with engines that
are not ours.
"""


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


def _broken(found: NestedComparison) -> str:
    columns = found.outcomes
    rules = sorted({rule for one in columns for rule in one.broken})
    rows = [(f"`{rule}`", *(f"{one.broken.get(rule, 0):,}" for one in columns)) for rule in rules]
    rows.append(("rows", *(f"{one.differing:,}" for one in columns)))
    return _table(("records that break", *(f"{one.way}, k = {one.k}" for one in columns)), rows)


def _table(names: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = [names, ("---", *("---:" for _ in names[1:])), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"
