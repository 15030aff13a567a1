"""Validation of nested files against bare parsing, in one run on one machine: ``python benchmarks/nested.py``.

Households with persons, twelve rules on and across the two levels. Bare parsing is that of `validation.py`: xml2arrow
into columns, then expat without handlers. Counts are asserted: they follow from how the file is made.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from measure import HERE, peer, process

RULES = HERE / "rules" / "households.sch"
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


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure files of several sizes."""
    parser = argparse.ArgumentParser(description="Validation of nested files, as ratios measured in one run.")
    parser.add_argument("--persons", type=int, nargs="*", default=[100_000, 1_000_000])
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


if __name__ == "__main__":
    main()
