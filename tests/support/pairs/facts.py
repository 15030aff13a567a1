"""What a generated pair has of what is hard: mixed classes, missing values, rare strata, unmasked fields."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lxml import etree

from pairs.generate import Pair
from pairs.rules import Edit
from pairs.spelling import Speller


@dataclass(frozen=True, slots=True)
class Facts:
    """Attributes that the shares of a set of pairs count.

    Attributes
    ----------
    mixed : bool
        Two classes of rules in one block.
    missing : bool
        Some masked value is missing.
    rare : bool
        A condition splits the records into strata, one of them smaller than k.
    fixed : bool
        A rule reads a masked and an unmasked field.
    governed : bool
        Some rule has an antecedent or alternatives.
    breakable : bool
        Means of neighbouring records, blind to the rules, break one of those.
    crossed : bool
        A rule on the whole file reads a masked field.
    weighted : bool
        The file has a weight.
    negatives, zeros : bool
        Some masked number is below zero, or zero.
    ties : bool
        In some masked field of numbers, a value stands for two records on average.
    """

    mixed: bool
    missing: bool
    rare: bool
    fixed: bool
    governed: bool
    breakable: bool
    crossed: bool
    weighted: bool
    negatives: bool
    zeros: bool
    ties: bool


def facts_of(pair: Pair) -> Facts:
    """Look at a pair; conditions are counted by libxml2 on its records."""
    masked = {variable.name for variable in pair.variables if variable.masked}
    # Rules on the whole file hold no block together.
    own = [edit for edit in pair.edits if masked.intersection(edit.variables) and edit.kind != "cross-record"]
    governing = [edit for edit in own if edit.antecedent or len(edit.consequent) > 1]
    numbers = [variable.numbers for variable in pair.variables if variable.masked and variable.kind != "text"]
    return Facts(
        mixed=any(len({edit.kind for edit in block}) > 1 for block in blocks(own, masked)),
        missing=any(variable.gaps for variable in pair.variables if variable.masked),
        rare=any(0 < size < pair.k for edit in governing for size in strata(pair, edit)),
        fixed=any(set(edit.variables) - masked for edit in own),
        governed=bool(governing),
        breakable=any(_breaks(pair, edit, masked) for edit in governing),
        crossed=any(edit.kind == "cross-record" and masked.intersection(edit.variables) for edit in pair.edits),
        weighted=any(variable.role == "weight" for variable in pair.variables),
        negatives=any(min(values) < 0 for values in numbers),
        zeros=any(0 in values for values in numbers),
        ties=any(2 * len(set(values)) <= pair.n for values in numbers),
    )


def blocks(edits: Sequence[Edit], masked: set[str]) -> list[list[Edit]]:
    """Group rules whose masked fields are connected."""
    found: list[tuple[set[str], list[Edit]]] = []
    for edit in edits:
        names, members = masked.intersection(edit.variables), [edit]
        apart = []
        for others, block in found:
            if others & names:
                names |= others
                members = [*block, *members]
            else:
                apart.append((others, block))
        found = [*apart, (names, members)]
    return [members for _, members in found]


def strata(pair: Pair, edit: Edit) -> tuple[int, ...]:
    """Count the records of each stratum of a rule: those that meet its antecedent and the others, or each case."""
    speller = _plain(pair)
    root: Any = etree.fromstring(pair.data)
    if edit.antecedent:
        met = int(root.xpath(f"count(Record[{speller.condition(edit)}])"))
        return met, pair.n - met
    texts = [" and ".join(speller.atom(atom, plain=True) for atom in case) for case in edit.consequent]
    return tuple(
        int(root.xpath(f"count(Record[({text}) and not({' or '.join(texts[:place] or ['false()'])})])"))
        for place, text in enumerate(texts)
    )


def _breaks(pair: Pair, edit: Edit, masked: set[str]) -> bool:
    """Average runs of k records that are neighbours in some field, and see whether a rule with its numbers holds."""
    variables = {variable.name: variable for variable in pair.variables}
    used = [variables[name] for name in edit.variables]
    moving = [variable for variable in used if variable.masked and variable.kind != "text"]
    if edit.label == "filter" or not moving or not any(variable.masked for variable in used):
        return False
    speller = _plain(pair)
    texts = [" and ".join(speller.atom(atom, plain=True) for atom in case) for case in edit.consequent]
    body = " or ".join(f"({text})" for text in texts)
    condition = " and ".join(speller.atom(atom, plain=True) for atom in edit.antecedent) or "true()"
    complete = [i for i in range(pair.n) if not any(i in variable.gaps for variable in used)]
    for key in moving:
        ranked = sorted(complete, key=lambda i: (key.numbers[i], i))
        for start in range(0, len(ranked) - pair.k + 1, pair.k):
            group = ranked[start : start + pair.k]
            record = etree.Element("Record")
            for variable in used:
                if variable in moving:
                    text = repr(float(sum(variable.numbers[i] for i in group) / len(group)))
                else:
                    text = str(variable.lexeme(group[0]))
                etree.SubElement(record, variable.name).text = text
            if not record.xpath(f"not({condition}) or {body}"):
                return True
    return False


def _plain(pair: Pair) -> Speller:
    return Speller(random.Random(0), {variable.name: variable for variable in pair.variables}, modern=False)
