"""The values of the original that domain rules ask for, and what groups make of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import masktron
from cli_runner import write_data, write_file, write_rules
from masktron.classify import classify
from masktron.classify.forms import domain_atoms, form_of, holds
from masktron.constraints import InDomain
from masktron.errors import RulebookError
from masktron.judge.domains import domain_values
from masktron.masking import judging
from refusals import refused
from rulebook_builder import rulebook

XML = """<d:Data xmlns:d="urn:d"><d:Record id="7"><d:A>1</d:A><V> x </V></d:Record>
<d:Record id="8"><d:A>2<!-- c -->0</d:A><V/></d:Record></d:Data>"""


@pytest.fixture
def original(tmp_path: Path) -> Path:
    return write_file(tmp_path / "o.xml", XML)


@pytest.mark.parametrize("version", ["1.0", "2.0"])
@pytest.mark.parametrize(
    ("path", "texts"),
    [
        ("//d:A", {"1", "20"}),
        ("/d:Data/d:Record/V", {" x ", ""}),
        ("//d:Record/@id", {"7", "8"}),
        ("//d:Record/V/text()", {" x "}),
        ("//A", set()),
    ],
)
def test_texts_of_the_nodes(path: str, texts: set[str], version: str, original: Path) -> None:
    rules = rulebook([("d:Record", f"V = document('o.xml'){path}")], version=version, namespaces={"d": "urn:d"})  # type: ignore[arg-type]
    (edit,) = classify(rules)
    form = form_of(edit.constraint)
    assert domain_values([form], rules, original) == {InDomain("V", "o.xml", path): frozenset(texts)}
    for text in ("1", " x ", "7", "9"):
        assert holds(form, {"V": text}, domains=domain_values([form], rules, original)) == (text in texts)
    assert len(domain_atoms([form, form])) == 1


def test_the_original_is_opened_only_where_it_is_asked_for(tmp_path: Path) -> None:
    assert domain_values([((),)], rulebook([("Record", "V = 1")]), tmp_path / "nowhere.xml") == {}


@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_a_path_that_cannot_be_evaluated_is_refused(original: Path, version: str) -> None:
    form = ((InDomain("V", "o.xml", "//["),),)
    with refused(RulebookError, "domain-not-read", path="//[", file="o.xml"):
        domain_values([form], rulebook([("Record", "V = 1")], version=version), original)  # type: ignore[arg-type]


def test_groups_part_by_what_is_in_the_domain(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(3)
    rows: list[dict[str, object]] = []
    for at, (a, b) in enumerate(generator.integers(1, 40, size=(120, 2)).tolist()):
        rows.append({"A": a, "B": b, "P": a * b, "S": a + b if at % 3 else a + b + 1 + at % 2})
    tests = ("A * B = P", "A + B = S or A = document('d.xml')//Record/A")
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *tests)
    known = masktron.mask(data, rules, tmp_path / "m.xml", k=4)
    monkeypatch.setattr(judging, "domain_values", lambda *_: {})
    blind = masktron.mask(data, rules, tmp_path / "n.xml", k=4, manifest=tmp_path / "n.json")
    assert known.valid
    assert blind.valid
    assert known.information_loss < blind.information_loss
