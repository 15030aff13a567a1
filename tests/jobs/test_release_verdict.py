"""The two statements of a real file: the same ones from mask, rerun, report, check and assess, and on every page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import pytest
from lxml import html

import masktron
from cli_runner import Runner, write_rules
from schema_files import conforms

REACHED = (
    "At least 3 records share each combination of AREA (k = 3 was asked), but the weight 'W' tells them apart: "
    "with it, k is 1."
)


class Release(NamedTuple):
    """A masked file: keys suppressed to k = 3, and a weight that tells nearly all records apart."""

    data: Path
    rules: Path
    out: Path
    result: masktron.MaskResult

    @property
    def manifest(self) -> Path:
        return self.out.with_name("out.manifest.json")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Release:
    folder = tmp_path_factory.mktemp("release")
    data = folder / "d.csv"
    rows = [f"{at // 3},{100 + at},{at * 37 % 101},{at * 11 % 89}" for at in range(60)]
    data.write_text("\n".join(["AREA,W,A,B", *rows, ""]))
    rules = write_rules(folder / "r.sch", "A >= 0")
    roles = {"AREA": "quasi-identifier", "W": "weight"}
    out = folder / "out.csv"
    return Release(data, rules, out, masktron.mask(data, rules, out, k=3, roles=roles, key_k=3))


def test_what_was_asked_for_the_keys_and_reached_is_said_everywhere(release: Release, tmp_path: Path) -> None:
    """The light was green where k = 3 was asked for the keys and 1 was reached."""
    data, rules, out, result = release
    given = {"original": data, "manifest": release.manifest}
    page, public = tmp_path / "in.html", tmp_path / "about.html"
    results = {
        "mask": result,
        "check": masktron.check(out, rules, **given),
        "assess": masktron.assess(out, data, manifest=release.manifest),
        "report": masktron.write_report(release.manifest, html=page, html_public=public),
        "rerun": masktron.rerun(release.manifest, data, tmp_path / "again.csv", rules=rules),
    }
    for job, one in results.items():
        plain = one.as_dict()
        conforms(plain, job)
        assert one.verdict is not None
        assert (one.verdict.protection.level, one.verdict.protection.ground) == ("red", "keys-below-k"), job
        assert one.verdict.protection.reason.startswith(REACHED), job
        assert plain["verdict"]["protection"] == one.verdict.protection.as_dict()
        assert REACHED in " ".join(repr(one).split())
    assert result.verdict.rules.reason == "Every rule holds; 1 of 1 rule tested."
    said = [
        mark.text_content() for mark in html.fromstring(page.read_text()).xpath("//p[contains(@class,'verdict')]")
    ]
    assert said[0] == f"Rules: green. {result.verdict.rules.reason}"
    assert said[1].startswith(f"Protection: red. {REACHED}")
    marks = html.fromstring(public.read_text()).xpath("//p[contains(@class,'verdict')]")
    assert [mark.get("class") for mark in marks] == ["verdict good", "verdict bad"]
    assert marks[1].text_content() == (
        "Protection: red. Fewer records than intended share the fields that others may know, the survey weight "
        "included."
    )


def test_a_check_is_red_by_what_is_wrong(release: Release, tmp_path: Path) -> None:
    data, rules, out, _ = release
    given = {"original": data, "manifest": release.manifest}
    missed = masktron.check(out, rules, **given, limits={"key_uniques": 0})
    assert missed.verdict.protection.ground == "limit-missed"
    assert missed.verdict.protection.reason.startswith("key_uniques is 60; the limit is 0.")
    other = tmp_path / "other.csv"
    other.write_text(out.read_text().replace("\n", "\n-", 1).replace("-", "", 1) + "0,1,-5,2\n")
    wrong = masktron.check(other, rules, **given)
    assert (wrong.verdict.rules.level, wrong.verdict.protection.ground) == ("red", "contract")
    assert wrong.verdict.rules.reason.startswith("1 violation of hard rules; ")
    alone = masktron.check(out, rules)
    assert (alone.verdict.rules.level, alone.verdict.protection.ground) == ("green", "not-measured")


def test_three_values_of_each_masked_field_are_shown_to_those_who_ask(
    release: Release, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The lowest, the middle and the highest record of the first masked number, in every field."""
    data, rules, _, result = release
    values = {one["field"]: one for one in result.as_dict()["values"]}
    assert [*values] == ["A", "B"]
    records = {a: b for _, _, a, b in (line.split(",") for line in data.read_text().splitlines()[1:])}
    low, middle, high = values["A"]["before"]
    assert (int(low), int(high)) == (min(map(int, records)), max(map(int, records)))
    assert sum(int(one) < int(middle) for one in records) == len(records) // 2
    assert values["B"]["before"] == [records[low], records[middle], records[high]]
    run, out = Runner(capsys, whole=False), tmp_path / "shown.csv"
    options = ["--role", "AREA=quasi-identifier", "--role", "W=weight", "-k", "3", "--secret", release.manifest]
    pages = ["--html", tmp_path / "in.html", "--html-public", tmp_path / "about.html"]
    silent = run("mask", data, "-r", rules, "-o", out, *options, *pages)
    shown = run("mask", data, "-r", rules, "-o", out, *options, "--show-values")
    assert "CONFIDENTIAL: messages, keys, values" not in silent.out
    assert "CONFIDENTIAL: messages, keys, values" in shown.out
    (line,) = [line for line in shown.out.splitlines() if line.startswith("A ")]
    assert line.split()[1::2] == [low, middle, high]
    title = "Values of three records, the same ones in every field"
    assert title in (tmp_path / "in.html").read_text()
    assert title not in (tmp_path / "about.html").read_text()
    assert json.loads(release.manifest.read_text())["result"]["values"] == result.as_dict()["values"]
