"""Figures of candidates are those of `mask` and `assess`, and what candidates share changes none."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from examples import FULL
from masktron.config import Config, Role
from masktron.errors import InfeasibleError
from masktron.figures import FIGURES
from masktron.jobs.assess import AssessRequest, run_assess
from masktron.jobs.mask import run_mask
from masktron.jobs.opening import open_original
from masktron.jobs.run_places import MaskRequest
from masktron.jobs.search.bench import Attempt, Bench, secret_of_run
from masktron.jobs.search.grid import settings_of
from masktron.masking import SharedWork
from masktron.masking.groups import strata
from masktron.problems.wording import sentence
from masktron.progress import no_progress
from masktron.results import TuneCandidate
from refusals import refused
from tuned_files import rows_of, write_pair

NAMES = [
    one.name
    for one in FIGURES
    if not {"class", "earlier"} & {*one.needs} and (FULL or not one.name.startswith(("pmse", "subd")))
]
CONFIG = Config(missing={"C": frozenset({"-9"})}, nominal=("G",))


def bench_of(data: Path, rules: Path, config: Config, names: Sequence[str] = ("linkage", "pil")) -> Bench:
    return Bench(open_original(data, rules, config, no_progress), names)


@pytest.mark.parametrize(
    ("suffix", "recipe"),
    [
        (".csv", TuneCandidate("mdav", {}, 3, "all")),
        (".xml", TuneCandidate("noise", {"c": 0.3}, 4, "rules")),
        pytest.param(".parquet", TuneCandidate("mst", {}, 4, "rules"), marks=pytest.mark.full),
        pytest.param(".xml", TuneCandidate("mdav", {}, 3, "rules"), marks=pytest.mark.full),
        pytest.param(".csv", TuneCandidate("cart", {}, 4, "rules"), marks=pytest.mark.full),
        pytest.param(".xml", TuneCandidate("hierarchical", {}, 4, "rules"), marks=pytest.mark.full),
        pytest.param(".csv", TuneCandidate("microhybrid", {}, 4, "rules"), marks=pytest.mark.full),
    ],
)
def test_figures_are_those_of_mask_and_assess(tmp_path: Path, suffix: str, recipe: TuneCandidate) -> None:
    data, rules = write_pair(tmp_path, 70, suffix=suffix, category=True)
    config = replace(CONFIG, quasi_identifiers=("A", "G"))
    found = bench_of(data, rules, config, NAMES).outcome(Attempt(0, recipe.settings, 1, whole=True), no_progress)
    out, manifest = tmp_path / f"masked{suffix}", tmp_path / "manifest.json"
    masked = run_mask(
        MaskRequest(
            data, rules, out, config=replace(settings_of(recipe, config), secret=secret_of_run(1)), manifest=manifest
        )
    )
    assessed = run_assess(AssessRequest(out, data, manifest=manifest, measures=NAMES))
    assert found.refused == ""
    assert {one.name: _comparable(one.value) for one in assessed.figures} == {
        name: _comparable(value) for name, (value, _) in found.figures.items()
    }
    assert {one.name: _comparable(one.value) for one in masked.figures}.items() <= {
        name: _comparable(value) for name, (value, _) in found.figures.items()
    }.items()
    assert len(found.figures) == len(NAMES) == len(assessed.figures)
    assert found.figures["pil"][0] > 0


def _comparable(value: float) -> object:
    return "NaN" if math.isnan(value) else value


def test_groups_of_mdav_are_formed_once_for_the_same_fields_and_k(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data, rules = write_pair(tmp_path, 70, category=True)
    formed: list[int] = []
    group = strata.group

    def counted(inputs: Any, partition: Any) -> Any:
        formed.append(inputs.k)
        return group(inputs, partition)

    monkeypatch.setattr("masktron.masking.run.group", counted)
    bench = bench_of(data, rules, CONFIG)
    recipes = [
        TuneCandidate("mdav", {}, 3, "rules"),
        TuneCandidate("noise", {}, 3, "rules"),  # its category is masked by groups of the same field and k
        TuneCandidate("ipso", {}, 3, "rules"),
        TuneCandidate("mdav", {}, 4, "rules"),
    ]
    together = [bench.outcome(Attempt(0, recipe.settings, 0, whole=True), no_progress).figures for recipe in recipes]
    assert formed.count(3) == 3  # A, B and T; C; G, the last for all three methods
    assert formed.count(4) == 3
    alone = [
        bench_of(data, rules, CONFIG).outcome(Attempt(0, recipe.settings, 0, whole=True), no_progress).figures
        for recipe in recipes
    ]
    assert [str(one) for one in together] == [str(one) for one in alone]


@pytest.mark.full
def test_what_is_shared_is_told_apart_by_what_groups_ask(tmp_path: Path) -> None:
    """The median is an observed value, which no limit moves: it must not get the groups of the mean."""
    data, rules = write_pair(tmp_path, 70, test="A &lt;= T")
    config = CONFIG.updated(roles={"T": Role.UNTOUCHED})
    recipes = [TuneCandidate("mdav", {}, 3, "rules"), TuneCandidate("mdav", {}, 3, "rules", "median")]
    bench = bench_of(data, rules, replace(config, nominal=()))
    together = [bench.outcome(Attempt(0, recipe.settings, 0, whole=True), no_progress) for recipe in recipes]
    alone = [
        bench_of(data, rules, replace(config, nominal=())).outcome(
            Attempt(0, recipe.settings, 0, whole=True), no_progress
        )
        for recipe in recipes
    ]
    assert [one.refused for one in together] == ["", ""]
    assert [str(one.figures) for one in together] == [str(one.figures) for one in alone]
    assert str(together[0].figures) != str(together[1].figures)


def test_few_groupings_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    from masktron.masking import inputs
    from masktron.partitions.partitioner import Partitioner

    monkeypatch.setattr(inputs, "_GROUPINGS", 2)
    work = SharedWork()

    class Inputs:
        partitioner = Partitioner()
        k = 3
        strata: tuple[str, ...] = ()

    class Blocks:
        blocks = ()

    made = []
    for k in (3, 4, 5, 3):
        Inputs.k = k
        work.groups(Inputs(), Blocks(), lambda: made.append(1) or object())  # type: ignore[arg-type, return-value, func-returns-value]
    assert len(made) == 4
    assert len(work._groups) == 2


def test_a_candidate_that_mask_refuses_has_its_reason(tmp_path: Path) -> None:
    data, rules = write_pair(tmp_path, 70, category=True)
    bench = bench_of(data, rules, CONFIG)
    refusal = bench.shape(TuneCandidate("crest", {}, 3, "rules").settings)[1]
    assert refusal is not None
    assert "needs the class" in sentence(refusal.refused)
    assert not refusal.ended
    found = bench.outcome(Attempt(0, TuneCandidate("mdav", {}, 80, "rules").settings, 0, whole=True), no_progress)
    assert sentence(found.refused) == "k = 80 needs at least 80 records, and there are 70"
    assert found.figures == {}
    roles = dict.fromkeys("ABTC", Role.UNTOUCHED)
    categories = bench_of(data, rules, CONFIG.updated(roles=roles))
    noise = categories.outcome(
        Attempt(0, TuneCandidate("noise", {}, 3, "rules").settings, 0, whole=True), no_progress
    )
    assert "as every block of masked fields has some, not noise" in sentence(noise.refused)


def test_a_rule_over_several_records_is_judged_as_in_the_written_file(tmp_path: Path) -> None:
    """A quotient of totals cannot be mended, and no record alone shows it."""
    data, rules = write_pair(tmp_path, 70)
    values = [row["A"] for row in rows_of(70)]
    high = [value for value in values if value > 250]  # type: ignore[operator]
    tests = {
        "kept": f"sum(Record/A) = {sum(values)}",  # type: ignore[arg-type]
        "broken": f"sum(Record/A) div count(Record[A &gt; 250]) = {sum(values) / len(high)!r}",  # type: ignore[arg-type]
    }
    text = rules.read_text()
    reasons = {}
    for name, test in tests.items():
        over = f'<pattern><rule context="Data"><assert id="{name}" test="{test}">m</assert></rule></pattern>'
        rules.write_text(text.replace("</schema>", f"{over}</schema>"))
        bench = bench_of(data, rules, CONFIG.updated(nominal=()))
        attempt = Attempt(0, TuneCandidate("mdav", {}, 3, "rules").settings, 0, whole=True)
        reasons[name] = bench.outcome(attempt, no_progress).refused
    assert reasons["kept"] == ""
    assert "would break broken" in sentence(reasons["broken"])
    with refused(InfeasibleError, "rules-not-kept", rules=("broken",)):
        run_mask(MaskRequest(data, rules, tmp_path / "out.xml", config=CONFIG.updated(nominal=(), k=3)))
