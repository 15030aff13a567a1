"""Files every number of which is a string of digits that nothing else has, to be looked for where it must not be."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron" queryBinding="xslt">
  <pattern>
    <rule context="Record">
      <assert id="sum" test="A + B = T">the parts add up</assert>
      <assert id="order" test="B &lt;= T">a part is no more than the whole</assert>
      <assert id="whole" test="C = floor(C)" role="warning">whole numbers</assert>
    </rule>
  </pattern>
</schema>
"""
CLASSES = ("north", "south", "west")


@dataclass(frozen=True, slots=True)
class SecretFile:
    """A file of microdata with its rulebook, and the lexemes that nobody may see."""

    data: Path
    rules: Path
    secrets: frozenset[str]


def secret_file(folder: Path, seed: int, records: int = 60) -> SecretFile:
    """Write a CSV of numbers of seven to nine digits, none of them twice, with a total and a class.

    Some files have a few records that dwarf all others, so that a single one decides about a variance.
    """
    random = np.random.default_rng(seed)
    high = 10 ** random.integers(7, 9)
    drawn = random.choice(np.arange(high // 10, high), size=(records, 3), replace=False)
    if seed % 3 == 0:
        drawn[: max(1, records // 50)] *= 37
    rows = [(int(a), int(b), int(a) + int(b), int(c)) for a, b, c in drawn]
    secrets = frozenset(str(value) for row in rows for value in row)
    data, rules = folder / f"secret-{seed}.csv", folder / "secret.sch"
    lines = [",".join((*map(str, row), CLASSES[at % len(CLASSES)])) for at, row in enumerate(rows)]
    data.write_text("\n".join(("A,B,T,C,GROUP", *lines, "")))
    rules.write_text(RULES)
    return SecretFile(data, rules, secrets)


def found_in(text: str, secrets: frozenset[str]) -> set[str]:
    """Return the secrets that a text shows, whatever separates their digits."""
    joined = re.sub(r"(?<=\d)[,.\s'\u00a0\u2009\u202f](?=\d)", "", text)
    return {secret for secret in secrets if secret in text or secret in joined}
