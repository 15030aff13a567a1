"""An analysis of a rulebook is made once, and of a changed rulebook anew."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from masktron.errors import UsageError
from masktron.judge.request import EvaluationRequest
from masktron.judge.runner import engines_of
from masktron.judge.tiered import evaluate, tiers_asked
from masktron.rulebook import locality as module
from masktron.rulebook.analysis import once
from masktron.rulebook.locality import locality
from masktron.rulebook.schema import Rulebook
from masktron.rulebook.schematron.reader import read_rules
from masktron.sources.record_layout import Layout
from masktron.sources.xml.plain import survey
from refusals import refused

RULES = """<schema xmlns="http://purl.oclc.org/dsdl/schematron"><pattern><rule context="Record">
<assert id="R1" test="A &lt; 3"/><assert id="R2" test="count(//Record) = 2"/></rule></pattern></schema>"""


@pytest.fixture
def case(tmp_path: Path) -> tuple[Path, Rulebook, Layout]:
    (tmp_path / "rules.sch").write_text(RULES)
    data = tmp_path / "data.xml"
    data.write_text("<Data><Record><A>1</A></Record><Record><A>2</A></Record></Data>")
    return data, read_rules(tmp_path / "rules.sch"), survey(data, record="Record")[0]


def test_an_analysis_is_made_once_for_each_of_its_arguments(case: tuple[Path, Rulebook, Layout]) -> None:
    asked: list[int] = []

    @once
    def doubled(rulebook: Rulebook, number: int = 1) -> int:
        asked.append(number)
        return len(rulebook.checks) * number

    _, book, _ = case
    assert [doubled(book), doubled(book, 3), doubled(book), doubled(book, 3)] == [2, 6, 2, 6]
    assert asked == [1, 3]


def test_what_fails_is_tried_again(case: tuple[Path, Rulebook, Layout]) -> None:
    _, book, layout = case
    later = tuple(replace(pattern, version="2.0") for pattern in book.patterns)
    for _ in range(2):
        with refused(UsageError, "not-supported", construct="XPath 2.0 in libxml2"):
            engines_of(replace(book, patterns=later), layout, "libxml2")


def test_a_changed_rulebook_is_analysed_anew(case: tuple[Path, Rulebook, Layout]) -> None:
    _, book, layout = case
    assert [bool(reason) for reason in locality(book, layout)] == [False, True]
    (pattern,) = book.patterns
    (rule,) = pattern.rules
    checks = tuple(replace(check, test="//A = 1") for check in rule.checks)
    changed = replace(book, patterns=(replace(pattern, rules=(replace(rule, checks=checks),)),))
    assert [bool(reason) for reason in locality(changed, layout)] == [True, True]


def test_a_process_gets_the_rulebook_alone(case: tuple[Path, Rulebook, Layout]) -> None:
    _, book, layout = case
    locality(book, layout)
    locality(book, layout)
    got = pickle.loads(pickle.dumps(book))  # noqa: S301
    assert got == book
    assert book.analyses and not got.analyses


def test_an_evaluation_and_its_tiers_share_what_is_known(
    case: tuple[Path, Rulebook, Layout], monkeypatch: pytest.MonkeyPatch
) -> None:
    path, book, layout = case
    request = EvaluationRequest(path, book, layout)
    first = evaluate(request)
    monkeypatch.setattr(module, "why_not_local", None)
    assert evaluate(request).failed.tolist() == first.failed.tolist() == [0, 0]
    assert [own.reason for own in tiers_asked(request)] == ["", "an absolute path"]
