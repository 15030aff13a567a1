"""Generate a pair of data and rulebook from a seed: data that obey the rules because they were made to."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from lxml import etree

from pairs.builder import Builder
from pairs.governing import GOVERNING
from pairs.motifs import PLAIN
from pairs.rules import Edit
from pairs.spelling import Speller, rulebook
from pairs.values import Gap, Variable

MAX_TRIES = 60


@dataclass(frozen=True, slots=True)
class Pair:
    """A file, its rulebook, and the settings to mask it with.

    Attributes
    ----------
    facts : Facts
    settings : dict
        Keyword arguments of ``masktron.mask``.
    """

    seed: int
    n: int
    k: int
    variables: tuple[Variable, ...]
    edits: tuple[Edit, ...]
    data: bytes
    rules: bytes
    settings: dict[str, Any]
    modern: bool

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Write ``data.xml``, ``rules.sch`` and ``masktron.toml``; return the paths of the first two."""
        folder.mkdir(parents=True, exist_ok=True)
        data, rules = folder / "data.xml", folder / "rules.sch"
        data.write_bytes(self.data)
        rules.write_bytes(self.rules)
        (folder / "masktron.toml").write_text(_toml(self.settings), encoding="utf-8")
        return data, rules


def generate(seed: int) -> Pair:
    """Make the pair of a seed; the same seed always gives the same bytes."""
    rng = random.Random(seed)
    n = rng.randint(20, 150)
    b = Builder(rng, n, _choose_k(rng, n), max_variables=rng.choice((*range(3, 16), 8, 9, 10)))
    _unmasked(b)
    wanted = rng.randint(1, 12)
    shares = [*PLAIN, *GOVERNING]
    for _ in range(MAX_TRIES):
        if len(b.edits) >= wanted:
            break
        rng.choices([motif for motif, _ in shares], [weight for _, weight in shares])[0](b)
    while len(b.variables) < 3 or not b.found(("integer", "money", "ratio", "text")):
        b.new_number("integer")
    leave_out(b)
    modern = rng.random() < 0.4
    variables = list(b.variables.values())
    rng.shuffle(variables)
    edits = tuple(b.edits[:12])
    speller = Speller(rng, b.variables, modern=modern)
    rules = rulebook(rng, speller, rng.sample(edits, len(edits)))
    settings = _settings(rng, b, variables)
    return Pair(seed, n, b.k, tuple(variables), edits, document(variables, n), rules, settings, modern)


def _choose_k(rng: random.Random, n: int) -> int:
    way = rng.random()
    if way < 0.65:
        return rng.randint(2, 10)
    if way < 0.85:
        return rng.randint(5, max(5, n // 4))
    return rng.randint(n // 4, n // 2) if way < 0.95 else rng.randint(n // 2, n)


def _unmasked(b: Builder) -> None:
    """Start with fields that stay as they are: a weight, a key, conditions."""
    if b.max_variables >= 5 and b.chance(0.2):
        b.add("money", [value / 10 + Fraction(1, 100) for value in b.draw("integer", "positive")], "weight")
        weight = list(b.variables.values())[-1]
        weight.values = [Fraction(round(value * 100), 100) for value in weight.numbers]
    if b.max_variables >= 5 and b.chance(0.25):
        numbers = b.rng.sample(range(1000, 10000), b.n)
        b.add("integer", [Fraction(number) for number in numbers], "record-id").attribute = b.chance(0.4)
    if b.max_variables >= 4 and b.chance(0.45):
        if b.chance(0.6):
            b.new_text("untouched")
        else:
            few = b.chance(0.8)
            b.add("integer", b.draw("integer", "codes" if few else "wide"), "untouched")


def leave_out(b: Builder) -> None:
    """Let values go missing, or a field be an attribute; the spelling of the rules takes care of it."""
    if b.chance(0.1):
        b.rng.choice(list(b.variables.values())).attribute = True
    if not b.chance(0.4):
        return
    candidates = [v for v in b.variables.values() if v.masked and not v.filtered]
    for variable in b.rng.sample(candidates, min(len(candidates), b.rng.randint(1, 3))):
        count = b.rng.randint(1, 3) if b.chance(0.35) else b.rng.randint(2, max(2, b.n // 4))
        kinds: list[Gap] = b.rng.sample(["absent", "empty", "code"], b.rng.choice((1, 1, 2)))
        variable.code = _code(b, variable)
        for record in b.rng.sample(range(b.n), min(count, b.n - 2)):
            variable.gaps[record] = b.rng.choice(kinds)


def _code(b: Builder, variable: Variable) -> str:
    if variable.kind == "text":
        return "??"
    options = ["NA", "-9"] if min(variable.numbers) >= 0 else ["NA"]
    return b.rng.choice([*options, "99999999"])


def _settings(rng: random.Random, b: Builder, variables: Iterable[Variable]) -> dict[str, Any]:
    roles = {v.reference: v.role for v in variables if not v.masked}
    roles |= {v.reference: v.role for v in variables if v.masked and v.kind == "text"}
    rng.randint(0, 999)  # was the seed of the run: what is generated stays as it was
    missing = {v.reference: [v.code] for v in variables if "code" in v.gaps.values()}
    return {
        "k": b.k,
        "order": "keep",
        "roles": roles,
        "missing": missing,
        "numeric": [v.reference for v in variables if v.masked and v.kind != "text"],
        "grouping": "all" if rng.random() < 0.1 else "rules",
        "group_size_vars": rng.randint(1, 4),
    }


def document(variables: list[Variable], n: int) -> bytes:
    """Write the records in the plain format."""
    root = etree.Element("Data")
    for index in range(n):
        record = etree.SubElement(root, "Record")
        for variable in variables:
            lexeme = variable.lexeme(index)
            if lexeme is None:
                continue
            if variable.attribute:
                record.set(variable.name, lexeme)
            else:
                etree.SubElement(record, variable.name).text = lexeme
    etree.indent(root)
    return etree.tostring(root, xml_declaration=True, encoding="UTF-8")


def _toml(settings: dict[str, Any]) -> str:
    lines = [f"{key} = {json.dumps(value)}" for key, value in settings.items() if not isinstance(value, dict)]
    for key, table in settings.items():
        if isinstance(table, dict) and table:
            lines += ["", f"[{key}]", *(f"{json.dumps(name)} = {json.dumps(value)}" for name, value in table.items())]
    return "\n".join(lines) + "\n"
