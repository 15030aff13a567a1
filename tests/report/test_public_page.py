"""The page for others: it advises on what it tells, and says on top where it tells nothing of the original."""

from __future__ import annotations

from dataclasses import replace

import pytest
from lxml import html

from masktron.contracts import KINDS
from masktron.report.pages.html import html_of
from masktron.report.pages.public_page import public_page
from masktron.report.protection import PUBLIC_REASONS
from masktron.results.public_release import KeptFigure, PublicField, PublicRelease, PublicRule
from masktron.results.verdict import Statement

TOLD = PublicField(
    "WAGE", masked=True, number=True, block=1, how="mean", mean="0.01", variance=KeptFigure(0.9),
    correlations=KeptFigure(0.02),
)  # fmt: skip
CODE = PublicField("CODE", masked=True, number=False, block=2, how="mode", shares="5")
RELEASE = PublicRelease(
    name="out.csv", checksum="0", rules_checksum="1", rulebook="a.sch", records=500, method="mdav",
    contract="identical-groups", promise="groups of 5", k=5, whole_records=False, random_order=True,
    left_out=0, fields=(TOLD, CODE), removed=(), rules=(), engines=(), versions={},
    protection=Statement("amber", "no-limit", PUBLIC_REASONS["no-limit"]),
)  # fmt: skip
SILENT = (
    replace(TOLD, mean=None, variance=None, correlations=None),
    replace(CODE, shares=None),
)
ADVICE = {
    "mean": "Means, totals and frequencies suffer least",
    "shares": "Means, totals and frequencies suffer least",
    "variance": "standard errors that you compute from this file are too small",
    "correlations": "Correlations and regressions of masked fields are off",
}


def shown(release: PublicRelease) -> tuple[str, str]:
    """Return the text of a page, and what stands on top of it."""
    page = html.fromstring(html_of(public_page(release)))
    return page.xpath("//body")[0].text_content(), page.xpath("//p[@class='lead']")[0].text_content()


def test_what_is_told_has_its_advice() -> None:
    text, top = shown(RELEASE)
    assert "No figure of the original" not in text
    assert "No figure" not in top
    assert all(advice in text for advice in ADVICE.values())


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"records": 60}, "of fewer than 100 records"),
        ({}, "too few groups, or single ones, decide about them"),
        ({"compared": False}, "this page was made without the original"),
    ],
)
def test_where_nothing_is_told_it_is_said_once_on_top_and_nothing_is_advised(
    change: dict[str, int | bool], why: str
) -> None:
    text, top = shown(replace(RELEASE, fields=SILENT, **change))
    assert text.count("No figure of the original is given") == 1
    assert why in top
    assert not [advice for advice in ADVICE.values() if advice in text]
    for gone in ("standard errors", "the table says", "variance kept", "correlations moved", "rounded to two"):
        assert gone not in text.lower()


@pytest.mark.parametrize("figure", ADVICE)
def test_each_advice_is_given_where_its_figure_is(figure: str) -> None:
    field = CODE if figure == "shares" else TOLD
    names = {"mean", "shares", "variance", "correlations"} - {figure}
    text, _ = shown(replace(RELEASE, fields=(replace(field, **dict.fromkeys(names)),)))
    assert {advice for advice in ADVICE.values() if advice in text} == {ADVICE[figure]}


def test_a_file_without_masked_fields_is_not_excused() -> None:
    kept = PublicField("WAGE", masked=False, number=True)
    assert "No figure" not in shown(replace(RELEASE, fields=(kept,)))[1]


def test_codes_and_missing_values_of_the_released_file_are_told() -> None:
    text, _ = shown(RELEASE)
    assert "Missing values" not in text
    text, _ = shown(replace(RELEASE, fields=(replace(TOLD, missing=12, codes=("9998",)), CODE)))
    table = text.partition("Missing values")[2]
    assert "codes that mean missing" in table
    assert [word in table.partition("codes that mean missing")[2][:60] for word in ("WAGE", "12", "9998")] == [
        True
    ] * 3


