"""Values that change places, in a file: the rules hold, what is missing stays, and check finds other values."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from lxml import etree

import masktron
from attacks import KEY
from cli_runner import write_data, write_rules

N = 60
TESTS = ("A + B = C", "not(D) or D <= A", "S")


def rows() -> list[dict[str, object]]:
    """A + B = C, D at most A and missing in every sixth record, and S in an order."""
    generator = np.random.default_rng(4)
    first, second = np.rint(generator.lognormal(6, 1, size=(2, N))).astype(int).tolist()
    part = generator.random(N)
    return [
        {
            "A": a,
            "B": b,
            "C": a + b,
            "D": int(a * part[at]) if at % 6 else None,
            "S": ("low", "mid", "high")[at % 3],
        }
        for at, (a, b) in enumerate(zip(first, second, strict=True))
    ]


@pytest.mark.parametrize("method", ["rank_swapping", "shuffling"])
def test_values_are_those_of_the_original_and_check_says_so(tmp_path: Path, method: str) -> None:
    given, out, manifest = rows(), tmp_path / "m.xml", tmp_path / "m.manifest.json"
    data, rules = write_data(tmp_path / "d.xml", given), write_rules(tmp_path / "r.sch", *TESTS)
    result = masktron.mask(
        data, rules, out, method=method, k=3, order="keep", secret=KEY, ordinal={"S": ("low", "mid", "high")}
    )
    records = etree.parse(out).getroot().findall("Record")
    for test in TESTS:
        assert all(etree.XPath(f"boolean({test})")(record) for record in records), test
    now = {name: [record.findtext(name) for record in records] for name in "ABCDS"}
    assert [text is None for text in now["D"]] == [row["D"] is None for row in given]
    assert all(block.drawn for block in result.blocks), "ordered categories change places as well"
    assert Counter(now["S"]) == Counter(str(row["S"]) for row in given)
    assert now["S"] != [row["S"] for row in given]
    # a total is computed; of its parts and of D, most values are somebody's in spite of the rules
    for name in "ABD":
        before, after = (Counter(map(str, column)) for column in ([row[name] for row in given], now[name]))
        assert sum((before & after).values()) > 0.7 * N, name
    assert result.draw is not None
    assert result.draw.unmoved == 0

    declared = json.loads(manifest.read_text())["declared"]
    assert declared["contract"] == {"kind": "values-exchanged"}
    honest = masktron.check(out, rules, original=data, manifest=manifest)
    assert honest.complies, honest.problems
    assert any("in order, against what settling moved" in one for one in honest.checked)
    for record in records:
        a, b = record.find("A"), record.find("B")
        a.text, b.text = str(int(a.text) + 900), str(int(b.text) - 900)
    etree.ElementTree(records[0].getparent()).write(out)
    told = masktron.check(out, rules, original=data, manifest=manifest)
    assert any("of A are not those of the original in another order" in one for one in told.problems), told.problems
