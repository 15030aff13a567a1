"""Households without a protected person: where a release has them, and how `check` finds the original of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import pytest

import masktron

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>
<rule context="Person"><assert id="not-negative" test="Income &gt;= 0"/></rule></pattern></schema>"""
EMPTY = (
    "<Household><HID>18</HID><Region>S</Region><Car><Seats>4</Seats></Car></Household>",
    "<Household><HID>17</HID><Region>N</Region><Car><Seats>9</Seats></Car></Household>",
    "<Household><HID>16</HID><Region>S</Region><Car><Seats>2</Seats></Car></Household>",
)


def released(folder: Path, empty: Sequence[str]) -> tuple[Path, masktron.CheckResult]:
    """Mask persons of a file with some households without any, and return the release and the verdict of `check`."""
    folder.mkdir()
    others = "".join(
        f"<Household><HID>{at}</HID><Region>N</Region><Person><Income>{100 + 7 * at}</Income></Person></Household>"
        for at in range(12)
    )
    data, rules, out = (folder / name for name in ("survey.xml", "rules.sch", "released.xml"))
    data.write_text(f"<Survey>{''.join(empty)}{others}</Survey>", encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    roles = {"HID": "identifier", "Region": "untouched", "Seats": "untouched"}
    masktron.mask(data, rules, out, k=3, protect="Person", roles=roles, numeric=["Income"])
    manifest = folder / "released.manifest.json"
    return out, masktron.check(out, rules, original=data, manifest=manifest)


def order(release: Path) -> list[str]:
    """Return the regions and seats of households without persons, in their order."""
    text = re.sub(r"\s", "", release.read_text(encoding="utf-8"))
    return re.findall(r"<Region>(.)</Region><Car><Seats>(.)</Seats>", text)


def test_a_release_without_the_numbers_of_households_without_persons_complies(tmp_path: Path) -> None:
    _, proof = released(tmp_path / "a", EMPTY)
    assert proof.problems == ()
    assert proof.complies


def test_the_order_of_the_original_is_not_told_by_households_without_persons(tmp_path: Path) -> None:
    found = [order(released(tmp_path / name, empty)[0]) for name, empty in (("a", EMPTY), ("b", EMPTY[::-1]))]
    assert found[0] == found[1] == [("N", "9"), ("S", "2"), ("S", "4")]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("<Seats>9<", "<Seats>8<", "Household/Car: Seats differs from the original in 1 record"),
        ("<Region>S</Region><Car><Seats>4", "<Region>T</Region><Car><Seats>4", "Household: Region differs"),
    ],
)
def test_what_was_changed_in_a_household_without_persons_is_found(
    old: str, new: str, told: str, tmp_path: Path
) -> None:
    out, _ = released(tmp_path / "a", EMPTY)
    text = out.read_text(encoding="utf-8")
    assert old in text
    out.write_text(text.replace(old, new), encoding="utf-8")
    proof = masktron.check(
        out, out.with_name("rules.sch"), original=out.with_name("survey.xml"),
        manifest=out.with_name("released.manifest.json"),
    )  # fmt: skip
    assert any(told in problem for problem in proof.problems)
