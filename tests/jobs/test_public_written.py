"""The page for others: what is replaced and how the file is written is said of a real release, by no count of it."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from lxml import html

import masktron
from cli_runner import SCHEMATRON, Runner

RULES = f"""<schema xmlns="{SCHEMATRON}"><pattern><rule context="Record">
  <assert id="pos" test="not(Wage) or Wage &gt;= 0">not below 0</assert></rule></pattern></schema>"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts as a spreadsheet in Europe writes them; one record misses Wage, which takes over its group."""
    folder = tmp_path_factory.mktemp("written")
    draw = random.Random(3)
    wages = [f"{draw.randrange(9000, 90000)},{draw.randrange(10, 99)}" for _ in range(40)]
    lines = [f"{at % 3 + 1}.1;{'Zürich' if at % 2 else 'Bern'};{own}" for at, own in enumerate(wages)]
    lines[7] = lines[7].rpartition(";")[0] + ";"
    (folder / "own.csv").write_bytes("\r\n".join(["NACE;Region;Wage", *lines, ""]).encode("cp1252"))
    (folder / "rules.sch").write_text(RULES)
    masktron.mask(
        folder / "own.csv", folder / "rules.sch", folder / "out.csv", k=3, method="mdav",
        format_options={"encoding": "cp1252", "decimal": "comma", "texts": "NACE"},
        roles={"NACE": "untouched", "Region": "untouched"},
    )  # fmt: skip
    masktron.write_report(folder / "out.manifest.json", html_public=folder / "about.html")
    return folder


def test_the_page_has_the_options_that_read_the_file(folder: Path, run: Runner) -> None:
    page = html.fromstring((folder / "about.html").read_text())
    section = page.xpath("//section[@id='written']")[0]
    cells = [[cell.text_content() for cell in row] for row in section.xpath(".//tbody/tr")]
    assert [row for row in cells if row[0] != "quote"] == [
        ["encoding", "cp1252"],
        ["delimiter", "semicolon"],
        ["decimal", "comma"],
        ["texts", "NACE"],
    ]
    said = section.text_content()
    options = said[said.index("--format-option") :].partition(";")[0].split()
    assert run("validate", folder / "out.csv", "--rules", folder / "rules.sch").code != 0, "it has to be told"
    assert run("validate", folder / "out.csv", "--rules", folder / "rules.sch", *options).code == 0


def test_the_page_says_that_missing_values_were_replaced_and_not_how_many(folder: Path) -> None:
    told = json.loads((folder / "out.manifest.json").read_text())["result"]
    assert [one["kind"] for one in told["concerns"] if one["kind"] == "missing-otherwise"] == ["missing-otherwise"]
    text = html.fromstring((folder / "about.html").read_text()).xpath("//section[@id='analysis']")[0].text_content()
    assert "missing values may have been replaced by masked ones" in " ".join(text.split())
    assert "1 missing" not in text and "got a value" not in text


def test_codes_of_unmasked_fields_are_told(tmp_path: Path) -> None:
    lines = [f"{-9 if at % 4 else 300},{9000 + 71 * at}" for at in range(40)]
    (tmp_path / "d.csv").write_text("\n".join(["Rent,Wage", *lines, ""]))
    (tmp_path / "r.sch").write_text(RULES)
    masktron.mask(
        tmp_path / "d.csv", tmp_path / "r.sch", tmp_path / "o.csv",
        roles={"Rent": "untouched"}, missing={"Rent": ["-9"]},
    )  # fmt: skip
    masktron.write_report(tmp_path / "o.manifest.json", html_public=tmp_path / "about.html")
    tables = html.fromstring((tmp_path / "about.html").read_text()).xpath("//section[@id='fields']//tbody")
    assert ["Rent", "30", "-9"] in [[cell.text_content() for cell in row] for table in tables for row in table]
