"""Pages of masked nested files: both levels are on them, and the one for others shows no value of either."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from lxml import etree, html
from test_public_edition import poison, restore_words, table

import masktron
from cli_runner import Runner
from examples import parts
from made_columns import column_of_cells
from masktron.errors import UsageError
from masktron.jobs.lowering.level_files import LevelFile
from masktron.jobs.public_figures import PublicFigures
from masktron.jobs.public_release import public_release
from masktron.jobs.rulebooks import open_rulebook
from masktron.measures.assessed import Assessed
from masktron.report.pages.html import html_of
from masktron.report.pages.public_page import public_page
from masktron.results.kept_manifest import KeptManifest
from masktron.serialised import read_plain
from paths import ROOT
from refusals import refused
from secret_files import found_in
from secret_nested import FORMS, ROLES, SecretSurvey, secret_survey

KEY = bytes(range(16, 48))
HOUSEHOLDS, PERSONS = 240, 360
SUMS = r"\b[0-9a-f]{64}\b"
"""Checksums: their digits are some of an original now and then."""


@dataclass(frozen=True, slots=True)
class Released:
    survey: SecretSurvey
    out: Path
    manifest: Path
    inside: str
    public: str


class Releases(dict[str, Released]):
    """Releases by form, made when they are asked for."""

    def __init__(self, made: Callable[[str], Path]) -> None:
        self._made = made

    def __missing__(self, form: str) -> Released:
        folder = self._made(form)
        survey = secret_survey(folder, form, households=HOUSEHOLDS)
        out = folder / ("out.xml" if form == "xml" else "out.csv")
        levels = {} if survey.levels is None else {"levels": survey.levels}
        masktron.mask(survey.data, survey.rules, out, k=3, secret=KEY, roles=ROLES, **levels)
        manifest, inside, public = (folder / name for name in ("out.manifest.json", "in.html", "public.html"))
        # the one of two tables is made below, of files that moved
        masktron.write_report(manifest, html=None if form == "two" else inside, html_public=public)
        internal = inside.read_text() if form != "two" else ""
        self[form] = Released(survey, out, manifest, internal, public.read_text())
        return self[form]


@pytest.fixture(scope="module")
def releases(tmp_path_factory: pytest.TempPathFactory) -> Releases:
    return Releases(tmp_path_factory.mktemp)


@pytest.mark.parametrize("form", parts(FORMS, 1))
def test_no_value_of_either_level_is_on_the_page_for_others(releases: Releases, form: str) -> None:
    one = releases[form]
    assert found_in(re.sub(SUMS, "", one.public), one.survey.secrets) == set()
    text = " ".join(html.fromstring(one.public).text_content().split())
    assert "h17" not in text, "a household is named"
    assert one.survey.data.name not in text
    assert str(one.survey.data.parent) not in text
    content = json.loads(one.manifest.read_text())
    assert content["original"]["sha256"] not in one.public
    for original in content["original"].get("tables", {}).values():
        assert original["sha256"] not in one.public


@pytest.mark.parametrize("form", parts(FORMS, 1))
def test_both_levels_are_on_both_pages(releases: Releases, form: str) -> None:
    one = releases[form]
    rows = {row[0]: row for row in table(one.public)}
    assert list(rows) == ["Total", "Rent", "Wage", "Benefit", "Income"]
    assert all(re.fullmatch(r"\d\.\d\d", rows[name][4]) for name in ("Rent", "Wage")), "no figure was told"
    text = " ".join(html.fromstring(one.public).text_content().split())
    assert f"{HOUSEHOLDS} records of Household, {PERSONS} records of Person, with" in text
    assert "∀ Person: Benefit + Wage = Income" in text
    assert "Person.2" not in one.inside + one.public
    if form == "two":
        return
    inside = html.fromstring(one.inside)
    sections = {own.get("id"): " ".join(own.text_content().split()) for own in inside.xpath("//section")}
    for section in ("levels", "distributions", "moments"):
        assert f"Household: {HOUSEHOLDS} records" in sections[section], section
        assert f"Household/Person: {PERSONS} records" in sections[section]
    assert ".1.Wage" not in one.inside


@pytest.mark.full
def test_three_forms_have_the_same_figures(releases: Releases) -> None:
    first, *others = (table(one.public) for one in map(releases.__getitem__, FORMS))
    assert all(own == first for own in others)


def test_variances_of_persons_are_those_of_all_persons(releases: Releases) -> None:
    """Counted anew from both files by an XML parser: numpy's variance, of the persons of all positions."""
    one = releases["xml"]
    rows = {row[0]: row[4] for row in table(one.public)}
    both = [etree.parse(path).getroot() for path in (one.survey.data, one.out)]
    for path, name in ((".//Person", "Wage"), (".//Person", "Income"), ("Household", "Rent")):
        before, after = (np.array([float(p.findtext(name)) for p in root.findall(path)]) for root in both)
        assert rows[name] == f"{after.var() / before.var():.2f}"


