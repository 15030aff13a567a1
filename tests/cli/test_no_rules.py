"""Commands without rules, and files in which all fields are keys."""

from __future__ import annotations

import json
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import Runner
from masktron.errors import UsageError
from masktron.resources import NO_RULES
from refusals import refused

SURVEY = Path("docs/tutorials/files/survey.csv").resolve()
SHARED = Path("../shared/data/cases/keys-only").resolve()
ROLES = ("id=identifier", "region=quasi-identifier", "sex=quasi-identifier")
SAID = "No rules were given."

type Said = Callable[..., dict[str, Any]]


@pytest.fixture
def said(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Said:
    """Run a command; return what its JSON says."""

    def run(*words: object, code: int = 0) -> dict[str, Any]:
        place = tmp_path / "said.json"
        outcome = Runner(capsys)(*words, "--json", place)
        assert outcome.code == code, outcome
        shown = outcome.out + outcome.err + place.read_text()
        assert "none.rules" not in shown, outcome
        found: dict[str, Any] = json.loads(place.read_text())
        return found

    return run


def roles(*given: str) -> list[str]:
    return [word for one in given for word in ("--role", one)]


def released(tmp_path: Path, said: Said) -> tuple[dict[str, Any], Path, Path]:
    out = tmp_path / "out.csv"
    pages = ("--html", tmp_path / "in.html", "--html-public", tmp_path / "out.html")
    result = said("mask", SURVEY, *roles(*ROLES), "--out", out, *pages)
    return result, out, tmp_path / "out.manifest.json"


def test_mask_check_and_rerun(tmp_path: Path, said: Said) -> None:
    result, out, manifest = released(tmp_path, said)
    assert result["verdict"]["rules"] == {
        "level": "amber", "ground": "not-measured", "reason": SAID, "figures": {}
    }  # fmt: skip
    assert (result["rules"], result["engines"], result["tested"]["rules"]) == ([], [], 0)
    assert json.loads(manifest.read_text())["rules"]["path"] == ""
    for page in ("in.html", "out.html"):
        text = (tmp_path / page).read_text()
        assert SAID in text
        assert "none.rules" not in text
    checked = said("check", out, "--original", SURVEY, "--manifest", manifest)
    assert (checked["records"], checked["verdict"]["rules"]["reason"], checked["problems"]) == (400, SAID, [])
    alone = said("check", out)
    assert (alone["records"], alone["complies"]) == (400, True)
    said("rerun", manifest, SURVEY, "--out", tmp_path / "again.csv")
    assert out.read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_report_and_assess(tmp_path: Path, said: Said) -> None:
    _, out, manifest = released(tmp_path, said)
    said("report", manifest, "--original", SURVEY, "--html-public", tmp_path / "report.html")
    assert SAID in (tmp_path / "report.html").read_text()
    found = said("assess", out, "--original", SURVEY, "--manifest", manifest, "--measures", "linkage")
    assert found["records"] == 400


def test_keys_and_recode(tmp_path: Path, said: Said) -> None:
    found = said("keys", SURVEY, *roles(*ROLES))
    assert found["records"] == 400
    hierarchy = tmp_path / "region.csv"
    names = sorted({line.split(",")[1] for line in SURVEY.read_text().splitlines()[1:]})
    hierarchy.write_text("".join(f"{name};all\n" for name in names))
    found = said("recode", SURVEY, *roles(*ROLES), "--hierarchy", f"region={hierarchy}", "--key-k", "3")
    assert found["records"] == 400


def test_tune(tmp_path: Path, said: Said) -> None:
    settings = tmp_path / "few.toml"
    lines = (one.replace("=", ' = "') + '"' for one in ROLES)
    settings.write_text("\n".join(["[roles]", *lines, "[tune]", 'methods = ["mdav"]', "k = [5]"]))
    found = said("tune", SURVEY, "--config", settings, "--limit", "linkage=100", "--out", tmp_path / "tuned")
    assert found["recommended"] is not None
    assert found["rules"] == ""


def test_in_python(tmp_path: Path) -> None:
    given = dict(one.split("=") for one in ROLES)
    result = masktron.mask(SURVEY, out=tmp_path / "out.csv", roles=given)
    assert result.verdict.rules.reason == SAID
    assert masktron.check(tmp_path / "out.csv").complies
    assert masktron.check(result.output, original=SURVEY, manifest=result.manifest).records == 400


def test_validate_needs_rules(capsys: pytest.CaptureFixture[str]) -> None:
    outcome = Runner(capsys)("validate", SURVEY)
    outcome.refuses(2, "no-rules")
    assert "masktron suggest" in outcome.err
    with refused(UsageError, "no-rules"):
        masktron.validate(SURVEY)


def test_a_release_under_rules_is_not_checked_without_them(tmp_path: Path, said: Said) -> None:
    rules = tmp_path / "own.rules"
    rules.write_text("hours: hours >= 0\n")
    out, manifest = tmp_path / "out.csv", tmp_path / "out.manifest.json"
    said("mask", SURVEY, *roles(*ROLES), "--rules", rules, "--out", out)
    assert said("check", out, "--manifest", manifest, code=1)["verdict"]["rules"]["level"] == "red"
    said("check", out, "--manifest", manifest, "--rules", rules)


def test_a_rule_that_is_named_is_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = Runner(capsys)("mask", SURVEY, *roles(*ROLES), "--out", tmp_path / "out.csv", "--allow", "sum")
    outcome.refuses(2, "unknown-name", kind="rule")
    assert str(NO_RULES) not in outcome.err


def keys_only(tmp_path: Path) -> Path:
    """Write 27 combinations of three keys: one record has the first, two the second, three each of the others."""
    data = tmp_path / "keys.csv"
    rows = [row for at, row in enumerate(product("ABC", "MFX", "123")) for _ in range(min(at + 1, 3))]
    data.write_text("".join(f"{','.join(row)}\n" for row in [("Region", "Status", "Age"), *rows]))
    return data


def shared_file() -> Path:
    if not SHARED.is_dir():
        pytest.skip("../shared has the file of 100 records, and is not here")
    return SHARED / "cat100.csv"


KEYS = roles(*(f"{name}=quasi-identifier" for name in ("Region", "Status", "Age")))


@pytest.mark.parametrize(
    ("made", "records", "smallest", "alone", "below"),
    [(keys_only, 78, 1, 1, 3), (lambda _: shared_file(), 100, 1, 3, 11)],
    ids=["own", "shared"],
)
def test_all_fields_are_keys(
    tmp_path: Path,
    said: Said,
    made: Callable[[Path], Path],
    records: int,
    smallest: int,
    alone: int,
    below: int,
) -> None:
    data = made(tmp_path)
    keys = said("keys", data, *KEYS)["keys"]
    assert (keys["records"], keys["k"], keys["below"]["2"], keys["below"]["3"]) == (records, smallest, alone, below)
    out, manifest = tmp_path / "out.csv", tmp_path / "out.manifest.json"
    pages = ("--html", tmp_path / "in.html", "--html-public", tmp_path / "out.html")
    result = said("mask", data, *KEYS, "--key-k", "3", "--out", out, *pages)
    assert (result["keys"]["k"], result["blocks"], result["min_group"]) == (3, [], records)
    checked = said("check", out, "--original", data, "--manifest", manifest, "--limit", "key_k=3")
    assert checked["complies"]
    assert said("assess", out, "--original", data, "--manifest", manifest)["keys"]["k"] == 3
    said("rerun", manifest, data, "--out", tmp_path / "again.csv")
    assert out.read_bytes() == (tmp_path / "again.csv").read_bytes()


def test_keys_alone_under_rules(tmp_path: Path, said: Said) -> None:
    data, rules = keys_only(tmp_path), tmp_path / "own.rules"
    rules.write_text('age: Age in {"1", "2", "3"}\n')
    out, manifest = tmp_path / "out.csv", tmp_path / "out.manifest.json"
    result = said("mask", data, *KEYS, "--key-k", "3", "--rules", rules, "--out", out)
    assert (result["verdict"]["rules"]["level"], result["tested"]["tested"]) == ("green", 1)
    assert said("check", out, "--original", data, "--manifest", manifest, "--rules", rules)["complies"]


def test_nothing_to_do_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    outcome = Runner(capsys)("mask", keys_only(tmp_path), *KEYS, "--out", tmp_path / "out.csv")
    outcome.refuses(2, "no-field-to-mask")
    assert "--key-k" in outcome.err
