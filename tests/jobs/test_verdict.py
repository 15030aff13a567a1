"""The last word of `mask`: what is protected and what is not, of any method, with the figures that say so."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.measures.assessed import Assessed
from masktron.measures.figures import COMPUTED
from masktron.measures.keys.key_file import KeyFile
from masktron.report.rendering import render, summary_of
from masktron.report.sentences import risk_sentences
from masktron.results import DrawResult, KeyRisk, MaskResult, SolvedResult, UnmovedResult
from schema_files import conforms


@pytest.fixture(scope="module")
def masked(tmp_path_factory: pytest.TempPathFactory) -> MaskResult:
    """A file masked block by block, to be given other figures."""
    folder = tmp_path_factory.mktemp("verdict")
    rows = [{"Id": at, "C": at * at % 89, **row} for at, row in enumerate(numbers(40))]
    data = write_data(folder / "d.xml", rows)
    rules = write_rules(folder / "r.sch", "A + B = T")
    return masktron.mask(data, rules, folder / "out.xml", k=4, roles={"Id": "record-id"})


def told(result: MaskResult, *, unchanged: float | None = None, linked: float | None = None, **changes: Any) -> str:
    given = {"unchanged": unchanged, "strongest_linkage": linked}
    values = {name: value for name, value in given.items() if value is not None}
    changes.setdefault(
        "figures", tuple(replace(one, value=values.get(one.name, one.value)) for one in result.figures)
    )
    return replace(result, **changes).verdict.details


def drawn(unmoved: int = 0, smallest: int | None = None) -> DrawResult:
    groups = None if smallest is None else 8
    return DrawResult(1, groups, smallest, (), None, None, UnmovedResult(0, unmoved, 0, 0))


def test_masking_block_by_block(masked: MaskResult) -> None:
    said = told(masked, linked=99.5, unchanged=37.8, whole_record_k=1)
    assert said == (
        "In each block of masked fields at least 4 records are alike; in all masked fields together some record is "
        "unique. 37.8 % of the masked values are the respondents' own. In a group of 4, any 3 members who pool their "
        "values can compute those of the last one: 4 times the published mean minus their own. An intruder who knows "
        "the true values would re-identify 99.5 % of the records. Of the unmasked fields, Id differs in every record "
        "and identifies it."
    )
    assert "in all masked fields together only 2." in told(masked, whole_record_k=2)
    solved = (replace(masked.blocks[0], solved=(SolvedResult("T", "R1", 0, 0),)), *masked.blocks[1:])
    assert "at least 4 records are alike, solved fields apart;" in told(masked, blocks=solved)


def test_the_figures_are_those_of_the_file(masked: MaskResult) -> None:
    value = {figure.name: figure.value for figure in masked.figures}
    assert masked.risks in masked.verdict.details
    assert f"would re-identify {value['strongest_linkage']:.1f} % of the records." in masked.risks
    assert masked.as_dict()["risks"] == masked.risks
    assert f"{value['unchanged']:.1f} % of the masked values" in masked.verdict.details
    assert masked.as_dict()["verdict"] == masked.verdict.as_dict()
    shown = " ".join(repr(masked).split())
    assert masked.verdict.details in shown
    assert shown.endswith(f"Protection: red. {masked.verdict.protection.reason}")


def test_the_promise_of_one_partition_is_of_whole_records(tmp_path: Path) -> None:
    rows = [{"C": at * at % 89, **row} for at, row in enumerate(numbers(40))]
    data = write_data(tmp_path / "d.xml", rows)
    whole = masktron.mask(data, write_rules(tmp_path / "r.sch", "A + B = T"), tmp_path / "o.xml", k=4, grouping="all")
    assert len(whole.blocks) == 2 and whole.whole_record_k >= 4
    assert whole.promise == "at least 4 records share each combination of the values of all masked fields"
    assert "in each block" not in f"{whole} {render(summary_of(whole))}"


def test_whole_records_in_groups(masked: MaskResult) -> None:
    said = told(masked, whole_record_k=4, linked=11.0, unchanged=3.0, unmasked=())
    assert said.startswith("Each record is the same as at least 3 others in all masked fields. ")


@pytest.mark.parametrize(
    ("contract", "draw", "said"),
    [
        ("partitioned-synthesis", drawn(smallest=6), "Masked values are drawn for groups of at least 6 records."),
        ("noise-added", drawn(), "Noise was added to the masked values."),
        ("model-drawn", drawn(), "Masked values are drawn from a model of the file."),
        ("marked-replaced", drawn(), "and all others are the respondents' own."),
        ("values-exchanged", drawn(), "Masked values changed places among the records."),
    ],
)
def test_methods_that_draw(masked: MaskResult, contract: str, draw: DrawResult, said: str) -> None:
    masked = replace(masked, blocks=tuple(replace(block, aggregator="drawn") for block in masked.blocks))
    found = told(masked, contract=contract, draw=draw, linked=60.0, unchanged=1.0)
    assert said in found
    assert "alike" not in found


def test_values_that_only_one_respondent_has_are_told_of_methods_that_draw(masked: MaskResult) -> None:
    figures = tuple(replace(one, value=12.34) if one.name == "sole_values" else one for one in masked.figures)
    said = told(masked, contract="model-drawn", draw=drawn(), figures=figures)
    assert (
        "12.3 % of the published numbers are the true value of exactly one respondent. Somebody who knows such a "
        "value can tell from it that this respondent took part."
    ) in said
    assert "exactly one respondent" not in told(masked, figures=figures), "means are no draws"


@pytest.mark.parametrize(
    ("smallest", "said"),
    [
        (2, "In a group of 2, either member can compute the values of the other: 2 times the published mean"),
        (4, "In a group of 4, any 3 members who pool their values can compute those of the last one: 4 times the"),
        (5, ""),
    ],
)
def test_the_last_member_of_a_small_group_of_means(masked: MaskResult, smallest: int, said: str) -> None:
    def found(aggregator: str) -> str:
        blocks = tuple(replace(one, min_group=smallest, aggregator=aggregator) for one in masked.blocks)
        return told(masked, blocks=blocks)

    assert said in found("mean")
    assert ("minus their own" in found("derive")) is bool(said)
    assert "In a group of" not in found("median") + found("drawn")


def test_records_that_come_out_as_they_went_in(masked: MaskResult) -> None:
    assert "1 record comes out as it went in" in told(
        masked, contract="model-drawn", draw=drawn(unmoved=1), linked=1.0, unchanged=1.0
    )
    said = told(masked, contract="model-drawn", draw=drawn(unmoved=47), linked=1.0, unchanged=1.0)
    assert "1.0 % of the masked values are the respondents' own and 47 records come out as they" in said


@pytest.mark.parametrize(
    ("linked", "said"), [(99.97, "99.9 %"), (100.0, "100 %"), (0.0, "0 %"), (0.04, "less than 0.1 %")]
)
def test_neither_all_nor_nothing_unless_it_is_so(masked: MaskResult, linked: float, said: str) -> None:
    assert f"would re-identify {said} of the records." in told(masked, linked=linked, unchanged=1.0)


def test_without_numbers_and_without_values(masked: MaskResult) -> None:
    said = told(masked, linkage=math.nan, unchanged=12.0)
    assert "12.0 % of the masked values are the respondents' own; linkage is of numbers, and none are masked." in said
    said = told(masked, linkage=math.nan, unchanged=math.nan)
    assert "No masked field has a value that could be compared." in said


def test_rules_that_were_not_tested_or_let_go(masked: MaskResult) -> None:
    rules = replace(masked, allowed=("a", "b"), let_go=("b",)).verdict.rules
    assert rules.reason == "Every rule holds, but for a, b, let go and not judged; 1 of 1 rule tested."
    assert rules.level == "amber"
    assert replace(masked, allowed=("a",)).verdict.rules.level == "green", "a warning"
    assert "A, B, C, D, E, F and 2 more." in told(masked, unmasked=(*"ABCDEFGH",))


JOINED = ("A + B = T", "A >= 0 and (D = 'x' or D = 'y')")
GROUPED = "A, B, T, D are masked in groups of at least"


@pytest.mark.parametrize(
    ("method", "promised", "said"),
    [
        ("noise", "noise with 13.0435 % of the variance of the original is part of every", "noise was added to E"),
        ("muralidhar_sarathy", "noise with 19 % of the variance of", "noise was added to E"),
        ("ipso", "every drawn value is from a model", "E is drawn from a model of the file"),
    ],
)
def test_a_category_keeps_the_fields_of_its_block_from_being_drawn(
    method: str, promised: str, said: str, tmp_path: Path
) -> None:
    rows = [{**row, "D": "xy"[at % 2], "E": 3 + at % 7} for at, row in enumerate(numbers(60))]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *JOINED)
    result = masktron.mask(data, rules, tmp_path / "out.xml", method=method, k=3, nominal=["D"], numeric=["E"])
    conforms(result.as_dict(), "mask")
    assert [block.drawn for block in result.blocks] == [False, True]
    least = result.blocks[0].min_group
    assert f"{said[0].upper()}{said[1:]}, and {GROUPED} {least} records." in result.verdict.details
    page = " ".join(repr(result).split())
    assert "every record has values of its own;" not in page
    assert f"every record has values of its own in E; {GROUPED} {least} records (k = 3)" in page
    assert result.promise.startswith(promised)
    assert result.promise.endswith(f"; E is drawn, and {GROUPED} {least} records")
    assert (
        f"{method} draws numbers alone, and no block that holds categories: E is drawn, and {GROUPED} {least} records"
        in " ".join(result.notes)
    )
    assert "masked values" not in result.promise + result.verdict.details.partition(". ")[0]


@pytest.mark.parametrize(
    ("contract", "said"),
    [
        ("partitioned-synthesis", "A is drawn for groups of at least 6 records, and C, E are masked in groups of at"),
        ("marked-replaced", "values of A beyond the thresholds are replaced, and the others are the"),
        ("values-exchanged", "values of A changed places among the records, and C, E are masked in groups of at"),
    ],
)
def test_other_methods_that_draw_some_fields(masked: MaskResult, contract: str, said: str) -> None:
    first = masked.blocks[0]
    blocks = (
        replace(first, variables=("A",), aggregator="drawn"),
        replace(first, variables=("C",), min_group=5),
        replace(first, variables=("E",), min_group=4),
    )
    result = replace(masked, contract=contract, draw=drawn(smallest=6), blocks=blocks, min_group=4)
    assert result.verdict.details.startswith(f"{said[0].upper()}{said[1:]}")
    assert "C, E are masked in groups of at least 4 records." in result.verdict.details
    page = " ".join(repr(result).split())
    assert "values of A drawn for 8 groups of at least 6 records; C, E are masked in groups of at least 4" in page


ORDERED = "The records stand in the order of the original: whoever has another file of them in that order"


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("fields", "settings", "said"),
    [
        ((), {"order": "keep"}, True),
        ((), {"order": "random"}, False),
        ((), {}, False),
        (("Id",), {"order": "keep"}, False),
        (("Id",), {}, False),
        (("W",), {"order": "keep"}, True),
        (("W",), {"order": "random"}, False),
    ],
)
def test_the_order_of_the_original_links_every_record(
    fields: tuple[str, ...], settings: dict[str, Any], said: bool, tmp_path: Path
) -> None:
    """Id is sorted and W is not; both differ in every record."""
    rows = [{"Id": at, "W": 7 * at % 20, "U": at % 2, **row} for at, row in enumerate(numbers(20))]
    data = write_data(tmp_path / "d.xml", [{n: v for n, v in row.items() if n in (*fields, *"UABT")} for row in rows])
    roles = {"U": "untouched", **dict.fromkeys(fields, "record-id")}
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles=roles, **settings)
    assert (ORDERED in result.verdict.details) is said
    assert result.original_order is said
    assert result.identifying == fields
    plain = result.as_dict()
    conforms(plain, "mask")
    assert (plain["original_order"], plain["identifying"]) == (said, list(fields))
    unmasked = (
        f"Of the unmasked fields, {fields[0]} differs in every record and identifies it; the others may identify as "
        "well: U."
        if fields
        else "Unmasked fields may identify by themselves: U."
    )
    assert unmasked in result.verdict.details
    assert 2 <= result.verdict.details.count(". ") + 1 <= 8


def test_the_order_that_a_rule_reads(tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", [{**row, "U": 1} for row in numbers(20)])
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "not(preceding-sibling::Record[1]/U > U)")
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles={"U": "untouched"})
    assert (
        f'{ORDERED}, such as the last release, links every record; order="random" writes a random order'
        in result.verdict.details
    )


def test_what_was_reached_for_keys_is_said_in_the_place_of_what_they_may_do(tmp_path: Path) -> None:
    rows = [{"AGE": 16 + at * 7 % 30, "SEX": "mf"[at % 2], "U": at % 3, **row} for at, row in enumerate(numbers(48))]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A + B = T")
    roles = {"AGE": "quasi-identifier", "SEX": "quasi-identifier", "U": "untouched"}
    for recode in ({}, {"AGE": "width:10"}):
        out = tmp_path / f"out{len(recode)}.xml"
        said = masktron.mask(data, rules, out, k=3, roles=roles, recode=recode).verdict.details
        sizes = pd.read_xml(out).groupby(["AGE", "SEX"]).size()
        alone, found = int((sizes == 1).sum()), 100 * len(sizes) / len(rows)
        assert (alone > 0) is not bool(recode)
        alike = (
            f"{alone} of 48 records are unique in AGE and SEX"
            if alone
            else f"Each record shares AGE and SEX with at least {sizes.min() - 1} others"
        )
        assert alike in said
        assert (
            f"An intruder who knows AGE, SEX and who took part would re-identify {found:.1f} % of the records."
            in said
        )
        assert said.endswith("; the others may identify as well: U.")
        assert "may identify by themselves" not in said
        assert 2 <= said.count(". ") + 1 <= 8


def with_keys(masked: MaskResult, keys: KeyFile, **figures: float) -> MaskResult:
    """A result with other keys, what these tell, and no other figure but those that are given."""
    told_by_keys = {
        name: float(COMPUTED[name](Assessed({}, {}, (), keys.columns, keys=keys)))  # type: ignore[arg-type]
        for name in ("global_risk", "prosecutor_risk")
    }
    made = tuple(
        replace(masked.figures[0], name=name, value=value) for name, value in (told_by_keys | figures).items()
    )
    return replace(masked, unmasked=keys.names, identifying=(), keys=KeyRisk.of(keys), figures=made)


@pytest.mark.parametrize(("weight", "first"), [(20.0, "1[0-9]"), (100_000.0, "less than 0")])
def test_of_a_sample_both_risks_are_said_however_small_the_first_is(
    masked: MaskResult, weight: float, first: str
) -> None:
    """40 unique records, of which few are found unless the intruder knows who took part: then all."""
    codes = {"V": np.arange(40, dtype=np.int32)}
    said = with_keys(
        masked, KeyFile(("V",), codes, True, None, np.full(40, weight)), strongest_linkage=81.5
    ).verdict.details
    assert re.search(rf"An intruder who knows V is expected to re-identify {first}[.]. % of the records[.] ", said)
    assert "One who also knows who took part would re-identify 100 %." in said
    assert "One who also knows the true values would re-identify 81.5 %." in said
    assert "40 of 40 records are unique in V" in said


def test_keys_that_differ_in_every_record_and_who_knows_more(masked: MaskResult) -> None:
    codes = {"V": np.zeros(40, np.int32), "W": np.arange(40, dtype=np.int32)}
    found = replace(with_keys(masked, KeyFile(("V", "W"), codes, True)), identifying=("W",))
    assert (
        "An intruder who knows V, W and who took part would re-identify 100 % of the records."
        in found.verdict.details
    )
    assert found.verdict.details.endswith(
        "Of the unmasked fields, W differs in every record and identifies it; 40 of 40 records are unique in V and W."
    )
    pair = KeyFile(("V",), {"V": np.repeat(np.arange(20, dtype=np.int32), 2)}, True)
    assert with_keys(masked, pair).verdict.details.endswith("Each record shares V with at least 1 other one.")
    unstated = KeyFile(("V",), {"V": np.zeros(40, np.int32)}, False)
    said = with_keys(masked, unstated).verdict.details
    assert "An intruder who knows V and who took part would re-identify 2.5 % of the records." in said
    assert said.endswith("by themselves: V.")


def test_an_estimate_has_its_interval_in_text_and_json(masked: MaskResult) -> None:
    figures = tuple(
        replace(one, value=48.8, interval=(44.4, 53.2)) if one.name == "strongest_linkage" else one
        for one in masked.figures
    )
    found = replace(masked, figures=figures)
    assert (
        "re-identify 48.8 % of the records (estimated from a sample of records; 95 % interval 44.4 to 53.2 %; "
        "linking the whole file at once may find more)." in (found.verdict.details)
    )
    assert "strongest_linkage 48.800 % (44.4 to 53.2)" in " ".join(repr(found).split())
    plain = found.as_dict()
    conforms(plain, "mask")
    assert {one["figure"]: one["interval"] for one in plain["figures"]}["strongest_linkage"] == [44.4, 53.2]


def test_seven_keys_are_counted_and_unknown_ones_have_a_name() -> None:
    said = risk_sentences({"prosecutor_risk": 5.0}, [*"ABCDEFGH"])
    assert said.startswith(
        "An intruder who knows A, B, C, D, E, F, 2 more fields and who took part would re-identify"
    )
    assert risk_sentences({"prosecutor_risk": 5.0, "global_risk": 5.0}).startswith(
        "An intruder who knows the quasi-identifiers and who took part"
    )
    assert risk_sentences({"strongest_linkage": math.nan}) == ""


def test_unmasked_fields_that_identify(masked: MaskResult) -> None:
    said = told(masked, unmasked=("V", "W"), identifying=("V", "W"))
    assert said.endswith("Of the unmasked fields, V, W differ in every record and identify it.")
    assert masked.identifying == ("Id",)


def test_rules_that_read_a_removed_field(tmp_path: Path) -> None:
    """A rule that cannot hold, as its field is gone, does not hold."""
    rows = [{"N": f"name{at}", "C": at % 5, **row} for at, row in enumerate(numbers(20))]
    data = write_data(tmp_path / "d.xml", rows)
    rules = write_rules(tmp_path / "r.sch", "A + B = T", "string-length(N) > 2", "C > 50")
    rules.write_text(rules.read_text().replace('id="R3"', 'id="R3" role="warning"'))
    result = masktron.mask(data, rules, tmp_path / "out.xml", k=3, roles={"N": "identifier"})
    said = "very rule holds, but for R2, which reads the removed identifier N, and R3, let go and not judged"
    assert result.verdict.rules.level == "green"
    assert result.verdict.rules.reason.startswith(f"E{said}; ")


def test_several_rules_that_read_removed_fields(masked: MaskResult) -> None:
    same = {"a": "reads the removed identifier N", "b": "reads the removed identifier N"}
    said = replace(masked, not_applicable=same).verdict.rules.reason
    assert "but for a, b, each of which reads the removed identifier N; " in said
    other = {**same, "c": "reads the removed identifier M, N"}
    said = replace(masked, not_applicable=other).verdict.rules.reason
    assert "but for a, b, c, which read removed identifiers; " in said