@pytest.mark.full
def test_tables_have_a_checksum_each(releases: Releases) -> None:
    one = releases["two"]
    for name in ("out.csv", "out.Person.csv"):
        assert sha256((one.out.parent / name).read_bytes()).hexdigest() in one.public
        assert name in one.public
    assert json.loads(one.manifest.read_text())["output"]["sha256"] in one.public
    assert "id: new numbers, which join the tables" in html.fromstring(one.public).text_content()
    assert "Left out, as they name respondents: @id" in html.fromstring(releases["xml"].public).text_content()


@pytest.mark.full
def test_manifests_of_nested_files_are_as_their_schema_says(releases: Releases) -> None:
    schema = json.loads((ROOT / "schemas/manifest.schema.json").read_text())
    for one in map(releases.__getitem__, FORMS):
        Draft202012Validator(schema).validate(json.loads(one.manifest.read_text()))


def test_it_is_silent_about_all_of_a_nested_manifest_that_nobody_vouched_for(releases: Releases) -> None:
    one = releases["xml"]
    content = json.loads(one.manifest.read_text())
    poisoned, markers = poison(content)
    for own, told in zip(poisoned["result"]["levels"], content["result"]["levels"], strict=True):
        # public by itself: names and counts of the released file
        own |= {"level": told["level"], "records": told["records"], "weight": ""}
    restore_words(poisoned["result"]["verdict"], content["result"]["verdict"])
    for rule, own in zip(poisoned["result"]["rules"], content["result"]["rules"], strict=True):
        rule["class"] = own["class"]  # follows from the rulebook
    poisoned["nested"]["fields"] = content["nested"]["fields"]
    poisoned["nested"]["protect"] = ""
    assert markers > 300
    text = html_of(
        public_page(public_release(read_plain(KeptManifest, poisoned, ""), open_rulebook(one.survey.rules), None))
    )
    assert "poison" not in text
    assert "987654" not in text.replace(",", "")
    assert "records of Person" in text


def test_whoever_gets_the_file_is_told_of_members_whose_totals_moved(releases: Releases) -> None:
    one = releases["xml"]
    content = json.loads(one.manifest.read_text())
    content["result"] |= {"concerns": [{"kind": "moved-total", "field": "Wage"}], "records_out": 10_000}
    text = html_of(
        public_page(public_release(read_plain(KeptManifest, content, ""), open_rulebook(one.survey.rules), None))
    )
    assert "Do not take totals or means of Wage from this file" in text


@pytest.mark.full
def test_files_that_moved_are_found_with_all_their_tables(releases: Releases, tmp_path: Path) -> None:
    one = releases["two"]
    away = tmp_path / "away"
    shutil.copytree(one.out.parent, away)
    content = json.loads((away / "out.manifest.json").read_text())
    text = json.dumps(content).replace(str(one.out.parent), "/nowhere")
    (away / "out.manifest.json").write_text(text)
    page = tmp_path / "page.html"
    whole = masktron.write_report(away / "out.manifest.json", html=page)
    assert whole.notes == ()
    assert whole.pages[0].pictures > 5
    told = " ".join(html.fromstring(page.read_text()).text_content().split())
    assert told.count("Household/Person: 360 records") > 2
    (away / "secret-persons.csv").unlink()
    bare = masktron.write_report(away / "out.manifest.json", html=page)
    assert "a table of the masked file or of the original was not found" in bare.notes[0]
    assert "made without the two files" in page.read_text()


