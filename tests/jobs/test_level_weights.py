"""The weight of a level has, in results, the name that settings have for it."""

from __future__ import annotations

from pathlib import Path

import masktron

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern>
<rule context="Person"><assert id="not-negative" test="Income &gt;= 0"/></rule></pattern></schema>"""


def test_weights_of_levels_are_named_as_settings_name_them(tmp_path: Path) -> None:
    data, rules = tmp_path / "survey.xml", tmp_path / "rules.sch"
    cells = "".join(
        f"<Household><W>{2 + at}</W><Person><W>3</W><Income>{100 + 7 * at}</Income></Person></Household>"
        for at in range(12)
    )
    data.write_text(f"<Survey>{cells}</Survey>", encoding="utf-8")
    rules.write_text(RULES, encoding="utf-8")
    weights = {"Household/W": "weight", "Person/W": "weight"}
    found = masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles=weights, numeric=["Income"])
    assert [one.weight for one in found.levels] == ["Household/W", "Person/W"]
