"""What the page for others says of hierarchies: all classes of the file, no bounds of the data, no counts."""

from __future__ import annotations

from pathlib import Path

import pytest
from lxml import html

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.jobs.public_release import public_classes
from masktron.results.kept_manifest import Treated
from masktron.results.public_release import PublicClass


def told(labels: dict[str, str]) -> dict[str, str]:
    """Return what is told of the classes of a field."""
    one = Treated("recoding", "F", to="listed", labels=labels)
    found = public_classes([one, Treated("pram", fields=("F",))])
    assert all(isinstance(each, PublicClass) for each in found.get("F", ()))
    return {each.label: each.values for each in found.get("F", ())}


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ({"SH": "North", "BY": "South", "HH": "North"}, {"North": "SH, HH", "South": "BY"}),
        ({"17": "young", "18": "young", "30": "old", "97": "old"}, {"young": "up to 18", "old": "30 or more"}),
        ({"1": "a", "2": "b", "3": "b", "4": "c", "5": "b", "6": "a"},
         {"a": "up to 1, 6 or more", "b": "2 to 3, 5", "c": "4"}),
        ({"7": "*", "9": "*"}, {"*": "all values"}),
        ({"1.5": "low", "97.25": "high"}, {}),
        ({"SH": "SH", "BY": "BY"}, {}),
    ],
    ids=["names", "numbers", "runs", "one class", "decimals", "the values themselves"],
)  # fmt: skip
def test_classes_are_those_of_the_file_with_open_ends(labels: dict[str, str], says: dict[str, str]) -> None:
    assert told(labels) == says


def test_the_page_lists_them_whether_or_not_records_have_them(tmp_path: Path) -> None:
    rows = [{**row, "REGION": ("SH", "HH", "BY")[at % 3]} for at, row in enumerate(numbers())]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0")
    (tmp_path / "region.csv").write_text("SH,North\nHH,North\nBY,South\nTH,East\n")
    roles = {"REGION": "quasi-identifier"}
    recode = {"REGION": f"{tmp_path / 'region.csv'}:1"}
    masktron.mask(data, rules, tmp_path / "m.xml", k=3, roles=roles, recode=recode)
    masktron.write_report(tmp_path / "m.manifest.json", html_public=tmp_path / "page.html")
    page = html.fromstring((tmp_path / "page.html").read_text(encoding="utf-8"))
    rows_told = [[cell.text_content() for cell in row.xpath("*")] for row in page.iter("tr")]
    for label, values in (("North", "SH, HH"), ("South", "BY"), ("East", "TH")):
        assert ["REGION", label, values] in rows_told
