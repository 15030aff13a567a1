"""Why a pair has to be refused: an unmasked field that leaves a record without company."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from lxml import etree

from pairs.facts import blocks
from pairs.generate import Pair
from pairs.judge import violations

BUDGET = 3000
"""Records that are judged for one pair."""
RARE = 4
"""Combinations of unmasked values that are looked at, the rarest first."""

type Cells = tuple[str | None, ...]


def lonely(pair: Pair, folder: Path) -> str | None:
    """Find records that share an admissible value of a block with fewer than k records; None where there are none.

    A group needs one value of its block that obeys the rules together with the unmasked fields of each of its
    records. All values that occur in the file are tried in every such surrounding. For categories and sets that is
    a proof; for numbers it is one about the values that occur.
    """
    judge = _Judge(pair, folder)
    for masked, fixed in _blocks(pair):
        surroundings = Counter(judge.cells(record, fixed) for record in range(pair.n))
        values = {judge.cells(record, masked) for record in range(pair.n)}
        ranked = sorted(surroundings, key=lambda cells: (surroundings[cells], str(cells)))
        for rare in ranked[:RARE]:
            most = 0
            for value in sorted(values, key=str):
                if not judge.fits(masked, value, fixed, rare):
                    continue
                company = sum(n for other, n in surroundings.items() if judge.fits(masked, value, fixed, other))
                most = max(most, company)
                if most >= pair.k or judge.left <= 0:
                    break
            if judge.left <= 0:
                return None
            if most < pair.k:
                return f"{', '.join(fixed)} = {rare}: at most {most} records share a value of {', '.join(masked)}"
    return None


def _blocks(pair: Pair) -> Iterator[tuple[list[str], list[str]]]:
    masked = {variable.name for variable in pair.variables if variable.masked}
    own = [edit for edit in pair.edits if masked.intersection(edit.variables) and edit.kind != "cross-record"]
    components = [own] if pair.settings["grouping"] == "all" else blocks(own, masked)
    for component in components:
        names = {name for edit in component for name in edit.variables}
        if fixed := sorted(names - masked):
            yield sorted(names & masked), fixed


class _Judge:
    """Puts values into records of the pair and asks the engines."""

    def __init__(self, pair: Pair, folder: Path) -> None:
        self.variables = {variable.name: variable for variable in pair.variables}
        self.n = pair.n
        self.data, self.rules = pair.write(folder)
        self.trial = folder / "trial.xml"
        self.over_file = {edit.id for edit in pair.edits if edit.kind == "cross-record"}
        self.left = BUDGET
        self.known: dict[tuple[Cells, Cells], bool] = {}

    def cells(self, record: int, names: list[str]) -> Cells:
        return tuple(self.variables[name].lexeme(record) for name in names)

    def fits(self, masked: list[str], value: Cells, fixed: list[str], surrounding: Cells) -> bool:
        """Tell whether a record with these unmasked fields may have these masked ones."""
        key = ((*masked, *value), surrounding)
        if key not in self.known:
            self.left -= 1
            base = next(record for record in range(self.n) if self.cells(record, fixed) == surrounding)
            changed = dict(zip(masked, value, strict=True))
            root = etree.Element("Data")
            element = etree.SubElement(root, "Record")
            for variable in self.variables.values():
                lexeme = changed[variable.name] if variable.name in changed else variable.lexeme(base)
                if lexeme is not None and variable.attribute:
                    element.set(variable.name, lexeme)
                elif lexeme is not None:
                    etree.SubElement(element, variable.name).text = lexeme
            self.trial.write_bytes(etree.tostring(root))
            self.known[key] = not violations(self.rules, self.trial, self.data).keys() - self.over_file
        return self.known[key]
