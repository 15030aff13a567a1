"""Nested files against bare parsing and flat files, in one run on one machine: ``python benchmarks/nested.py``.

Households with persons, twelve rules on and across the two levels. Bare parsing is that of `validation.py`: xml2arrow
into columns, then expat without handlers. Counts are asserted: they follow from how the file is made.

Masked are the survey of households of `reproduction.generated_households`, with its 22 rules, household by household,
and the same persons as flat records, with twelve rules and about as many cells.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from lxml import etree
from measure import HERE, Measured, peer, process

sys.path.append(str(HERE.parent))
from reproduction.generated_households import NESTED_SETTINGS, write_households

RULES = HERE / "rules" / "households.sch"
K = 3
_FLAT_RULES = HERE / "rules" / "persons.sch"
_OWN = ("Age", "Sex", "Education", "Status", "Wage", "SelfEmployment", "Unemployment", "Pension", "Income")
_UNMASKED = ("Region", "Tenure", "Age", "Sex", "Education", "Status")
_KEY = bytes(range(32)).hex()
_SIZES, _SHARES = range(1, 9), (30, 33, 15, 14, 5, 2, 0.7, 0.3)


def household(draw: random.Random, number: int, failures: Counter[str]) -> tuple[int, str]:
    """Return how many persons a household has, and its text; what fails in it is counted."""
    size = draw.choices(_SIZES, _SHARES)[0]
    incomes = [draw.randrange(90_000) for _ in range(size)]
    more, other = draw.random() < 0.01, draw.random() < 0.01
    failures["total"] += more
    failures["count"] += other
    head = draw.randrange(30, 90)
    persons = []
    for at, income in enumerate(incomes):
        role = "head" if at == 0 else "spouse" if at == 1 and draw.random() < 0.7 else "child"
        age = (
            max(0, head - draw.randrange(14, 40)) if role == "child" else head if at == 0 else draw.randrange(20, 90)
        )
        failures["older"] += role == "child" and head < age + 15
        wage = draw.randrange(income + 1)
        persons.append(
            f'  <Person nr="{at + 1}"><Role>{role}</Role><Age>{age}</Age><Sex>{draw.choice("fm")}</Sex><Wage>{wage}'
            f"</Wage><Benefit>{income - wage}</Benefit><Income>{income}</Income></Person>\n"
        )
    return size, (
        f' <Household id="h{number}">\n  <Size>{size + other}</Size>\n  <Region>{draw.choice("ABCDE")}</Region>\n'
        f"  <Total>{sum(incomes) + more}</Total>\n{''.join(persons)} </Household>\n"
    )


def survey(path: Path, persons: int) -> tuple[int, Counter[str]]:
    """Write a file of some persons; return its households and the number of failures by rule."""
    draw, failures = random.Random(1), Counter[str]()  # noqa: S311 -- made data
    households = written = 0
    with path.open("w", encoding="utf-8") as file:
        file.write("<?xml version='1.0' encoding='UTF-8'?>\n<Survey>\n")
        while written < persons:
            households += 1
            size, text = household(draw, households, failures)
            written += size
            file.write(text)
        file.write("</Survey>\n")
    return households, +failures


def flattened(path: Path, target: Path) -> tuple[int, int, int]:
    """Write the persons of a survey as flat records; return their number, and the cells of both files.

    Of the household, each has region, tenure, weight and an income of its own kind; its first person has what the
    household gets.
    """
    persons = nested_cells = cells = 0
    with target.open("w", encoding="utf-8") as file:
        file.write("<Survey>\n")
        for _, home in etree.iterparse(path, tag="Household"):
            members = home.findall("Person")
            nested_cells += 1 + len(home) - len(members) + sum(1 + len(one) for one in members)
            for at, one in enumerate(members):
                fields = {name: home.findtext(name) for name in ("Region", "Tenure", "Weight")}
                fields |= {name: text for name in _OWN if (text := one.findtext(name)) is not None}
                family, housing = (
                    int(home.findtext(name)) if at == 0 else 0 for name in ("FamilyAllowance", "HousingAllowance")
                )
                gross = int(fields["Income"]) + family + housing
                own = {"FamilyAllowance": family, "HousingAllowance": housing, "Gross": gross, "Tax": gross // 5}
                fields |= own | {"Disposable": gross - gross // 5}
                persons, cells = persons + 1, cells + len(fields)
                inner = "".join(f"<{name}>{value}</{name}>" for name, value in fields.items())
                file.write(f"<Person>{inner}</Person>\n")
            home.clear()
        file.write("</Survey>\n")
    return persons, nested_cells, cells


def masked(folder: Path, data: Path, rules: Path, *options: object) -> Measured:
    """Mask a file, and look at what the command says.

    Raises
    ------
    AssertionError
        A rule is broken, or a group is small.
    """
    said, key = folder / "said.json", folder / "release.key"
    key.write_text(f"{_KEY}\n", encoding="utf-8")
    arguments = ["mask", data, "--rules", rules, "-k", K, "--secret", key, "--json", said, *options]
    measured = process(
        [sys.executable, "-m", "masktron", *arguments, "--out", folder / "masked.xml"], folder / "out.txt", repeats=1
    )
    result = json.loads(said.read_text(encoding="utf-8"))
    if result["violations"] or result["min_group"] < K or not all(one["agrees"] for one in result["engines"]):
        raise AssertionError(f"masking {data}: {result['violations']} violations, groups of {result['min_group']}")
    return measured


def compare_masking(folder: Path, persons: int) -> str:
    """Mask persons in households, and as flat records; return what that took."""
    nested, flat = folder / "survey.xml", folder / "flat.xml"
    write_households(nested, persons)
    records, cells, flat_cells = flattened(nested, flat)
    (folder / "masktron.toml").write_text('order = "keep"\n', encoding="utf-8")
    settings = ["--config", NESTED_SETTINGS / "survey.toml", "--rare-units", "exclude"]
    own = masked(folder, nested, NESTED_SETTINGS / "survey.sch", *settings)
    roles = [part for name in _UNMASKED for part in ("--role", f"{name}=quasi-identifier")]
    plain = ["--config", folder / "masktron.toml", *roles, "--role", "Weight=weight"]
    other = masked(folder, flat, _FLAT_RULES, *plain)
    return (
        f"masking {records:,} persons in households, {cells:,} cells, 22 rules, mdav, k = {K}: {own.seconds:.1f} s, "
        f"{own.seconds / other.seconds:.1f} x as many flat records of {flat_cells:,} cells and twelve rules "
        f"({other.seconds:.1f} s); of processors {own.cpu:.1f} s, {own.cpu / other.cpu:.1f} x ({other.cpu:.1f} s); "
        f"{own.megabytes:.0f} and {other.megabytes:.0f} MB"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure files of several sizes."""
    parser = argparse.ArgumentParser(description="Nested files, as ratios measured in one run.")
    parser.add_argument("--persons", type=int, nargs="*", default=[100_000, 1_000_000])
    parser.add_argument("--masked-persons", type=int, nargs="*", default=[10_000], help="100000 takes minutes")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="masktron-bench-") as folder:
        path, out = Path(folder) / "households.xml", Path(folder) / "out.txt"
        for persons in options.persons:
            households, failures = survey(path, persons)
            bare = peer("bare_nested", path)
            command = [sys.executable, "-m", "masktron", "validate", path, "--rules", RULES]
            measured = process(command, out, allowed=(1,), repeats=options.repeats)
            said = out.read_text(encoding="utf-8")
            shown = re.findall(r"(?m)^(\w+) +\S+ +[\d,]+ +([\d,]+) ", said)
            found = +Counter({name: int(failed.replace(",", "")) for name, failed in shown})
            if found != failures or len(shown) != 12 or f": {households:,} records, " not in said:
                raise AssertionError(f"counted {found}, and there are {failures}: {said}")
            print(
                f"{persons:,} persons, {households:,} households, {path.stat().st_size / 1e6:.0f} MB, twelve rules: "
                f"{measured.seconds:.2f} s, {measured.seconds / bare['seconds']:.2f} x bare parsing "
                f"({bare['seconds']:.2f} s); of processors {measured.cpu:.2f} s, {measured.cpu / bare['cpu']:.2f} x "
                f"({bare['cpu']:.2f} s); {measured.megabytes:.0f} MB; "
                f"lxml iterparse with clearing takes {bare['iterparse']:.2f} s",
                flush=True,
            )
        for persons in options.masked_persons:
            print(compare_masking(Path(folder), persons), flush=True)


if __name__ == "__main__":
    main()
