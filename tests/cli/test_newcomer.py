"""A first afternoon: a table as CSV, twelve rules, the usual mistakes in them, each told by the first command."""

from __future__ import annotations

import csv
import random
import subprocess
import sys
from pathlib import Path

import pytest

from cli_runner import Runner
from masktron.resources import resource

TESTS = {
    "balance": ("Record", "Wage + Rent = Income"),
    "tax": ("Record", "Tax <= Income"),
    "wage": ("Record", "Wage >= 0"),
    "rent": ("Record", "Rent >= 0"),
    "net": ("Record", "Income - Tax = Net"),
    "tax-floor": ("Record", "Tax >= 0"),
    "age": ("Record", "Age >= 16 and Age <= 99"),
    "age-whole": ("Record", "floor(Age) = Age"),
    "hours": ("Record", "Hours >= 0 and Hours <= 99"),
    "region": ("Record", "Region = 'NO' or Region = 'SO'"),
    "relation": ("Record", "Relation >= 1 and Relation <= 9"),
    "poor": ("Record", "not(Income < 1000) or Tax = 0"),
}


def rulebook(path: Path, **changed: tuple[str, str]) -> Path:
    """Write the rules, some of them in another form; in attributes of XML < has to be escaped, unless it is not."""
    rules = "".join(
        f'<rule context="{context}">\n<assert id="{name}" test="{test}"/>\n</rule>\n</pattern>\n<pattern>'
        for name, (context, test) in {
            **{name: (own, test.replace("<", "&lt;")) for name, (own, test) in TESTS.items()},
            **changed,
        }.items()
    ).removesuffix("</pattern>\n<pattern>")
    path.write_text(f'<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>{rules}</pattern></schema>')
    return path


def table(path: Path) -> Path:
    """120 persons; the sums are right, tax is none for the poor."""
    numbers = random.Random(4)
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(["Name", "Region", "Relation", "Age", "Hours", "Wage", "Rent", "Income", "Tax", "Net"])
        for at in range(120):
            wage, rent = numbers.randrange(200, 9000), numbers.randrange(0, 900)
            income = wage + rent
            tax = 0 if income < 1000 else income // 5
            age, hours = numbers.randrange(16, 99), numbers.randrange(0, 80)
            place, relation = ("NO", "SO")[at % 2], 1 + at % 9
            writer.writerow([f"P{at}", place, relation, age, hours, wage, rent, income, tax, income - tax])
    return path


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("name", "wrong", "told"),
    [
        ("tax", ("Record", "Tax < Income"), ["'tax'", "[not-escaped]"]),
        ("wage", ("record", "Wage >= 0"), ["rule wage", "'record'", "did you mean Record?"]),
        ("rent", ("Record", "Rnet >= 0"), ["rule rent", "Rnet", "did you mean Rent?"]),
        ("hours", ("Record", "Hours => 0"), ["rule hours", "'=>' (character 7)", "[xpath-error]"]),
        ("region", ("Record", "Region = 'NO' OR Region = 'SO'"), ["rule region", "'OR'", "[xpath-error]"]),
    ],
)
@pytest.mark.parametrize("command", ["validate", "mask"])
def test_each_mistake_is_told_by_the_first_command_that_sees_it(
    name: str, wrong: tuple[str, str], told: list[str], command: str, tmp_path: Path, run: Runner
) -> None:
    data = converted(tmp_path)
    rules = rulebook(tmp_path / "rules.sch", **{name: wrong})
    line = next(at for at, text in enumerate(rules.read_text().splitlines(), 1) if f'"{name}"' in text)
    rest = ["--out", tmp_path / "m.xml", "--role", "Name=identifier"] if command == "mask" else []
    outcome = run(command, data, "--rules", rules, *rest)
    assert outcome.code == 3
    said = " ".join((outcome.out + outcome.err).split())
    assert all(words in said for words in told), said
    assert any(f"rules.sch:{at}" in said for at in (line - 1, line)), said
    assert not (tmp_path / "m.xml").exists()


def test_the_way_from_a_table_to_a_release(tmp_path: Path, run: Runner) -> None:
    rules, source = rulebook(tmp_path / "rules.sch"), table(tmp_path / "persons.csv")
    data = converted(tmp_path)
    assert run("validate", source, "--rules", rules).code == 0
    assert run("validate", data, "--rules", rules).code == 0
    release(data, rules, tmp_path / "out.xml", run)
    release(source, rules, tmp_path / "masked.csv", run)


def release(data: Path, rules: Path, out: Path, run: Runner) -> None:
    """Mask a file, told by one error after the other what is to be said, and check it."""
    masking = ["mask", data, "--rules", rules, "--out", out]
    roles = run(*masking)
    assert roles.code == 2
    # neither a name nor a code is averaged or published because nobody said what it is
    for field in ("Name", "Region"):
        assert field in roles.err
    said = ["--role", "Name=identifier", "--role", "Region=untouched"]
    codes = run(*masking, *said)
    assert codes.code == 2
    assert "--nominal Relation" in codes.err
    done = run(*masking, *said, "--nominal", "Relation", "--json", out.with_name("out.json"))
    assert done.code == 0, done.err
    assert "12 of 12 rules tested" in done.out
    assert "in random order" in " ".join(done.out.split())

    manifest = out.with_suffix(".manifest.json")
    proof = run("check", out, "--rules", rules, "--original", data, "--manifest", manifest)
    assert proof.code == 0, proof.out + proof.err


def converted(folder: Path) -> Path:
    data = folder / "persons.xml"
    source = table(folder / "persons.csv")
    script = resource("sample_xml/convert_csv.py")
    subprocess.run([sys.executable, str(script), str(source), str(data)], check=True)
    return data