@pytest.mark.few(2)
@pytest.mark.parametrize("contract", [one.kind for one in KINDS])
def test_no_page_says_that_values_are_those_of_respondents_by_chance_alone(contract: str) -> None:
    drawn = replace(TOLD, how="drawn")
    text, _ = shown(replace(RELEASE, contract=contract, fields=(drawn, CODE)))
    assert "by chance alone" not in text and "not of a respondent" not in text
    assert "A masked value can still be that of the respondent" in text
    if contract != "identical-groups":
        assert "in CODE, the records of a group share one value" in text
    replaced = "the respondent's own" in text
    assert replaced == (contract == "marked-replaced")


def test_fields_that_rules_solve_are_not_said_to_be_shared() -> None:
    text, _ = shown(replace(RELEASE, fields=(replace(TOLD, solved_by="sum"), CODE)))
    assert "share one value in the place of their own ones; WAGE is computed in each record" in text


def test_groups_of_whole_records_are_not_said_to_be_formed_block_by_block() -> None:
    assert "share masked values, block by block" in shown(RELEASE)[0]
    whole = shown(replace(RELEASE, whole_records=True))[0]
    assert "share masked values, in all masked fields" in whole and "block by block" not in whole
    solved = replace(RELEASE, whole_records=True, fields=(replace(TOLD, solved_by="sum"), CODE))
    assert "share masked values, block by block" in shown(solved)[0]


def test_values_below_0_are_told_as_the_file_shows_them() -> None:
    text, _ = shown(replace(RELEASE, fields=(replace(TOLD, below_zero=3), CODE)))
    assert "Values are below 0 in this file: WAGE in 3 records." in text
    assert "below 0" not in shown(RELEASE)[0]


def test_fields_have_the_names_of_the_file() -> None:
    fields = (replace(TOLD, name="annual_x0020_income", how="from annual_x0020_income"), CODE)
    rules = (PublicRule("R1", "linear", "annual_x0020_income >= 0", "annual_x0020_income < 0", False, "holds"),)
    release = replace(RELEASE, fields=fields, rules=rules, removed=("n_x005F_x0020_b", "_xFFFFFF_"))
    text, _ = shown(release)
    assert "annual income" in text and "annual_x0020_income" not in text
    # what is no character stays, and so does what the file itself writes so
    assert "n_x0020_b" in text and "_xFFFFFF_" in text
    text, _ = shown(replace(release, name="out.xml"))
    assert "annual_x0020_income" in text and "annual income" not in text


def test_missing_values_are_told_by_settings_and_the_released_file_alone() -> None:
    def analysis(release: PublicRelease) -> str:
        page = html.fromstring(html_of(public_page(release)))
        return " ".join(page.xpath("//section[@id='analysis']")[0].text_content().split())

    replaced = "missing values may have been replaced by masked ones"
    full = analysis(replace(RELEASE, takes_over=True))
    assert replaced in full and "may be missing" not in full
    some = analysis(replace(RELEASE, takes_over=True, fields=(replace(TOLD, missing=2), CODE)))
    assert f"{replaced}, and stated values may be missing (WAGE)" in some
    assert replaced not in analysis(RELEASE), "--keep-missing"
    assert replaced not in analysis(replace(RELEASE, takes_over=True, contract="values-exchanged"))
    assert replaced not in analysis(replace(RELEASE, takes_over=True, fields=(replace(TOLD, masked=False),)))
    keys = analysis(replace(RELEASE, fields=(TOLD, PublicField("NACE", masked=False, number=False, suppressed=True))))
    assert "Values of NACE may have been left out where keys were rare" in keys


def test_how_the_file_is_written_is_told_with_the_options_that_it_takes() -> None:
    assert "How the file is written" not in shown(RELEASE)[0]
    plain = {"encoding": "utf-8", "delimiter": "comma", "quote": '"', "decimal": "point"}
    assert "masktron reads it without being told" in shown(replace(RELEASE, written_as=plain))[0]
    own = plain | {"encoding": "cp1252", "delimiter": "semicolon", "decimal": "comma", "texts": "NACE,Type of firm"}
    text = shown(replace(RELEASE, written_as=own))[0]
    assert "--format-option encoding=cp1252 --format-option decimal=comma" in text
    assert "--format-option 'texts=NACE,Type of firm'" in text and "semicolon" in text
