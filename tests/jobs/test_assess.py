"""`assess`: figures of risk, utility and contract, alignment of the two files, and limits on any figure."""

from __future__ import annotations

import json
import math
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest

import masktron
from attacks import SEED
from cli_runner import Outcome, Runner, numbers, write_data, write_rules
from made_columns import column_of_cells
from masktron.errors import DocumentError, MasktronError, UsageError
from masktron.figures import FIGURES, NAMES, figure_of
from masktron.jobs.limits import over_limits, refuse_class_limits
from masktron.kernels.distinct import codes_of
from masktron.measures.assessed import Assessed
from masktron.measures.classes import biases, class_chi_square
from masktron.measures.correlation_change import correlation_change
from masktron.measures.differencing import Differencing
from masktron.measures.dominance import p_percent
from masktron.measures.eta_squared import eta_squared
from masktron.measures.figures import COMPUTED, Measured, measure
from masktron.measures.homogeneity import homogeneity
from masktron.measures.il1s import il1s
from masktron.measures.information_loss import information_loss
from masktron.measures.interval_disclosure import by_deviation, by_ranks
from masktron.measures.linkage import linkage
from masktron.measures.linkage_variants import by_groups, by_knowledge, second
from masktron.measures.pil import pil
from masktron.measures.propensity import pmse, pmse_cart
from masktron.measures.strongest_link import strongest_linkage
from masktron.measures.subdomains import subdomains
from masktron.measures.true_cells import true_cells
from masktron.problems.wording import sentence
from masktron.sources.column import Column
from paths import SCHEMAS
from refusals import code_of, refused

SCHEMA = SCHEMAS / "assess.schema.json"
WITHOUT_CLASS = 'needs a field that is the class (class_field="FIELD"): homogeneous_groups, class_imbalance'
WITHOUT_EARLIER = "needs an earlier release (against=): differencing"
WITHOUT_MANIFEST = [figure.name for figure in FIGURES if not figure.needs]
OF_KEYS = {figure.name for figure in FIGURES if figure.needs == ("keys",)}
"""Those of what others know: unmasked fields, where there are any."""


class Survey:
    """A survey with a name, a key, a weight, a category and missing codes, and what masking makes of it."""

    def __init__(self, folder: Path, result: masktron.MaskResult | None = None, **settings: Any) -> None:
        generator = np.random.default_rng(4)
        rows = [
            {
                "Id": 1000 + at,
                "NAME": f"n{at}",
                **row,
                "S": -9 if at % 7 == 3 else int(generator.integers(0, 500)),
                "C": "abc"[int(generator.integers(3))],
                "W": 1 + at % 3,
            }
            for at, row in enumerate(numbers(60))
        ]
        self.data = write_data(folder / "data.xml", rows)
        self.rules = write_rules(folder / "rules.sch", "A + B = T", "A >= 0")
        self.out, self.manifest = folder / "masked.xml", folder / "masked.manifest.json"
        self.settings: dict[str, Any] = {
            "k": 4,
            "roles": {"Id": "record-id", "NAME": "identifier", "W": "weight"},
            "missing": {"S": ["-9"]},
            "nominal": ["C"],
            **settings,
        }
        self.result = result or masktron.mask(self.data, self.rules, self.out, **self.settings)

    def assess(self, *, manifest: bool = True, **options: Any) -> masktron.AssessResult:
        return masktron.assess(self.out, self.data, manifest=self.manifest if manifest else None, **options)


