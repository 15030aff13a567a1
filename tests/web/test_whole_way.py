"""From an upload to a release by clicks and typing alone: a CSV, and the sample."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from browser import shown
from looks import LIGHT, PHONE, TWICE, Window, findings
from paths import ROOT
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
