"""The page for whoever gets a masked file shows nothing of an original record, whoever looks, and in what way."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lxml import html

import masktron
from examples import FULL, parts
from masktron import methods
from masktron.errors import MasktronError
from masktron.jobs.public_release import public_name, public_release
from masktron.jobs.rulebooks import open_rulebook
from masktron.report.pages.html import html_of
from masktron.report.pages.plain_reader import PlainData
from masktron.report.pages.public_page import public_page
from masktron.results.public_release import KeptFigure, PublicRelease
from secret_files import SecretFile, found_in, secret_file

METHODS = tuple(method.name for method in methods.ALL)
FIRST = ("mdav", "noise", "crest")
"""Methods that are tried on one file each in a quick run: groups, draws, and groups by class."""
SEEDS = range(50) if FULL else (1,)
K = 5
DASH = "\N{EN DASH}"
PUBLIC_TEXTS = (
    r"/output/(path|sha256)|/rules/(path|sha256)|/versions/[\w-]+|/config/grouping"
    r"|/result/(method|promise)|/result/engines/\d+/engine|/result/rules/\d+/id|/result/allowed/\d+"
    r"|/result/blocks/\d+/(variables/\d+|aggregator|solved/\d+/(field|rule))"
    r"|/plan/fields/\d+/(name|role)|/declared/contract/kind"
)
"""What of a manifest may be in the public edition as it is: names, settings, and what the released file shows."""
PUBLIC_NUMBERS = r"/manifest_version|/result/(records_out|records_in|k)|/result/engines/\d+/(rules|records)"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> tuple[SecretFile, Path]:
    folder = tmp_path_factory.mktemp("released")
    file = secret_file(folder, 1, 240)
    return file, masked(folder, file, "mdav")


def masked(folder: Path, file: SecretFile, method: str) -> Path:
    """Mask a file and return the manifest."""
    kind = next(one for one in methods.ALL if one.name == method)
    params = {"class": "GROUP"} if kind.needs_class else {}
    if method == "hierarchical":
        params = {"quantile": 0.5}
    roles = {"GROUP": "untouched"}
    masktron.mask(file.data, file.rules, folder / "out.csv", method=method, params=params, k=K, roles=roles)
    return folder / "out.manifest.json"


def public_text(manifest: Path) -> str:
    page = manifest.with_name("about.html")
    masktron.write_report(manifest, html_public=page)
    return page.read_text()


def columns_of(text: str, names: set[str]) -> Iterator[int]:
    """Give the numbers in the columns of these names, in all tables of a page."""
    for table in html.fromstring(text).iter("table"):
        heads = [cell.text_content() for cell in table.xpath("thead//th")]
        for at in [at for at, head in enumerate(heads) if head in names]:
            yield from (int(row[at].text_content().replace(",", "")) for row in table.xpath("tbody/tr"))


def test_the_search_finds_values_however_they_are_written(tmp_path: Path) -> None:
    file = secret_file(tmp_path, 1)
    assert found_in(file.data.read_text(), file.secrets) == file.secrets
    value = min(file.secrets)
    for shown in (value, f"{int(value):,}", f"{value[:2]}.{value[2:]}", f"<path d='M {value[:3]} {value[3:]}'/>"):
        assert found_in(f"-{shown};", file.secrets) == {value}


@pytest.mark.parametrize("method", parts([*FIRST, *(name for name in METHODS if name not in FIRST)], len(FIRST)))
def test_no_value_and_no_small_count_is_in_it(method: str, tmp_path: Path) -> None:
    """One file of each method in a quick run, 50 in a full one."""
    made = pictures = 0
    for seed in SEEDS:
        folder = tmp_path / str(seed)
        folder.mkdir()
        file = secret_file(folder, seed, (60, 150, 240)[seed % 3])
        try:
            manifest = masked(folder, file, method)
        except MasktronError:
            continue
        text = public_text(manifest)
        assert found_in(text, file.secrets) == set()
        assert all(count >= K for count in columns_of(text, {"records", "groups"}))
        made, pictures = made + 1, pictures + text.count("<svg")
    assert made > len(SEEDS) / 2
    assert pictures or not FULL, "no figure was ever told, so that little was tested"


def test_it_is_silent_about_all_of_the_manifest_that_nobody_vouched_for(released: tuple[SecretFile, Path]) -> None:
    """Every text and number of the manifest is replaced by a marker, but for those that are public by themselves."""
    file, manifest = released
    content = json.loads(manifest.read_text())
    poisoned, markers = poison(content)
    assert markers > 150
    release = public_release(PlainData(poisoned), open_rulebook(file.rules), None)
    text = html_of(public_page(release))
    assert "poison" not in text
    assert "987654" not in text.replace(",", "")
    assert release.name == "out.csv"  # what is public is there


def poison(value: Any, path: str = "") -> tuple[Any, int]:
    """Return plain data with markers in the place of what is not public, and how many there are."""
    if isinstance(value, dict):
        found = {key: poison(one, f"{path}/{key}") for key, one in value.items()}
        return {key: one for key, (one, _) in found.items()}, sum(count for _, count in found.values())
    if isinstance(value, list):
        listed = [poison(one, f"{path}/{at}") for at, one in enumerate(value)]
        return [one for one, _ in listed], sum(count for _, count in listed)
    if isinstance(value, str) and not re.fullmatch(PUBLIC_TEXTS, path):
        return f"poison {path}", 1
    if isinstance(value, int | float) and not isinstance(value, bool) and not re.fullmatch(PUBLIC_NUMBERS, path):
        return type(value)(987654), 1
    return value, 0


def test_neither_the_original_nor_the_key_can_be_guessed_at(released: tuple[SecretFile, Path]) -> None:
    """With a checksum of the original a guess of it can be tested, in no time where one record is unknown."""
    file, manifest = released
    content = json.loads(manifest.read_text())
    text = public_text(manifest)
    assert content["original"]["sha256"] not in text
    assert content["output"]["sha256"] in text
    assert file.data.name not in text
    assert str(file.data.parent) not in text
    for secret in (content["key"], content["result"]["verdict"]):
        assert secret is None or secret not in text


def test_figures_are_coarse(released: tuple[SecretFile, Path]) -> None:
    """No figure has more than two decimals, in texts as in the places of pictures."""
    _, manifest = released
    page = html.fromstring(public_text(manifest))
    told = [cell.text_content() for cell in page.xpath("//table[caption='Masked fields']/tbody/tr/td[position()>=3]")]
    assert len({*told} - {DASH}) > 2
    assert all(
        re.fullmatch(DASH + r"|\d\.\d\d|within 0\.(01|05|2) SD|moved by more than 0\.2 SD", one) for one in told
    )
    kept = [float(bar) for bar in page.xpath("//figure//table/tbody/tr/td/text()")]
    ends = sorted(
        float(point)
        for path in page.xpath("//svg//path[@clip-path]/@d")
        for point in re.findall(r"L ([\d.]+) ", path)
    )
    assert kept
    assert ends
    # the length of a bar tells no more than the figure behind it
    assert all(len(one.partition(".")[2]) <= 2 for one in map(str, ends))
    with pytest.raises(ValueError, match="two decimals"):
        KeptFigure(0.123)


def spread(records: int, outliers: int = 0) -> list[int]:
    """Return values that are all about as large; the last ones dwarf the others."""
    random = np.random.default_rng(4)
    values = np.sort(random.choice(np.arange(10**6, 2 * 10**6), size=records, replace=False))
    if outliers:
        values[-outliers:] = 400_000_000 + 4000 * np.arange(outliers)
    return [int(one) for one in values]


def in_threes(apart: int) -> list[int]:
    """Return 80 groups of three near values; in the last group one value is farther from the others."""
    values = [10_000 * group + at for group in range(1, 81) for at in range(3)]
    return [*values[:-1], values[-1] + apart]


@pytest.mark.parametrize(
    ("what", "values", "told"),
    [
        ("few records", spread(99), False),
        ("many records, and none of them has much of it", spread(240), True),
        ("one record has most of what is lost", spread(240, 1), False),
        ("three have most of the variance, and lose nothing", spread(240, 3), False),
        ("one group has all that is lost, and that is seen", in_threes(460_000), False),
        ("one group has all that is lost, less than rounding shows", in_threes(20_000), True),
    ],
)
def test_a_figure_that_few_decide_about_is_left_out(
    what: str, values: list[int], *, told: bool, tmp_path: Path
) -> None:
    """A ratio of variances can be solved for the value of one who dominates it: see the next test."""
    del what
    data = tmp_path / "one.csv"
    data.write_text("\n".join(("A", *map(str, values), "")))
    (tmp_path / "one.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert id="positive" test="A &gt; 0"/></rule></pattern></schema>'
    )
    masktron.mask(data, tmp_path / "one.sch", tmp_path / "out.csv", k=3, aggregator="mean", numeric=["A"])
    page = html.fromstring(public_text(tmp_path / "out.manifest.json"))
    cells = page.xpath("//table[caption='Masked fields']/tbody/tr/td")
    assert (cells[3].text_content() != DASH) is told
    assert (cells[2].text_content() != DASH) is told


def test_the_ratio_of_variances_would_give_an_outlier_away() -> None:
    """Why it is left out: from the released file and the exact ratio, the largest value follows within 1 %."""
    random = np.random.default_rng(4)
    original = np.sort(random.choice(np.arange(10**6, 2 * 10**6), size=240, replace=False)).astype(float)
    original[-1] *= 400
    released = original.reshape(-1, 3).mean(axis=1).repeat(3)
    ratio = released.var() / original.var()
    within = released.var() * 240 * (1 / ratio - 1)
    guess = released[-1] + np.sqrt(
        within * 2 / 3
    )  # of three, one holds nearly all: x = 3 m, and the others are small
    assert guess == pytest.approx(original[-1], rel=0.01)


def test_the_model_has_no_place_for_notes_or_values_of_a_run() -> None:
    """A new attribute is a decision: what it holds has to be public, and stands here."""
    names = {one.name for one in fields(PublicRelease)}
    public = {"name", "checksum", "rules_checksum", "rulebook", "records", "versions", "engines"}
    settings = {"method", "contract", "promise", "k", "whole_records", "random_order", "removed"}
    assert names == public | settings | {"some_left_out", "fields", "rules"}


def test_two_runs_give_the_same_bytes(released: tuple[SecretFile, Path]) -> None:
    _, manifest = released
    assert public_text(manifest) == public_text(manifest)


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/home/ann/out.csv", "out.csv"),
        ("C:\\data\\out.csv", "out.csv"),
        ("postgresql://ann@db.agency.example/survey?table=public.released", "public.released"),
        ("sqlite:/srv/secret/survey.db?table=released", "released"),
    ],
)
def test_it_names_a_release_without_folders_servers_and_people(path: str, name: str) -> None:
    assert public_name(path) == name