@pytest.fixture(scope="module")
def masked_once(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    return Survey(tmp_path_factory.mktemp("survey"))


@pytest.fixture
def survey(masked_once: Survey, tmp_path: Path) -> Survey:
    """A copy of the one masked survey, which a test may change."""
    shutil.copytree(masked_once.out.parent, tmp_path, dirs_exist_ok=True)
    return Survey(tmp_path, masked_once.result)


def figures_of(result: masktron.MaskResult | masktron.AssessResult) -> dict[str, Any]:
    return {figure.name: (figure.value, figure.field) for figure in result.figures}


# the figures


def test_every_figure_has_words_a_function_and_one_name() -> None:
    assert set(NAMES) == set(COMPUTED)
    assert len(NAMES) == len(set(NAMES))
    order = [figure.group for figure in FIGURES]
    assert order == sorted(order, key=["contract", "risk", "utility"].index)
    with pytest.raises(KeyError):
        figure_of("lnkage")


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_sentences_are_for_readers_new_to_the_field(figure: Any) -> None:
    text = figure.meaning
    assert text[0].isupper()
    assert text.endswith(".")
    assert "usual" in text, "a figure without a scale says little"
    assert 15 <= len(text.split()) <= 60
    jargon = (
        r"\bSS[ET]\b|standardis|Euclid|variance|covariance|quantile|propensity|microaggreg|null|moment|eigen|[=^²Σ]"
    )
    assert not re.search(jargon, text, re.IGNORECASE), "no formula and no term that has to be looked up"


def column(values: list[Any]) -> Column:
    return column_of_cells(values)


def files(before: dict[str, list[Any]], after: dict[str, list[Any]], **known: Any) -> Assessed:
    masked = {name: column(values) for name, values in after.items()}
    return Assessed(
        original={name: column(values) for name, values in before.items()},
        masked=masked,
        numeric=tuple(n for n, values in before.items() if not any(isinstance(v, str) for v in values)),
        codes={name: codes_of(one.lexemes) for name, one in masked.items()},
        **known,
    )


def values_of(names: list[str], assessed: Assessed) -> list[tuple[float, str]]:
    return [(one.value, one.field) for one in measure(names, assessed)]


def test_figures_by_hand() -> None:
    before = {"A": [0, 2, 10, 14], "B": [5, 5, None, 9], "K": ["x", "x", "y", "y"], "L": ["u", "v", "u", None]}
    after = {"A": [1, 1, 12, 12], "B": [5, 5, None, 9], "K": ["x", "x", "x", "y"], "L": ["u", "v", "u", None]}
    assessed = files(before, after, blocks=(("A",), ("B",), ("K", "L")))
    # A has no value left, B its three, K three of four, L its three
    names = ["unchanged", "total_change", "category_change", "block_k", "whole_record_k"]
    assert values_of(names, assessed) == [
        (pytest.approx(100 * 9 / 14), ""),
        (0.0, "A"),
        (pytest.approx(25.0), "K"),
        (1.0, ""),
        (1.0, ""),
    ]
    assert values_of(["block_k"], files(before, after, blocks=(("A",),))) == [(2.0, "")]
    weighted = files(before, after, weights=np.array([1.0, 1.0, 1.0, 3.0]))
    # 54 before; 1 + 1 + 12 + 36 after
    assert values_of(["total_change"], weighted) == [(pytest.approx(100 * 4 / 54), "A")]
    # x has 2 of 6, then 3 of 6
    assert values_of(["category_change"], weighted) == [(pytest.approx(100 / 6), "K")]


def test_estimates_are_weighted_where_a_weight_is_declared() -> None:
    """Repeating a record as often as it weighs gives the same means, deviations and correlations."""
    rng = np.random.default_rng(4)
    before = rng.integers(1, 99, (60, 2))
    after, times = before + rng.integers(0, 30, (60, 2)), rng.integers(1, 40, 60)

    def measured(name: str, weights: Any, repeat: Any = 1) -> float:
        pair = ({"A": one[:, 0].tolist(), "B": one[:, 1].tolist()} for one in (before, after))
        repeated = ({key: np.repeat(values, repeat).tolist() for key, values in one.items()} for one in pair)
        return values_of([name], files(*repeated, weights=weights))[0][0]

    weights = times.astype(np.float64)
    for name in ("mean_bias", "deviation_bias", "correlation_change"):
        assert measured(name, weights) == pytest.approx(measured(name, None, times)), name
    for name in ("mean_bias", "deviation_bias", "correlation_change", "pil", "score"):
        assert abs(measured(name, weights) - measured(name, None)) > 1e-4, name


def test_a_total_from_nothing_is_the_worst_and_meets_no_limit() -> None:
    grown = files({"A": [1, 2], "Z": [0, 0], "B": [1, 1]}, {"A": [9, 9], "Z": [1, 1], "B": [1, 1]})
    (found,) = measure(["total_change"], grown)
    assert (math.isnan(found.value), found.field) == (True, "Z")
    assert [*map(sentence, over_limits([found], {"total_change": 1e9}))] == [
        "total_change is nan in Z, the limit 1e+09"
    ]


def test_without_numbers_or_categories_a_figure_does_not_exist() -> None:
    texts = files({"K": ["x", "y"]}, {"K": ["x", "x"]})
    for name in ("linkage", "information_loss", "total_change"):
        assert math.isnan(measure([name], texts)[0].value)
    assert math.isnan(measure(["category_change"], files({"A": [1]}, {"A": [1]}))[0].value)
    assert math.isnan(measure(["unchanged"], files({"A": [None]}, {"A": [None]}))[0].value)


def test_a_file_that_was_not_masked_has_the_corner_of_every_figure() -> None:
    same = {"A": [1, 2, 3, 3], "K": ["x", "y", "z", "z"]}
    expected = {
        "whole_record_k": 1.0,
        # the two equal respondents are told apart by luck
        "linkage": 75.0,
        "unchanged": 100.0,
        "information_loss": 0.0,
        "total_change": 0.0,
        "category_change": 0.0,
    }
    assert {one.figure.name: one.value for one in measure(expected, files(same, same))} == expected


def test_figures_of_measures_by_name() -> None:
    generator = np.random.default_rng(3)
    before = generator.lognormal(size=(60, 3))
    after = before.reshape(20, 3, 3).mean(axis=1).repeat(3, axis=0)
    names = ["A", "B", "D"]
    classes = np.arange(60, dtype=np.int32) % 2
    twice = {"A": Differencing(40, 9, 1, 3), "D": Differencing(20, 9, 1, 6), "B": Differencing(0, 0, 0, 0)}
    assessed = files(
        {name: values.tolist() for name, values in zip(names, before.T, strict=True)},
        {name: values.tolist() for name, values in zip(names, after.T, strict=True)},
        blocks=(("A", "B"), ("D",)),
        classes=classes,
        differenced=twice,
        everything={"G": column(["x", "y", "z"] * 20)},
        unmasked=("G",),
    )
    explained = [[eta_squared(own, np.arange(60) % 3).share for own in file.T] for file in (before, after)]
    groups = np.arange(60) // 3
    loss, bias, parts = pil(before, after), biases(before, after), subdomains(before, after)
    totals = [p_percent(before[:, own], groups) for own in ([0, 1], [2])]
    expected = {
        "strongest_linkage": strongest_linkage(before, after).share,
        "linkage_second": second(before, after),
        "linkage_groups": by_groups(before, after, [[0, 1], [2]]),
        "linkage_knowledge": by_knowledge(before, after, 3),
        "interval_ranks": by_ranks(before, after),
        "interval_deviation": by_deviation(before, after),
        "disclosure_risk": (linkage(before, after) + by_ranks(before, after)) / 2,
        "sole_values": true_cells(before, after).sole,
        "dominance": (2 * totals[0].sensitive + totals[1].sensitive) / 3,
        "differencing": 15.0,
        "homogeneous_groups": homogeneity(groups, classes),
        "class_imbalance": class_chi_square(groups, classes),
        "il1s": il1s(before, after),
        "pil": loss.total,
        "score": (loss.total + (linkage(before, after) + by_ranks(before, after)) / 2) / 2,
        "mean_bias": bias.abim,
        "deviation_bias": bias.abisd,
        "correlation_change": correlation_change(before, after).largest,
        "eta_squared_change": np.abs(np.subtract(*explained)).max(),
        "subdomain_means": parts.means,
        "subdomain_correlations": parts.correlations,
        "pmse": pmse(before, after).value,
        "pmse_ratio": pmse(before, after).ratio,
        "pmse_cubic": pmse(before, after, "cubic").ratio,
        "pmse_tree": pmse_cart(before, after).ratio,
    }
    found = {one.figure.name: one.value for one in measure(expected, assessed)}
    assert found == pytest.approx(expected)
    assert set(expected) | OF_KEYS | {one.name for one in FIGURES if one.unasked == math.inf} == set(NAMES)
    texts = files({"K": ["x", "y"]}, {"K": ["x", "x"]}, blocks=(("K",),))
    told = {
        one.figure.name: one.value for one in measure(expected, texts) if one.figure.needs != ("manifest", "class")
    }
    assert told.pop("strongest_linkage") == 50, "categories alone can be linked"
    assert all(map(math.isnan, told.values()))


def test_fields_with_negative_values_have_no_dominance() -> None:
    values = {"A": [100, 3, 2, 9, 9, 9], "N": [-1, 100, 1, 9, 9, 9]}
    alike = {name: [1, 1, 1, 2, 2, 2] for name in values}
    (found,) = measure(["dominance"], files(values, alike, blocks=(("A", "N"),)))
    assert found.value == 50.0
    (found,) = measure(["dominance"], files({"N": values["N"]}, {"N": alike["N"]}, blocks=(("N",),)))
    assert math.isnan(found.value)


def test_what_has_become_missing_everywhere_has_not_kept_its_information() -> None:
    gone = files({"A": [1, 2, 3]}, {"A": [None, None, None]})
    for one in measure(["information_loss", "il1s"], gone):
        assert math.isnan(one.value)
        assert list(over_limits([one], {one.figure.name: 1e9}))
    half = files({"A": [1, 2, 3], "B": [1, 2, 3]}, {"A": [None, None, None], "B": [1, 2, 3]})
    assert [one.value for one in measure(["information_loss", "il1s"], half)] == [0.0, 0.0]


def test_a_file_without_loss_has_no_score() -> None:
    (found,) = measure(["score"], files({"A": [None, None]}, {"A": [1, 2]}))
    assert math.isnan(found.value)


def test_too_few_records_for_a_tree() -> None:
    before, after = list(range(20)), [1000] * 20
    assert math.isnan(measure(["pmse_tree"], files({"A": before[1:]}, {"A": after[1:]}))[0].value)
    assert measure(["pmse_tree"], files({"A": before}, {"A": after}))[0].value > 1


def test_figures_of_classes_without_a_class() -> None:
    nobody = files({"A": [1, 2]}, {"A": [1, 1]}, blocks=(("A",),), classes=np.array([-1, -1], dtype=np.int32))
    names = ["homogeneous_groups", "class_imbalance"]
    assert all(math.isnan(one.value) for one in measure(names, nobody))


def test_a_missing_class_is_no_class(tmp_path: Path) -> None:
    rows = [{"A": 10 * (at // 4), "C": ("x", "", "-9", None)[at % 4]} for at in range(40)]
    data = write_data(tmp_path / "d.xml", rows)
    masktron.mask(
        data, write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "m.xml", k=4, nominal=["C"],
        missing={"C": ["-9"]}, roles={"C": "untouched"},
    )  # fmt: skip
    result = masktron.assess(tmp_path / "m.xml", data, manifest=tmp_path / "m.manifest.json", class_field="C")
    assert (result["homogeneous_groups"], result["class_imbalance"]) == (100.0, 0.0)


@pytest.mark.full
def test_figures_of_classes(survey: Survey, run: Runner) -> None:
    result = survey.assess(class_field="C")
    assert {"homogeneous_groups", "class_imbalance"} <= {figure.name for figure in result.figures}
    assert 0 <= result["homogeneous_groups"] <= 100
    # C is masked by itself, so that its groups are its classes or nearly
    assert dict(figures_of(result))["class_imbalance"][1] == "C"
    outcome = run("assess", survey.out, "--original", survey.data, "--manifest", survey.manifest, "--class", "C")
    assert (outcome.code, "class_imbalance" in outcome.out) == (0, True)


def test_what_others_have_counted_is_not_computed() -> None:
    assessed = files({"A": [1]}, {"A": [1]}, known={"block_k": 7.0, "medoid_share": 0.5})
    assert values_of(["block_k", "medoid_share"], assessed) == [(7.0, ""), (0.5, "")]


def test_a_measure_of_several_figures_is_computed_once() -> None:
    calls = []

    def spread(before: Any, after: Any, *, by: int = 1) -> tuple[float, float]:
        calls.append((*before.shape, by))
        return float(np.ptp(before)), float(np.ptp(after))

    assessed = files({"A": [1, 5], "K": ["x", "y"]}, {"A": [3, 3], "K": ["x", "y"]})
    assert (assessed.once(spread)[0], assessed.once(spread)[1], calls) == (4.0, 0.0, [(2, 1, 1)])
    assert [assessed.once(spread, by=by)[0] for by in (2, 3, 2)] == [4.0] * 3
    assert [call[-1] for call in calls] == [1, 2, 3]


def test_blocks_as_columns_and_as_groups() -> None:
    assessed = files(
        {"A": [1, 2, 3], "K": ["x", "y", "z"], "B": [7, 8, 9]},
        {"A": [1, 1, 3], "K": ["x", "x", "x"], "B": [7, 8, 9]},
        blocks=(("A", "B"), ("K",)),
        solved=frozenset({"B"}),
    )
    assert assessed.numeric_blocks == ((0, 1),)
    assert [groups.tolist() for groups in assessed.groups] == [[0, 0, 1], [0, 0, 0]]


# two files


def test_all_figures_with_a_manifest(survey: Survey) -> None:
    result = survey.assess()
    assert [figure.name for figure in result.figures] == [
        one.name for one in FIGURES if not {"class", "earlier"} & {*one.needs}
    ]
    assert result.notes == (WITHOUT_EARLIER, WITHOUT_CLASS)
    assert (set(result.numeric), result.categorical) == ({"A", "B", "T", "S"}, ("C",))
    assert result.records == 60
    assert result["block_k"] >= 4
    frames = [pd.read_xml(path, parser="etree") for path in (survey.data, survey.out)]
    before, after = (frame[["A", "B", "T", "S"]].replace(-9, np.nan).to_numpy(np.float64) for frame in frames)
    assert result["linkage"] == pytest.approx(linkage(before, after))
    assert result["information_loss"] == pytest.approx(information_loss(before, after))
    weights = frames[0]["W"].to_numpy(np.float64)
    sums = [np.nansum(weights[:, np.newaxis] * values, axis=0) for values in (before, after)]
    assert result["total_change"] == pytest.approx(np.max(100 * np.abs(sums[1] / sums[0] - 1)))
    jsonschema.Draft202012Validator(json.loads(SCHEMA.read_text())).validate(result.as_dict())


@pytest.mark.few(1)
@pytest.mark.parametrize("settings", [{}, {"order": "random", "seed": SEED}, {"grouping": "all"}])
def test_mask_and_assess_have_the_same_figures(tmp_path: Path, settings: dict[str, Any]) -> None:
    survey = Survey(tmp_path, **settings)
    quick = {figure.name for figure in FIGURES if figure.unasked >= 60}
    assert {name: value for name, value in figures_of(survey.assess()).items() if name in quick} == figures_of(
        survey.result
    )
    own = figures_of(survey.result)
    assert own["linkage"][0] == survey.result.linkage
    assert own["information_loss"][0] == survey.result.information_loss
    assert own["whole_record_k"][0] == survey.result.whole_record_k
    assert own["block_k"][0] == survey.result.min_group


@pytest.mark.full
def test_a_shuffled_file_needs_its_manifest_or_a_key(tmp_path: Path) -> None:
    plain, shuffled = (tmp_path / name for name in ("plain", "shuffled"))
    plain.mkdir()
    shuffled.mkdir()
    straight, mixed = Survey(plain), Survey(shuffled, order="random")
    assert figures_of(mixed.assess()) == figures_of(straight.assess())
    told = mixed.assess(manifest=False, **{**mixed.settings, "roles": {"Id": "record-id", "W": "weight"}})
    known = figures_of(straight.assess())
    assert figures_of(told) == {name: known[name] for name in (*WITHOUT_MANIFEST, *OF_KEYS)}
    with refused(UsageError, "records-not-paired"):
        mixed.assess(manifest=False, roles={"Id": "confidential"})


def test_records_that_were_left_out(tmp_path: Path) -> None:
    rows = [{"A": a, "B": 2 * a} for a in range(40)]
    rows[0]["B"] = rows[17]["B"] = 1000
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "B <= 100")
    out = tmp_path / "m.xml"
    masked = masktron.mask(data, rules, out, k=4, invalid="exclude", order="random")
    assert len(masked.excluded) == 2
    result = masktron.assess(out, data, manifest=tmp_path / "m.manifest.json")
    assert (result.records, figures_of(result) | figures_of(masked)) == (38, figures_of(result))
    with refused(UsageError, "not-of-one-run", reason="38 masked records for 40 of the original"):
        masktron.assess(out, data)


def test_a_masked_field_that_is_gone_from_the_file(tmp_path: Path) -> None:
    rows = [{"A": a, "R": a if a == 3 else None} for a in range(20)]
    data = write_data(tmp_path / "d.xml", rows)
    masktron.mask(data, write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "m.xml", k=5)
    assert "<R>" not in (tmp_path / "m.xml").read_text()
    result = masktron.assess(tmp_path / "m.xml", data, manifest=tmp_path / "m.manifest.json")
    assert "R" in result.numeric


@pytest.mark.full
def test_without_a_manifest_fields_come_from_both_files(survey: Survey) -> None:
    bare = survey.assess(manifest=False)
    assert bare.numeric == ("Id", "A", "B", "T", "S", "W")
    assert bare.categorical == ("C",)
    assert [figure.name for figure in bare.figures] == WITHOUT_MANIFEST
    said = "\n".join(bare.notes)
    assert "records are put together by Id, which differs in every record" in said
    assert "only the original has them: NAME" in said
    assert 'needs the manifest (manifest="FILE"): block_k, medoid_share, dominance, linkage_groups' in said
    assert bare["linkage"] > survey.result.linkage, "the key gives people away"
    told = survey.assess(manifest=False, **{**survey.settings, "roles": {"Id": "record-id", "W": "weight"}})
    known = figures_of(survey.assess())
    assert figures_of(told) == {name: known[name] for name in (*WITHOUT_MANIFEST, *OF_KEYS)}
    assert "the settings keep them from masking: Id, W" in "\n".join(told.notes)


def test_fields_of_one_file_only(tmp_path: Path) -> None:
    original = write_data(tmp_path / "o.xml", [{"A": 1, "W": 1}, {"A": 2, "W": 3}])
    masked = write_data(tmp_path / "m.xml", [{"A": 2, "Z": 1}, {"A": 2, "Z": 2}])
    result = masktron.assess(masked, original, roles={"W": "weight"}, same_order=True)
    # 7 before, 8 after: the weight counts although it was not released
    assert result["total_change"] == pytest.approx(100 / 7)
    said = "\n".join(result.notes)
    assert "only the original has them: W" in said
    assert "only the masked file has them: Z" in said
    with refused(UsageError, "bad-value", given=("A", "W")):
        masktron.assess(masked, original, roles={"A": "weight", "W": "weight"})


def test_a_number_that_only_excluded_records_have(tmp_path: Path) -> None:
    rows = [{"K": "ab"[at % 2], "R": 5 if at == 4 else None, "S": 100 if at == 4 else at % 3} for at in range(20)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "S <= 50")
    result = masktron.mask(
        data, rules, tmp_path / "m.xml", k=4, invalid="exclude", nominal=["K"], roles={"S": "untouched"}
    )
    assert math.isnan(figures_of(result)["score"][0])
    assessed = masktron.assess(tmp_path / "m.xml", data, manifest=tmp_path / "m.manifest.json")
    assert math.isnan(assessed["score"])
    text = " ".join(repr(assessed).split())
    assert "too little of what it is about" in text


def test_the_table_says_why_there_is_no_figure() -> None:
    frames = [pd.DataFrame({"Z": [0, 0, 0]}), pd.DataFrame({"Z": [1, 2, 3]})]
    result = masktron.assess(frames[1], frames[0], measures=["total_change", "correlation_change"])
    text = " ".join(repr(result).split())
    assert "nothing to tell: correlation_change: the files have too little" in text
    assert "no figure: total_change: Z had nothing before" in text


def test_data_frames_are_compared_row_by_row() -> None:
    before = pd.DataFrame({"A": [1, 2, 30, 40], "K": ["x", "x", "y", "z"]})
    after = pd.DataFrame({"A": [1.5, 1.5, 35, 35], "K": ["x", "x", "y", "y"]})
    result = masktron.assess(after, before, same_order=True)
    assert (result.masked, result.original) == ("data frame", "data frame")
    assert result["category_change"] == 25.0
    frame = result.to_frame()
    assert frame.set_index("name").loc["whole_record_k", "value"] == 2.0
    assert list(frame.columns) == ["name", "group", "value", "unit", "better", "field", "meaning", "interval"]


def test_figures_of_a_sample_say_so(survey: Survey, monkeypatch: pytest.MonkeyPatch) -> None:
    names = ["pmse", "pmse_ratio", "pmse_tree"]
    assert not survey.assess(measures=names).notes
    monkeypatch.setattr("masktron.jobs.assess.SAMPLED", {"pmse": 59, "pmse_ratio": 59, "pmse_tree": 1234})
    assert survey.assess(measures=names).notes == ("of 59 respondents, drawn at random: pmse, pmse_ratio",)


def test_chosen_measures(survey: Survey, run: Runner) -> None:
    assert list(figures_of(survey.assess(measures=["unchanged", "linkage"]))) == ["linkage", "unchanged"]
    arguments = ("assess", survey.out, "--original", survey.data)
    shown = run(*arguments, "--measures", "linkage, total_change", "--json", "-")
    assert [figure["figure"] for figure in json.loads(shown.out)["figures"]] == ["linkage", "total_change"]
    wrong = run(*arguments, "--measures", "lnkage")
    wrong.refuses(2, "unknown-name", name="lnkage")
    lacking = run(*arguments, "--measures", "block_k")
    assert (lacking.code, "[needs-setting]" in lacking.err) == (2, True)


def test_the_table_has_every_sentence_and_no_value_of_a_record(tmp_path: Path, run: Runner) -> None:
    rows = [{"NAME": f"name{at}", "A": 7_000_003 + 1009 * at, "K": f"word{at % 2}"} for at in range(20)]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    masktron.mask(data, rules, out, k=4, roles={"NAME": "identifier"}, nominal=["K"])
    outcome = run("assess", out, "--original", data, "--manifest", manifest, "--json", tmp_path / "a.json")
    assert outcome.code == 0
    text = " ".join(outcome.out.split())
    for figure in FIGURES:
        assert figure.name in text  # those of classes and of keys stand in a note
        assert (figure.meaning in text) is not bool({"class", "earlier", "keys"} & {*figure.needs})
    everything = outcome.out + (tmp_path / "a.json").read_text()
    assert "Here most in A." in text
    assert not re.search(r"name\d|word\d|70\d\d\d\d\d", everything)


# what does not fit


def test_files_that_do_not_belong_together_are_refused(survey: Survey, tmp_path: Path) -> None:
    survey.out.write_text(survey.out.read_text().replace("<Record>", "<Record >", 1))
    with refused(UsageError, "not-of-one-run"):
        survey.assess()
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    other = Survey(fresh)
    other.data.write_text(other.data.read_text().replace("<Record>", "<Record >", 1))
    with refused(UsageError, "not-of-one-run"):
        other.assess()
    assert other.assess(manifest=False, measures=["unchanged"])


@pytest.mark.parametrize(
    ("masked", "original", "kind", "code"),
    [
        ("<D><R><A>1</A></R><R><A>2</A></R></D>", "<D><R><A>1</A></R></D>", UsageError, "not-of-one-run"),
        ("<D><R><A>1</A></R></D>", "<D><R><B>1</B></R></D>", UsageError, "not-of-one-run"),
        ("<D><R><A/></R></D>", "<D><R><A/></R></D>", UsageError, "not-of-one-run"),
        ("<D><R><A>1</A><A>2</A></R></D>", "<D><R><A>1</A></R></D>", DocumentError, "records-not-flat"),
        ("<D><R><A>1</A></R></D>", "<D><R><A><B>1</B></A></R></D>", DocumentError, "records-not-flat"),
        ("<D><R><A>1</A></R></D>", "<D><R><A>1</A>", DocumentError, "not-well-formed"),
        ("<D><R><A>1</A></R></D>", "", DocumentError, "empty-file"),
    ],
)
def test_layouts_that_do_not_fit(
    masked: str, original: str, kind: type[MasktronError], code: str, tmp_path: Path
) -> None:
    (tmp_path / "m.xml").write_text(masked)
    (tmp_path / "o.xml").write_text(original)
    with refused(kind, code):
        masktron.assess(tmp_path / "m.xml", tmp_path / "o.xml", record="R")


def test_other_names_of_records_are_refused(tmp_path: Path, run: Runner) -> None:
    masked = write_data(tmp_path / "m.xml", numbers(5), record="Person")
    original = write_data(tmp_path / "o.xml", numbers(5))
    outcome = run("assess", masked, "--original", original)
    outcome.refuses(2, "unknown-name", name="Person")


def test_wrong_arguments(survey: Survey, tmp_path: Path, run: Runner) -> None:
    for call, says in (
        (lambda: survey.assess(measures="linkage"), "measures must be a list of names"),
        (lambda: survey.assess(measures=["linkage", 5]), "measures must be a list of names"),
        (lambda: survey.assess(measures=5), "measures must be a list of names"),
        (lambda: survey.assess(class_field=5), "class_field must be a name"),
        (lambda: survey.assess(class_field="Cx"), "did you mean C"),
        (lambda: survey.assess(manifest=False, roles={"Idd": "record-id"}), "did you mean Id"),
        (lambda: masktron.assess(survey.data, survey.data, roles={"T": "weight"}), "weight 'T'"),
        (lambda: masktron.assess(pd.DataFrame({"A": [1]}), survey.data, manifest="m.json"), "describes files"),
        (lambda: masktron.assess(5, survey.data), "masked must be a path"),  # type: ignore[arg-type]
    ):
        if says == "weight 'T'":
            survey.data.write_text(re.sub("<T>.*?</T>", "<T>0</T>", survey.data.read_text(), count=1))
            with refused(DocumentError, "bad-weights"):
                call()
            continue
        with pytest.raises(UsageError) as caught:
            call()
        assert says in str(caught.value)
    assert run("assess", survey.out).code == 2
    assert run("assess", tmp_path / "no.xml", "--original", survey.data).code == 4
    assert run("assess", tmp_path / "no.xml", "--original", survey.data, "--manifest", survey.manifest).code == 4
    assert run("assess", survey.out, "--original", survey.data, "--json", survey.out).code == 2
    assert run("assess", survey.out, "--original", survey.data, "--manifest", survey.data).code == 2


@pytest.mark.parametrize(
    "spoil",
    [
        lambda content: content["plan"]["fields"][2].update(numeric="yes"),
        lambda content: content["plan"]["fields"][2].pop("codes"),
        lambda content: content["result"]["blocks"][0].update(groups=-1),
        lambda content: [block.update(copied=10**6) for block in content["result"]["blocks"]],
        lambda content: content["result"]["blocks"][0].pop("groups"),
    ],
)
def test_a_manifest_that_makes_no_sense_is_refused(survey: Survey, spoil: Callable[[dict[str, Any]], object]) -> None:
    content = json.loads(survey.manifest.read_text())
    spoil(content)
    survey.manifest.write_text(json.dumps(content))
    with refused(UsageError, "not-a-manifest"):
        survey.assess()


# limits


WITHOUT_A_CLASS = [figure for figure in FIGURES if not {"class", "earlier"} & {*figure.needs}]


class Limited:
    """Runs of `mask` and of `check` with limits, from a file of settings and as options."""

    def __init__(self, survey: Survey, folder: Path, run: Runner) -> None:
        self.run, self.settings = run, folder / "masktron.toml"
        check = ("check", survey.out, "-r", survey.rules, "--original", survey.data, "--manifest", survey.manifest)
        mask = ("mask", survey.data, "-r", survey.rules, "-o", folder / "o.xml", "--manifest", folder / "o.json")
        self.commands = (check, mask)

    def outcomes(self, kept: dict[str, float], given: dict[str, float]) -> list[Outcome]:
        roles = '[roles]\nId = "record-id"\nNAME = "identifier"\nW = "weight"\n'
        limits = "".join(f"{name} = {value!r}\n" for name, value in kept.items())
        self.settings.write_text(f'k = 4\nnominal = ["C"]\n{roles}[missing]\nS = ["-9"]\n[limits]\n{limits}')
        options = [word for name, value in given.items() for word in ("--limit", f"{name}={value!r}")]
        return [self.run(*command, "--config", self.settings, *options) for command in self.commands]


@pytest.fixture
def limited(survey: Survey, tmp_path: Path, run: Runner) -> Limited:
    return Limited(survey, tmp_path, run)


def stricter(figure: Any, value: float) -> float:
    """A limit that a figure of this value is just over; negative where none is."""
    return value - max(value, 1e-9) / 1e3 if figure.better == "lower" else value + 0.5


@pytest.mark.full
def test_mask_and_check_take_limits_on_all_figures_together(survey: Survey, limited: Limited) -> None:
    found = survey.assess()
    values = {figure.name: found[figure.name] for figure in WITHOUT_A_CLASS}
    limits = {figure.name: stricter(figure, values[figure.name]) for figure in WITHOUT_A_CLASS}
    over = {name: limit for name, limit in limits.items() if limit >= 0}
    assert len(over) > 20
    assert [outcome.code for outcome in limited.outcomes(values, {})] == [0, 0]
    for outcome in limited.outcomes(values, over):
        said = outcome.out + outcome.err
        assert (outcome.code, {name for name in values if f"{name} is " in said}) == (1, set(over))


def test_mask_computes_what_costs_much_only_for_a_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dear = tuple(replace(one, unasked=0) if one.name == "total_change" else one for one in FIGURES)
    monkeypatch.setattr("masktron.jobs.mask_result.FIGURES", dear)
    assert "total_change" not in figures_of(Survey(tmp_path).result)
    assert "total_change" in figures_of(Survey(tmp_path, limits={"total_change": 100}).result)


def test_an_unknown_limit_is_refused_with_the_nearest_name(survey: Survey, run: Runner) -> None:
    for command in (("check", survey.out), ("mask", survey.data, "-o", survey.out.with_name("n.xml"))):
        outcome = run(*command, "-r", survey.rules, "--limit", "linkages=5")
        outcome.refuses(2, "unknown-name", name="limits.linkages")
    with refused(UsageError, "unknown-name", name="limits.blok_k"):
        masktron.check(survey.out, survey.rules, original=survey.data, limits={"blok_k": 1})
    with refused(UsageError, "bad-value", name="limits.linkage"):
        masktron.check(survey.out, survey.rules, original=survey.data, limits={"linkage": -1})


def test_check_says_which_limits_it_could_not_check(survey: Survey, tmp_path: Path, run: Runner) -> None:
    settings = tmp_path / "limits.toml"
    settings.write_text("[limits]\nlinkage = 0\nblock_k = 2\n")
    bare = ("check", survey.out, "-r", survey.rules, "--config", settings)
    outcome = run(*bare)
    assert outcome.code == 0
    assert "not checked: the limit linkage: needs the original (--original FILE)" in outcome.out
    asked = run(*bare, "--limit", "linkage=5")
    assert (asked.code, code_of(asked.err), "--original" in asked.err) == (2, "needs-setting", True)
    named = run(*bare, "--original", survey.data, "--limit", "block_k=5", "--limit", "linkage=100")
    assert (named.code, code_of(named.err), "--manifest" in named.err) == (2, "needs-setting", True)
    half = run(*bare, "--original", survey.data)
    assert half.code == 1
    assert "not checked: the limit block_k: needs the manifest (--manifest FILE)" in half.out
    assert "problem: linkage is " in half.out


def test_check_does_not_measure_files_that_do_not_fit(survey: Survey, run: Runner) -> None:
    survey.out.write_text(survey.out.read_text().replace("<Record>", "<Record >", 1))
    outcome = run(
        "check", survey.out, "-r", survey.rules, "--original", survey.data, "--manifest", survey.manifest,
        "--limit", "linkage=100",
    )  # fmt: skip
    assert outcome.code == 1
    assert "the limits linkage cannot be checked: these files are not of one run" in outcome.out


def test_check_counts_the_groups_itself(survey: Survey) -> None:
    both = {"original": survey.data, "manifest": survey.manifest}
    result = masktron.check(survey.out, survey.rules, limits={"block_k": 4, "linkage": 100}, **both)
    assert result.complies, result
    assert any(line.startswith("2 figures within the limits (") for line in result.checked)
    assert {"block_k", "linkage", "strongest_linkage"} <= {figure.name for figure in result.figures}
    assert result.figures[0].value == result.min_group
    over = masktron.check(survey.out, survey.rules, limits={"block_k": 61, "linkage": 100}, **both)
    assert over.problems == (f"block_k is {result.min_group}, the limit 61",)
    assert any(line.startswith("1 figure within the limits (") for line in over.checked)


def test_figures_of_a_class_are_for_assess_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from masktron import figures

    class_figure = figures.Figure("of_class", "utility", "lower", "Usual.", needs=("class",))
    monkeypatch.setattr(figures, "FIGURES", (*FIGURES, class_figure))
    with refused(UsageError, "setting-not-usable", name="of_class"):
        refuse_class_limits({"linkage": 1.0, "of_class": 1.0})


def test_the_sense_of_a_limit() -> None:
    def over(name: str, value: float, bound: float) -> bool:
        return bool(list(over_limits([Measured(figure_of(name), value)], {name: bound})))

    assert [over("linkage", value, 5.0) for value in (4.9, 5.0, 5.1, math.nan)] == [False, False, True, True]
    assert [over("block_k", value, 5.0) for value in (4.0, 5.0, 6.0, math.nan)] == [True, False, False, True]
    assert [*map(sentence, over_limits([Measured(figure_of("linkage"), 5.0000001)], {"linkage": 5.0}))] == [
        "linkage is 5.0000001, the limit 5.0"
    ]


def test_the_original_is_read_as_the_manifest_says(tmp_path: Path) -> None:
    """What stands for no value is no number, in neither file."""
    data, rules = tmp_path / "d.csv", write_rules(tmp_path / "r.sch", "A >= 0")
    rows = [f"{100 + 7 * at % 50},{-999999 if at % 9 == 0 else 10 + at}" for at in range(40)]
    data.write_text("\n".join(["A,B", *rows]))
    result = masktron.mask(
        data, rules, tmp_path / "o.csv", k=3, format_options={"null": "-999999"}, invalid="exclude"
    )
    said = {"manifest": result.manifest, "measures": ["total_change", "information_loss"]}
    alone = masktron.assess(tmp_path / "o.csv", data, **said)
    told = masktron.assess(tmp_path / "o.csv", data, format_options={"null": "-999999"}, **said)
    assert alone.as_dict()["figures"] == told.as_dict()["figures"]
