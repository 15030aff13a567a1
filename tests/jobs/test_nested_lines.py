"""Refusals of nested files name lines of the file, and not of the document that is made of it."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from masktron.errors import DocumentError


def test_a_text_among_numbers_is_in_the_line_of_its_household(tmp_path: Path) -> None:
    ages = [[str(20 + 7 * at), "x" if at == 3 else str(21 + 5 * at)] for at in range(6)]
    persons = ["\n".join(f"<Person><Age>{age}</Age></Person>" for age in own) for own in ages]
    units = "\n".join(f"<Household>\n<Total>{at}7</Total>\n{own}\n</Household>" for at, own in enumerate(persons, 1))
    data, rules = tmp_path / "survey.xml", tmp_path / "rules.sch"
    data.write_text(f"<Survey>\n{units}\n</Survey>\n", encoding="utf-8")
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Household">'
        '<assert id="total" test="Total &gt;= 0">Below 0.</assert></rule></pattern></schema>',
        encoding="utf-8",
    )
    with pytest.raises(DocumentError) as caught:
        masktron.mask(data, rules, tmp_path / "out.xml", k=2)
    lines = data.read_text(encoding="utf-8").splitlines()
    assert caught.value.problem.place.line == [at for at, text in enumerate(lines, 1) if text == "<Household>"][3]
    with pytest.raises(DocumentError) as caught:
        masktron.mask(data, rules, tmp_path / "out.xml", k=2, protect="Person", roles={"Total": "untouched"})
    assert "<Age>x</Age>" in lines[caught.value.problem.place.line - 1]
