"""The page for whoever gets a masked file shows nothing of an original record, whoever looks, and in what way."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from lxml import html

import masktron
from cli_runner import Runner
from examples import FULL, parts
from masktron import methods
from masktron.errors import MasktronError
from masktron.jobs.public_release import name_of_file, public_release
from masktron.jobs.rulebooks import open_rulebook
from masktron.report.pages.html import html_of
from masktron.report.pages.public_page import public_page
from masktron.results.kept_manifest import KeptManifest
from masktron.results.public_release import KeptFigure, PublicRelease
from masktron.serialised import read_plain
from secret_files import SecretFile, found_in, secret_file

METHODS = tuple(method.name for method in methods.ALL)
FIRST = ("mdav", "noise")
"""Methods that are tried on one file each in a quick run: groups, draws, and groups by class."""
SEEDS = range(50) if FULL else (1,)
DRAWING = ("noise", "microhybrid", "ipso", "muralidhar_sarathy", "sequential", "hybrid_micro", "cart")
K = 5
DASH = "\N{EN DASH}"
MORE_THAN_HALF = 430_000
"""The last value is so far off that the variance loses more than half a step and less than a whole one."""
PUBLIC_TEXTS = (
    r"/output/(path|sha256)|/rules/(path|sha256)|/versions/[\w-]+|/config/grouping"
    r"|/result/(method|promise)|/result/engines/\d+/engine|/result/rules/\d+/id|/result/allowed/\d+"
    r"|/result/blocks/\d+/(variables/\d+|aggregator|solved/\d+/(field|rule))"
    r"|/result/verdict/protection/(level|ground)|/plan/fields/\d+/(name|role)|/declared/contract/kind"
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
    key = hashlib.sha256(f"{file.data.name} {method}".encode()).digest()
    masktron.mask(
        file.data, file.rules, folder / "out.csv", method=method, params=params, k=K, roles=roles, secret=key
    )
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
        # the digits of a checksum are seven of an original now and then, and it is that of the published file
        unsummed = text.replace(json.loads(manifest.read_text())["output"]["sha256"], "")
        assert found_in(unsummed, file.secrets) == set()
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
    restore_words(poisoned["result"]["verdict"], content["result"]["verdict"])
    release = public_release(read_plain(KeptManifest, poisoned, ""), open_rulebook(file.rules), None)
    text = html_of(public_page(release))
    assert "poison" not in text
    assert "987654" not in text.replace(",", "")
    assert release.name == "out.csv"  # what is public is there


def restore_words(poisoned: dict[str, Any], verdict: dict[str, Any]) -> None:
    """Give a verdict its levels and grounds back, each a word of a known list, told in our own words."""
    for statement in ("rules", "protection"):
        poisoned[statement] |= {word: verdict[statement][word] for word in ("level", "ground")}


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
    for secret in (content["secret"], content["result"]["verdict"]["details"]):
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


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("what", "values", "told"),
    [
        ("few records", spread(99), False),
        ("many records, and none of them has much of it", spread(240), True),
        ("one record has most of what is lost", spread(240, 1), False),
        ("three have most of the variance, and lose nothing", spread(240, 3), False),
        ("one group has all that is lost, and that is seen", in_threes(460_000), False),
        ("one group has all that is lost, and that is seen by half a step", in_threes(MORE_THAN_HALF), False),
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
    (cells,) = table(public_text(tmp_path / "out.manifest.json"))
    assert (cells[4] != DASH) is told
    assert (cells[3] != DASH) is told


def table(page: str) -> list[list[str]]:
    """The rows of the masked fields: field, block, how, mean or shares, variance, correlations; a dash for none."""
    (found,) = html.fromstring(page).xpath("//table[caption='Masked fields']")
    heads = [cell.text_content() for cell in found.xpath("thead//th")]
    rows = []
    for row in found.xpath("tbody/tr"):
        own = dict(zip(heads, (cell.text_content() for cell in row.xpath("th|td")), strict=True))
        told = [own.get(head, DASH) for head in ("mean", "shares", "variance kept", "correlations moved")]
        rows.append([*list(own.values())[:3], told[0] if told[0] != DASH else told[1], *told[2:]])
    return rows


def released_page(folder: Path, columns: dict[str, list[Any]], **settings: Any) -> str:
    """Mask columns under a rule for each that always holds, and return the public page."""
    data, rules = folder / "data.csv", folder / "rules.sch"
    rows = ([("" if one is None else str(one)) for one in row] for row in zip(*columns.values(), strict=True))
    data.write_text("\n".join((",".join(columns), *(",".join(row) for row in rows), "")))
    rules.write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        + "".join(f'<assert id="of{name}" test="not({name} = -1)"/>' for name in columns)
        + "</rule></pattern></schema>"
    )
    masktron.mask(data, rules, folder / "out.csv", **settings)
    return public_text(folder / "out.manifest.json")


def test_a_heavy_record_decides_about_no_share(tmp_path: Path) -> None:
    """The only one who says y holds most of the weight: with weights, more than 20 of 100 would have moved."""
    records = 240
    said = ["y", *["n"] * (records - 1)]
    weights = [100_000, 130_000, 3, *(1 + at % 7 for at in range(records - 3))]
    columns = {"W": weights, "X": [10_007 * at for at in range(records)][::-1], "S": said}
    page = released_page(tmp_path, columns, k=3, grouping="all", nominal=["S"], numeric=["X"], roles={"W": "weight"})
    assert "Every record counts once, without weights" in page
    assert {row[0]: row[3] for row in table(page)}["S"] == "at most 1 of 100 moved"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("what", "columns", "settings", "told"),
    [
        ("one group of all", {"S": ["a"] * 239 + ["b"]}, {"k": 240}, False),
        ("few records", {"S": ["abc"[at % 3] for at in range(99)], "X": [*range(99)]}, {}, False),
        ("one group moves all", {"S": ["a"] * 116 + [*"bbaa"], "X": [*range(120)]}, {}, False),
        ("many groups, none of which moves much", {"S": ["a", "a", "b"] * 80, "X": [*range(240)]}, {}, True),
    ],
)
def test_shares_need_many_records_and_groups(
    what: str, columns: dict[str, list[Any]], settings: dict[str, Any], *, told: bool, tmp_path: Path
) -> None:
    del what
    numeric = [name for name in columns if name == "X"]
    options = {"k": 3, "grouping": "all", **settings}
    page = released_page(tmp_path, columns, nominal=["S"], numeric=numeric, **options)
    assert ({row[0]: row[3] for row in table(page)}["S"] != DASH) is told


@pytest.mark.full
@pytest.mark.parametrize(("common", "told"), [(6, False), pytest.param(240, True, marks=pytest.mark.full)])
def test_correlations_of_few_common_records_are_in_no_average(common: int, *, told: bool, tmp_path: Path) -> None:
    """An average over few fields can be solved for the change of one pair; with two fields it is that."""
    random = np.random.default_rng(5)
    records = 1200
    draws = random.integers(1000, 9999, size=(3, records)).tolist()
    ends = (records - common) // 2
    a = [one if at < records - ends else None for at, one in enumerate(draws[0])]
    b = [one if at >= ends else None for at, one in enumerate(draws[1])]
    columns = {"A": a, "B": b}
    page = released_page(tmp_path, columns, k=3, grouping="all", aggregator="mean", numeric=[*columns])
    assert all((row[5] != DASH) is told for row in table(page))
    assert all(row[4] != DASH for row in table(page)), "each field alone has enough"


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("method", "said"),
    [("mdav", "share masked values"), ("microhybrid", "in each group that values are drawn for"), ("noise", "")],
)
def test_k_is_named_where_it_is_promised(method: str, said: str, tmp_path: Path) -> None:
    page = public_text(masked(tmp_path, secret_file(tmp_path, 1, 120), method))
    facts = " ".join(html.fromstring(page.split('id="exact"')[0]).text_content().split())
    assert ("or more records" in facts) is bool(said)
    assert said in facts
    assert "smallest group" not in facts


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


@pytest.mark.parametrize(("broken", "noted"), [(0, False), (1, True), (10, False)])
def test_mask_says_where_few_records_were_left_out(
    broken: int, noted: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    values = [*range(1000, 1060), *[-1] * broken]
    (tmp_path / "data.csv").write_text("\n".join(("A", *map(str, values), "")))
    (tmp_path / "rules.sch").write_text(
        '<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">'
        '<assert id="a" test="A &gt; 0"/></rule></pattern></schema>'
    )
    files = [str(tmp_path / name) for name in ("data.csv", "rules.sch", "out.csv", "about.html")]
    data, rules, out, page = files
    given = ["mask", data, "--rules", rules, "--out", out, "--html-public", page, "-k", "3", "--invalid", "exclude"]
    run = Runner(capsys)(*given, "--numeric", "A")
    assert ("the page for others says so" in " ".join(run.out.split())) is noted
    assert ("that broke a rule" in Path(page).read_text()) is (broken > 0)


EXACT = "Over the records of this file, the "


def test_a_mean_is_said_to_be_kept_only_where_it_is(tmp_path: Path) -> None:
    """Of the records in the file, weighted where there are weights, and nowhere without a figure of the original."""
    random = np.random.default_rng(6)
    columns = {"W": random.integers(1, 90, 240).tolist(), "X": random.integers(1000, 9999, 240).tolist()}
    settings: dict[str, Any] = {"k": 3, "aggregator": "mean", "numeric": ["X"]}
    cases = {"W": "untouched", "weights": "weight"}
    for name, role in cases.items():
        folder = tmp_path / name
        folder.mkdir()
        page = released_page(folder, columns, **settings, roles={"W": role})
        assert f"{EXACT}{'weighted ' if role == 'weight' else ''}means and totals of X are those of" in page
        columns_of_file = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1)
        kept = columns_of_file[:, 0] if role == "weight" else None
        own = np.average(columns["X"], weights=None if kept is None else columns["W"])
        assert abs(np.average(columns_of_file[:, 1], weights=kept) - own) <= 0.5
    few = tmp_path / "few"
    few.mkdir()
    page = released_page(few, {name: own[:60] for name, own in columns.items()}, **settings, roles={"W": "untouched"})
    assert "No figure of the original is given" in page
    assert EXACT not in page


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("gaps", "recoded", "told"), [(0, False, True), (0, True, False), (2, False, False)], ids=["", "weight", "gaps"]
)
def test_means_and_totals_are_those_of_all_values_under_the_weights_of_each_file(
    gaps: int, recoded: bool, told: bool, tmp_path: Path
) -> None:
    """A weight in classes is another weight, and a missing value that is filled adds to the total."""
    random = np.random.default_rng(6)
    values: list[int | None] = random.integers(1000, 9999, 240).tolist()
    for at in random.choice(240, gaps, replace=False):
        values[at] = None
    columns = {"W": random.integers(1, 90, 240).tolist(), "X": values, "Y": random.integers(1, 999, 240).tolist()}
    treated = {"recode": {"W": "breaks:0,10,40:mean"}} if recoded else {}
    page = released_page(
        tmp_path,
        columns,
        k=3,
        aggregator="mean",
        numeric=["X", "Y"],
        grouping="all",
        roles={"W": "weight"},
        **treated,
    )
    before, after = (pd.read_csv(tmp_path / name) for name in ("data.csv", "out.csv"))
    apart = abs((after.W * after.X).sum() - (before.W * before.X).sum())
    assert bool(apart <= 0.5 * before.W.sum()) is told
    assert (re.search(r"weighted means and totals of (X|Y, X|X, Y)\b", page) is not None) is told


@pytest.mark.parametrize("method", parts(DRAWING, 1))
def test_who_knows_all_other_records_solves_no_share_of_variance(method: str, tmp_path: Path) -> None:
    """With 120 records, the only unknown one among them more and more heavy: what is told leaves him open."""
    random = np.random.default_rng(9)
    told = 0
    for at, heavy in enumerate((0.5, 2.2, 2.8, 3.4) if FULL else (0.5, 3.4)):
        folder = tmp_path / str(at)
        folder.mkdir()
        values = random.uniform(13_000, 47_000, size=(2, 120)).round()
        values[0, 77] = 30_000 + heavy * 10_000
        page = released_page(
            folder,
            {"A": values[0].astype(int).tolist(), "B": values[1].astype(int).tolist()},
            k=3, method=method, numeric=["A", "B"], order="keep", secret=bytes(range(at, at + 32)),
        )  # fmt: skip
        [cells] = [row for row in table(page) if row[0] == "A"]
        if cells[4] == DASH:
            continue
        told += 1
        masked = np.loadtxt(folder / "out.csv", delimiter=",", skiprows=1)[:, 0]
        guesses = np.arange(-100_000.0, 200_000.0, 25.0)
        others = np.delete(values[0], 77)
        spread = np.array([np.append(others, guess).var() for guess in guesses])
        fits = guesses[np.abs(masked.var() / spread - float(cells[4])) <= 0.005 + 1e-9]
        side = fits[(fits > others.mean()) == (values[0, 77] > others.mean())]
        width = side.max() - side.min() + 25
        assert width >= 0.1 * values[0].std()
        assert width >= min(0.05 * values[0, 77], 0.5 * values[0].std()) - 50
    assert told


def test_the_model_has_no_place_for_notes_or_values_of_a_run() -> None:
    """A new attribute is a decision: what it holds has to be public, and stands here."""
    names = {one.name for one in fields(PublicRelease)}
    public = {"name", "checksum", "rules_checksum", "rulebook", "records", "versions", "engines"}
    settings = {"method", "contract", "promise", "k", "whole_records", "random_order", "removed"}
    # compared: whether whoever made the page had the original
    # fates: what follows from rulebook and classes, as the translated rulebook beside the file has it
    asked = {"shared_keys", "fates"}
    # names, counts and checksums of the released file, and settings: which fields sort members, what is protected
    asked |= {"levels", "protected", "numbered", "rare_left_out", "own_checksum"}
    # of settings alone, and of the released file alone
    asked |= {"takes_over", "written_as"}
    # one of three levels, with a sentence for its ground
    asked |= {"protection"}
    # who knows the size of the sample can count the first; the second has one decimal, and is told of ten records on
    asked |= {"left_out", "missing_weight"}
    # names of fields in files of a hundred records and more: whether a total, or what categories explain, moved much
    asked |= {"moved_totals", "unexplained"}
    assert names == public | settings | asked | {"fields", "rules", "compared"}


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
    assert name_of_file(path) == name
