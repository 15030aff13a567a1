"""Rules across records of large files: engines that are not ours judge them over aggregates that are not ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import masktron
from across_runs import Row, texts, write
from cli_runner import Runner, write_data, write_rules
from masktron.errors import ViolationError
from masktron.evaluation.across import paths, plan, recognise, resolve
from masktron.evaluation.across.collect import Collector
from masktron.evaluation.across.recognise import Recogniser
from masktron.evaluation.exact import evaluate
from masktron.evaluation.recount.recount import Asked, Hand, Recount, Told, asked_of, by_hand, recount
from masktron.evaluation.stylesheet import EngineName
from masktron.jobs import revalidate as module
from masktron.read.records import Layout
from masktron.read.rulebook import Rulebook, XPathVersion
from rulebook_builder import rulebook
from test_across import (
    BOTH,
    CONSTANT,
    DOMAIN,
    FIELDS,
    GOOD,
    LAYOUT,
    LETS,
    NAMESPACED,
    UNIQUE,
    WHOLE,
    book_of,
    in_version,
    plain,
    qualified,
    rows_of,
)

ENGINES: dict[XPathVersion, tuple[EngineName, ...]] = {"1.0": ("libxml2", "saxon"), "2.0": ("saxon",)}


def told_of(
    path: Path,
    book: Rulebook,
    of: Layout,
    engines: Sequence[EngineName],
    original: Path | None = None,
    size: int = 200,
) -> tuple[Told, ...]:
    asked = asked_of(path, book, of, range(len(book.checks)), original)
    assert isinstance(asked, Asked), asked
    return recount(Recount(asked, engines, size, lambda *_: None), by_hand(Hand(asked)))


def compare(
    book: Rulebook, data: Sequence[Row], original: Sequence[Row] | None = None, of: Layout = LAYOUT
) -> list[frozenset[int]]:
    """Assert that what engines recount is what they say of the whole document; return the checks by engine."""
    judged = []
    with TemporaryDirectory() as folder:
        path = write(Path(folder) / "data.xml", of, texts(of, data))
        other = path if original is None else write(Path(folder) / "original.xml", of, texts(of, original))
        engines = ENGINES[book.version]
        for engine, told in zip(engines, told_of(path, book, of, engines, other), strict=True):
            assert not told.objections
            own = sorted(set(range(len(book.checks))) - set(told.left))
            judged.append(frozenset(own))
            if not own:
                continue
            expected = evaluate(path, book, of, original=other, engine=engine)
            assert told.counts is not None
            assert told.counts.records == len(data)
            for name in ("fired", "failed", "errors"):
                assert getattr(told.counts, name)[own].tolist() == getattr(expected, name)[own].tolist(), name
    return judged


odd = st.sampled_from([None, "", "1", "01", "1.0", " 1", "2", "x", "3.25", "-0", "0.1", "1e3", "a&b", "\t2", "é 1"])
rows = st.one_of(rows_of(odd), rows_of(plain))


@pytest.mark.parametrize("version", BOTH)
def test_every_form_is_recounted_on_plain_records(version: XPathVersion) -> None:
    tests = in_version(version)
    wanted = frozenset(i for i, test in enumerate(tests) if "[ID[" not in test)
    assert compare(book_of(tests, version), GOOD) == [wanted] * len(ENGINES[version])


@pytest.mark.parametrize("version", BOTH)
@settings(max_examples=3)
@given(data=rows.filter(bool))
def test_engines_recount_what_they_find_in_the_whole_document(version: XPathVersion, data: list[Row]) -> None:
    compare(book_of(in_version(version), version, message="A"), data)


@pytest.mark.full
@pytest.mark.parametrize("version", BOTH)
@settings(max_examples=150)
@given(data=rows.filter(bool))
def test_engines_recount_what_they_find_in_many_documents(version: XPathVersion, data: list[Row]) -> None:
    compare(book_of(in_version(version), version, message="A"), data)


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("context", ["/", "Records"])
def test_totals_at_the_root_are_recounted(version: XPathVersion, context: str) -> None:
    tests = [t for t in CONSTANT if version != "1.0" or (t in WHOLE and "abs" not in t)]
    tests = [t for t in tests if "+ A" not in t and "preceding" not in t]
    book = book_of(tests, version, context=context, kind="report", message="count(//Record)")
    assert compare(book, GOOD) == [frozenset(range(len(tests)))] * len(ENGINES[version])


@pytest.mark.parametrize("version", BOTH)
def test_variables_fields_and_namespaces_are_recounted(version: XPathVersion) -> None:
    for shared, own, test in LETS:
        for schema, pattern in ((shared, {}), ({}, shared)):
            lets = {"schema_lets": schema, "pattern_lets": pattern, "rule_lets": own}
            found = compare(rulebook([("Record", test)], version=version, **lets), GOOD)  # type: ignore[arg-type]
            assert found == [frozenset({0})] * len(ENGINES[version]) or version != "1.0", test
    patterns = [rulebook([one], version=version).patterns[0] for one in FIELDS]
    checks = [replace(p.rules[0].checks[0], index=i, id=f"R{i}") for i, p in enumerate(patterns)]
    ruled = [replace(p, rules=(replace(p.rules[0], checks=(c,)),)) for p, c in zip(patterns, checks, strict=True)]
    book = replace(rulebook([FIELDS[0]], version=version), patterns=tuple(ruled))
    assert compare(book, GOOD) == [frozenset(range(len(FIELDS)))] * len(ENGINES[version])
    of = replace(NAMESPACED, fields=(replace(NAMESPACED.fields[0], tag="id"), *NAMESPACED.fields[1:]))
    of = replace(of, nsmap=((None, "urn:p"),))
    tests = [qualified(t) for t in (UNIQUE[0], UNIQUE[2], *UNIQUE[14:18], *WHOLE[:8])]
    book = replace(book_of(tests, version, context="p:Record", message="p:ID"), namespaces=(("p", "urn:p"),))
    assert compare(book, GOOD, of=of) == [frozenset(range(len(tests)))] * len(ENGINES[version])


@pytest.mark.parametrize("version", BOTH)
@settings(max_examples=3)
@given(data=rows_of(plain).filter(bool))
def test_values_of_the_original_are_recounted(version: XPathVersion, data: list[Row]) -> None:
    tests = [t if version == "1.0" else t.replace("document(", "doc(") for t in DOMAIN]
    book = replace(book_of(tests, version), documents=("o.xml",))
    # the plan needs an original of several records
    for judged in compare(book, data, [{**row, "@id": f"o{i}"} for i, row in enumerate(GOOD * 3)]):
        assert judged >= {0, 1, 2, 3, 4, 6}


@pytest.mark.parametrize("version", BOTH)
@pytest.mark.parametrize("total", ["sum(//V)", "sum(//Record[A = current()/A]/V)"])
def test_sums_are_bit_by_bit_those_of_each_engine(version: XPathVersion, total: str) -> None:
    data: list[Row] = [
        {"@id": str(i), "ID": str(i), "A": str(i % 3), "V": f"{i * 7919 % 1000}.{i * 104729 % 997}"}
        for i in range(200)
    ]
    left = [f"({total} - {50_000 if '[' not in total else 17_000}) * 1000000000000" for _ in range(1)]
    book = book_of([f"floor({left[0]}) mod 2 = 0", f"floor({left[0]}) mod 16 = 3"], version)
    assert compare(book, data) == [frozenset({0, 1})] * len(ENGINES[version])
