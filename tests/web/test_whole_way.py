"""From an upload to a release by clicks and typing alone: a CSV, and the sample."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from browser import shown, started
from looks import LIGHT, PHONE, TWICE, Window, findings
from paths import ROOT
from quick_masktron import put_before_masktron
from web_client import served
from web_user import WebUser

LONG = 600.0
"""Seconds for what takes half a minute on a machine that does nothing else."""
ROLES = {
    "Id": "record-id",
    "Name": "identifier",
    "Weight": "weight",
    **dict.fromkeys(("Region", "Status", "Occupation", "Tenure"), "untouched"),
}
AMOUNTS = ("Adults", "Children", "Size")
MISSING = dict.fromkeys(("Rent", "Housing", "Savings"), "-9")
SIZE = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="size" test="Adults + Children = number(Size)">Size</assert></rule></pattern></schema>"""


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands write what pages show, and work nothing out."""
    put_before_masktron(tmp_path, monkeypatch, telling=True)
    web = [sys.executable, "-P", "-c", "from masktron.cli import main; main()", "web"]
    monkeypatch.setattr("web_client.WEB", web)


def masktron(folder: Path, *words: object) -> None:
    """Carry a command out where no page has to do with it."""
    argv = [sys.executable, "-P", "-m", "masktron", *map(str, words)]
    subprocess.run(argv, cwd=folder, check=True, capture_output=True, text=True)


@pytest.fixture(scope="module")
def households(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The household survey as a CSV file, as a user may have it."""
    folder = tmp_path_factory.mktemp("survey")
    masktron(folder, "convert", ROOT / "sample_xml" / "household.xml", "--out", "households.csv")
    return folder / "households.csv"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with started() as found:
        yield found


class Looking:
    """Looks once at each page that a user reaches, and keeps what is wrong; axe looks at those with results."""

    def __init__(self, page: Any, axe: Window) -> None:
        self.page, self.axe, self.seen, self.found = page, axe, set[str](), list[str]()

    def __call__(self, name: str) -> None:
        if name not in self.seen:
            self.seen.add(name)
            asked = [self.axe] if "," in name or name in ("Projects", "Project", "Suggested", "History") else []
            self.found += [f"{name}: {one}" for one in findings(self.page, (PHONE, TWICE, LIGHT), axe=asked)]


def released(user: WebUser, masked: str, original: Path, folder: Path, rulebook: Path | None = None) -> None:
    """Download all that a release has, and check it from outside."""
    user.release(masked)
    names = (masked, "about.html", "internal.html", "masked.manifest.json")
    files = [user.download(name, folder) for name in names]
    page = files[1].read_text()
    assert "<!DOCTYPE html>" in page and "CONFIDENTIAL" not in page
    user.page.locator("header").get_by_role("link").click()
    rules = user.download("rules.sch", folder)  # which may take in others
    settings = user.download("masktron.toml", folder)
    words = ["--rules", rulebook or rules, "--config", settings, "--original", original, "--manifest", files[-1]]
    masktron(folder, "check", files[0], *words)


@pytest.mark.usefixtures("told")
def test_the_way_by_clicks(chromium: Any, tmp_path: Path) -> None:
    """A part of the next test: what commands say is made up, and what comes of it is not checked from outside."""
    data = tmp_path / "survey.csv"
    rows = [f"{at},N {at},{at * 7 % 5},{at},{at * 7 % 5 + at}" for at in range(10, 22)]
    data.write_text("\n".join(["Id,NAME,A,B,T", *rows]) + "\n")
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:
        look = Looking(page, PHONE)
        user = WebUser(page, server.address, look=look)
        user.make_project("Survey")
        user.upload(data, "12 records of 5 fields")
        user.accept("total-T")
        user.type_rule("range-B", "Record", "B >= 0", "Holds in all 12 records")
        user.validate("Every rule holds")
        user.say_roles({"Id": "record-id", "NAME": "identifier"})
        user.choose("3, 5")
        user.plan("A, B, T")
        user.begin_masking()
        user.see_masked()
        user.release("masked.csv")
        assert user.download("masked.csv", tmp_path).read_bytes() == data.read_bytes()
        for name in ("about.html", "internal.html", "masked.manifest.json"):
            user.download(name, tmp_path)
        user.go("History")
        assert look.found == [] and len(look.seen) == 23
        assert page.complaints == [] and "token=" not in page.url
        assert all(one.startswith((server.address, "data:")) for one in page.asked)


@pytest.mark.full
def test_a_survey_without_rules(chromium: Any, households: Path, tmp_path: Path) -> None:
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:
        look = Looking(page, LIGHT)
        user = WebUser(page, server.address, LONG, look)
        user.make_project("Households")
        user.upload(households, "2,000 records of 28 fields")
        user.accept("total-Income", "total-Size")
        user.type_rule("net-income", "Record", "NetIncome <= Income", "Holds in all 2,000 records")
        user.validate("Every rule holds")
        user.say_roles(ROLES, AMOUNTS, MISSING)
        user.choose("3", "mdav", "noise")
        user.plan("Adults, Children, Size")
        user.begin_masking()
        user.see_masked()
        released(user, "masked.csv", households, tmp_path)
        assert look.found == [] and len(look.seen) == 22
        assert page.complaints == []
        assert all(one.startswith((server.address, "data:", "blob:")) for one in page.asked)


@pytest.mark.full
def test_the_sample(chromium: Any, tmp_path: Path) -> None:
    with served(tmp_path / "projects") as server, shown(chromium, server.opened) as page:
        user = WebUser(page, server.address, LONG)
        user.open_sample()
        user.go("Data")
        user.press("Read the file")
        user.see("2,000 records of 28 fields")
        user.validate("Every rule holds")
        user.go("Mask")
        user.begin_masking()
        user.see_masked()
        rulebook = ROOT / "rules" / "household.sch"
        released(user, "masked.xml", ROOT / "sample_xml" / "household.xml", tmp_path, rulebook)
        assert page.complaints == []
        assert all(one.startswith((server.address, "data:", "blob:")) for one in page.asked)