def test_a_changed_table_is_refused(releases: Releases, tmp_path: Path) -> None:
    away = tmp_path / "away"
    shutil.copytree(releases["two"].out.parent, away)
    text = (away / "out.manifest.json").read_text().replace(str(releases["two"].out.parent), str(away))
    (away / "out.manifest.json").write_text(text)
    persons = away / "out.Person.csv"
    persons.write_text(persons.read_text().replace(",f,", ",m,", 1))
    with refused(UsageError, "not-of-one-run"):
        masktron.write_report(away / "out.manifest.json", html=tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


def test_a_manifest_without_the_fields_of_levels_has_no_page_for_others(releases: Releases, tmp_path: Path) -> None:
    one = releases["xml"]
    content = json.loads(one.manifest.read_text())
    del content["nested"]["fields"]
    manifest = tmp_path / "out.manifest.json"
    manifest.write_text(json.dumps(content))
    page = tmp_path / "page.html"
    with pytest.raises(UsageError, match="does not say which fields the levels have"):
        masktron.write_report(manifest, html_public=page, rules=one.survey.rules)
    assert not page.exists()


@pytest.mark.full
def test_persons_alone_have_pages_and_mask_writes_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    survey = secret_survey(tmp_path, "xml", 2, 120)
    inside, public = tmp_path / "in.html", tmp_path / "public.html"
    run = Runner(capsys)
    roles = [part for name, role in ROLES.items() for part in ("--role", f"{name}={role}")]
    done = run(
        "mask", survey.data, "-r", survey.rules, "-o", tmp_path / "out.xml", "-k", "3", *roles,
        "--role", "Rent=untouched", "--protect", "Person", "--html", inside, "--html-public", public,
    )  # fmt: skip
    assert done.code == 0, done.err
    text = " ".join(html.fromstring(public.read_text()).text_content().split())
    assert "a record is one Person" in text
    assert "Total" in {row[0] for row in table(public.read_text())}
    assert "the sum of masked values of what stands in the record, by the rule total" in text
    rents = {own[3] for own, _ in survey.units}
    assert found_in(re.sub(SUMS, "", public.read_text()), survey.secrets - rents) == set()
    assert "Household/Person: 180 records" in " ".join(html.fromstring(inside.read_text()).text_content().split())


def level_of(values: np.ndarray[Any, Any], units: np.ndarray[Any, Any]) -> LevelFile:
    """Return a level with one number, masked by means of groups of three records, each group of its own units."""
    groups = np.arange(len(values)) // 3
    means = (np.bincount(groups, values) / np.bincount(groups))[groups]
    before, after = (column_of_cells(side.tolist(), name="X") for side in (values, means))
    files = Assessed({"X": before}, {"X": after}, ("X",), {"X": after.numbered()})
    return LevelFile("A/B", files, units.astype(np.intp), {"X": (units.astype(np.intp), groups.astype(np.intp))})


def test_a_household_that_decides_about_a_figure_of_persons_hides_it() -> None:
    """None of its 30 persons has a tenth of the sum of squares; together they have more."""
    random = np.random.default_rng(3)
    values = np.sort(random.uniform(1e6, 2e6, 600))
    values[-30:] += 4e6
    units = np.arange(600)
    assert PublicFigures.of_level(level_of(values, units)).variance("X") is not None
    units[-30:] = 570
    assert PublicFigures.of_level(level_of(values, units)).variance("X") is None


def test_persons_of_few_households_have_no_figures() -> None:
    random = np.random.default_rng(4)
    values = np.sort(random.uniform(1e6, 2e6, 600))
    order = random.permutation(600)
    assert PublicFigures.of_level(level_of(values, order // 5)).mean("X") is not None, "120 households"
    assert PublicFigures.of_level(level_of(values, order // 10)).mean("X") is None, "60 households"
    one = level_of(values, order // 5)
    few = replace(one, partitions={"X": (one.units // 10, one.partitions["X"][1])})
    assert PublicFigures.of_level(few).mean("X") is None, "12 groups of households"
