"""What a file says of its variables need not be stated again: kinds, missing codes, the weight."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from made_columns import dataset_of
from masktron.config import Config, Kind, Role
from masktron.sources.known_formats import table_format
from masktron.sources.tables.release import Release
from masktron.sources.variable_settings import with_variables
from masktron.sources.variables import Typed, Variable
from paths import SCHEMAS

KEY = bytes(range(32))
ROWS = 60
SAID = {
    "A": Variable("A", "A", "Amount of the first kind", missing={"-9": "not stated"}, kind=Kind.NUMBER),
    "T": Variable("T", "T", "Total", kind=Kind.NUMBER),
    "G": Variable("G", "G", "Group", {"1": "one", "2": "two", "3": "three"}, kind=Kind.NOMINAL),
    "H": Variable("H", "H", "Health", kind=Kind.ORDINAL, order=("1", "2", "3", "4")),
    "W": Variable("W", "W", "Weight", weight=True),
}


def cells() -> dict[str, list[str | None]]:
    draw = np.random.default_rng(7)
    amounts = draw.integers(0, 900, ROWS)
    return {
        "A": ["-9" if at % 11 == 0 else str(amount) for at, amount in enumerate(amounts)],
        "T": [str(amount + 100) for amount in amounts],
        "G": [str(draw.integers(1, 4)) for _ in range(ROWS)],
        "H": [str(draw.integers(1, 5)) for _ in range(ROWS)],
        "W": [f"{1 + at / 4:g}" for at in range(ROWS)],
    }


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules.sch", "T >= A", "T >= 0")


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    found = {name: pa.array(texts, pa.string()) for name, texts in cells().items()}
    path = tmp_path / "survey.sav"
    table_format("spss").write(path, Release.new(dataset_of(tuple(SAID.values()), pa.table(found))))
    return path


@pytest.fixture
def twin(tmp_path: Path) -> Path:
    rows = [dict(zip(cells(), row, strict=True)) for row in zip(*cells().values(), strict=True)]
    return write_data(tmp_path / "twin.xml", rows)


STATED = Config(
    k=3,
    secret=KEY,
    missing={"A": frozenset({"-9"})},
    roles={"W": Role.WEIGHT},
    nominal=("G",),
    ordinal={"H": ("1", "2", "3", "4")},
    numeric=("A", "T"),
)
BARE = Config(k=3, secret=KEY)


@pytest.mark.full
def test_masked_values_and_the_manifest_are_as_if_a_user_had_said_it(
    tmp_path: Path, survey: Path, twin: Path, rules: Path
) -> None:
    result = masktron.mask(survey, rules, tmp_path / "out.sav", config=BARE, max_observed_share=100.0)
    expected = masktron.mask(twin, rules, tmp_path / "out.xml", config=STATED, max_observed_share=100.0,
                             manifest=tmp_path / "xml.json")  # fmt: skip
    assert [(one.name, one.value) for one in result.figures] == [(one.name, one.value) for one in expected.figures]
    own, other = (json.loads((tmp_path / name).read_text()) for name in ("out.manifest.json", "xml.json"))
    assert own["plan"]["fields"] == other["plan"]["fields"]
    for name in ("missing", "roles", "nominal", "ordinal", "numeric"):
        assert own["config"][name] == other["config"][name], name
    assert any("as the file or its description says" in note and "weight: W" in note for note in result.notes)
    for given in ({"manifest": tmp_path / "out.manifest.json"}, {"same_order": True}):
        figures = masktron.assess(tmp_path / "out.sav", survey, **given).figures
        twins = dict(given) if "same_order" in given else {"manifest": tmp_path / "xml.json"}
        settings = STATED if "same_order" in given else Config()
        known = masktron.assess(tmp_path / "out.xml", twin, config=settings, **twins).figures
        assert [(one.name, one.value) for one in figures] == [(one.name, one.value) for one in known]
    checked = masktron.check(tmp_path / "out.sav", rules, original=survey, manifest=tmp_path / "out.manifest.json")
    assert checked.complies, checked.problems


def test_explain_shows_what_the_file_says(survey: Path, rules: Path, run: Runner) -> None:
    result = masktron.explain(rules, survey, config=BARE)
    assert result.obstacle is None
    fields = {field.name: field for field in result.fields}
    assert (fields["A"].label, fields["A"].missing) == ("Amount of the first kind", {"-9": "not stated"})
    assert (fields["G"].kind, fields["G"].labels["1"], fields["H"].kind) == ("nominal", "one", "ordinal")
    assert (fields["W"].role, fields["T"].role) == ("weight", "confidential")
    shown = run("explain", rules, "--data", survey)
    assert "Amount of the first kind" in shown.out
    assert "-9: not stated" in shown.out


def test_a_user_has_the_last_word(survey: Path, rules: Path) -> None:
    told = replace(BARE, missing={"A": frozenset()}, roles={"W": Role.UNTOUCHED}, numeric=("G",), nominal=("H",))
    fields = {field.name: field for field in masktron.explain(rules, survey, config=told).fields}
    assert fields["A"].missing == {}
    assert [fields[name].kind for name in "GH"] == ["number", "nominal"]
    assert fields["W"].role == "untouched"


def test_codes_for_all_fields_are_added_and_have_no_place_in_an_order() -> None:
    said = Variable("H", "H", missing={"9": ""}, kind=Kind.ORDINAL, order=("1", "2", "3"))
    config, _ = with_variables(Config(missing={"*": frozenset({"3"})}), [said])
    assert config.missing == {"*": frozenset({"3"}), "H": frozenset({"9"})}
    assert config.ordinal == {"H": ("1", "2")}


def test_texts_need_labels_or_a_role_and_a_second_weight_is_left_to_the_user() -> None:
    texts = Variable("name", "name", kind=Kind.NOMINAL, typed=Typed(text=True))
    assert with_variables(Config(), [texts]) == (Config(), ())
    assert with_variables(Config(), [replace(texts, labels={"f": "female"})])[0].nominal == ("name",)
    assert with_variables(Config(roles={"name": Role.CONFIDENTIAL}), [texts])[0].nominal == ("name",)
    assert with_variables(Config(roles={"name": Role.IDENTIFIER}), [texts])[0].nominal == ()
    weights = [Variable(name, name, weight=True) for name in ("v", "w")]
    assert with_variables(Config(), weights)[0].roles == {}
    assert with_variables(Config(roles={"x": Role.WEIGHT}), weights[:1])[0].roles == {"x": Role.WEIGHT}
    assert with_variables(Config(), [Variable("s", "s", kind=Kind.NUMBER, typed=Typed(text=True))])[0].numeric == ()


def test_the_result_of_explain_obeys_its_schema(survey: Path, rules: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads((SCHEMAS / "explain.schema.json").read_text())
    jsonschema.validate(masktron.explain(rules, survey, config=BARE).as_dict(), schema)
