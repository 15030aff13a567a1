"""masktron in Python: paths, texts and data frames in, results that explain themselves out, wrong types refused."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import masktron
from cli_runner import numbers, write_data, write_file, write_rules
from examples import parts
from masktron.errors import UsageError
from masktron.jobs.originals import InvalidOriginalError
from masktron.sources.opening import open_source
from masktron.sources.tables.frames import standing_for
from masktron.trust import trust_of
from paths import ROOT
from refusals import refused


@pytest.fixture
def frame() -> pd.DataFrame:
    return pd.DataFrame(numbers())


@pytest.fixture
def rules(tmp_path: Path) -> Path:
    return write_rules(tmp_path / "rules.sch", "A + B = T")


def test_paths_texts_and_frames_are_the_same(frame: pd.DataFrame, rules: Path, tmp_path: Path) -> None:
    data = write_data(tmp_path / "d.xml", numbers())
    by_path, by_text, by_frame = (masktron.validate(source, rules) for source in (data, str(data), frame))
    assert by_path.as_dict() == by_text.as_dict()
    assert by_frame.as_dict() == {**by_path.as_dict(), "data": "data frame"}
    explained = masktron.explain(str(rules), frame)
    fields = explained.as_dict().pop("fields")
    assert [(one["name"], one["role"]) for one in fields] == [(name, "confidential") for name in "ABT"]
    assert {**explained.as_dict(), "fields": []} == masktron.explain(rules, data).as_dict()
    out = tmp_path / "m.xml"
    masktron.mask(data, rules, out, k=4, order="keep")
    masked = masktron.mask(frame, rules, k=4, order="keep")
    assert masked.data is not None
    written = masktron.mask(frame, rules, tmp_path / "n.xml", manifest=tmp_path / "n.json", k=4, order="keep")
    assert written.data is not None
    pd.testing.assert_frame_equal(masked.data, written.data)
    assert masktron.validate(masked.data, rules).valid
    assert (masked.data.groupby(list("ABT")).size() >= 4).all()
    assert re.findall(r"\d+", out.read_text()) == masked.data.astype(str).to_numpy().ravel().tolist()


def _typed(n: int = 24) -> pd.DataFrame:
    """One column of each kind of type, with A + B = T, labels that are no XML names and an index of texts."""
    at = np.arange(n)
    gaps = at % 6 == 1
    part = pd.Series((at * 37) % 50).astype("int16")
    return pd.DataFrame(
        {
            "A": part,
            "B": part.astype("int16") + 3,
            "T": (2 * part + 3).astype("int16"),
            "annual income": pd.Series(1000.25 + at, dtype="float32"),
            2024: pd.Series(np.sqrt(at + 0.5), dtype="float32"),
            "Int": pd.Series(at * 3, dtype="Int64").mask(gaps),
            "flag": at % 12 == 0,
            "code": pd.Categorical(at % 7, categories=[6, 5, 4, 3, 2, 1, 0, 9], ordered=True),
            "region": pd.Series(list("stuvxyz" * 4)[:n], dtype="category"),
            "day": pd.date_range("2024-01-01", periods=n, tz="Europe/Rome"),
            "zip": pd.Series([f"0{i}" for i in at % 7], dtype="string"),
            "money": pd.Series([Decimal(int(i) * 7).scaleb(-2) for i in at], dtype=object).mask(gaps, None),
            "name": [f"n{i}" for i in at],
        },
        index=None,
    ).set_axis(pd.Index([f"r{i}" for i in at], name="person"))


ROLES = {"name": "identifier", "day": "untouched", "region": "confidential", "zip": "confidential"}


def test_a_masked_frame_has_the_types_and_the_index_that_went_in(rules: Path, tmp_path: Path) -> None:
    before = _typed()
    broken = before.index[[2, 5]]
    before.loc[broken, "T"] -= 1
    out = tmp_path / "m.xml"
    result = masktron.mask(before, rules, out, k=4, roles=ROLES, invalid="exclude", manifest=tmp_path / "m.json")
    after = result.data
    assert after is not None
    kept = before.drop(index=broken, columns="name")
    for name in ("code", "region"):  # categories that no released record has are gone
        gone = set(kept[name].cat.categories) - set(after[name].cat.categories)
        assert gone == set(kept[name].cat.categories) - set(after[name].unique())
        kept[name] = kept[name].cat.remove_categories(sorted(gone))
    pd.testing.assert_series_equal(after.dtypes, kept.dtypes)
    assert after.index.name == "person"
    assert sorted(after.index) == sorted(kept.index)
    kept = kept.loc[after.index]
    pd.testing.assert_series_equal(after["day"], kept["day"])
    assert [label for label in after if not after[label].equals(kept[label])] == [*kept.columns.drop(["day"])]
    assert (after["A"] + after["B"] == after["T"]).all()
    assert masktron.validate(after, rules).valid
    again, written = (open_source(path).records() for path in (standing_for(after), out))
    assert {name: column.lexemes.tolist() for name, column in again.columns.items()} == {
        name: column.lexemes.tolist() for name, column in written.columns.items()
    }
    notes = " ".join(result.notes)
    assert "'annual income' is annual_x0020_income, '2024' is _x0032_024" in notes
    assert "reset_index(drop=True)" in notes


def test_texts_that_look_like_numbers_are_texts_in_a_frame(rules: Path) -> None:
    frame = _typed()[["A", "B", "T", "zip"]]
    with refused(UsageError, "no-role", fields=("zip",)):
        masktron.mask(frame, rules, k=4)
    assert "[no-role]" in str(masktron.explain(rules, frame, k=4).obstacle)
    mixed = frame.assign(zip=pd.Series([1, "1"] * 12, index=frame.index, dtype=object))
    with refused(UsageError, "frame-column", field="zip"):
        masktron.mask(mixed, rules, k=4)
    masked = masktron.mask(mixed, rules, k=4, roles={"zip": "untouched"}).data
    assert masked is not None
    pd.testing.assert_series_equal(masked["zip"].loc[mixed.index], mixed["zip"])


def test_drawn_values_are_those_that_the_type_of_a_column_holds(rules: Path) -> None:
    frame = _typed()[["A", "B", "T"]].assign(C=np.where(np.arange(24) % 2, 127, -128).astype("int8"))
    # the variance is kept, so not all draws can lie between the two values
    options: Any = {"method": "muralidhar_sarathy", "k": 4, "numeric": ["C"]}
    masked = masktron.mask(frame, rules, **options).data
    assert masked is not None
    assert (masked["C"].dtype, masked["C"].max()) == ("int8", 127)
    wider = masktron.mask(frame.astype({"C": "Int64"}), rules, **options).data
    assert wider is not None
    assert (wider["C"].dtype, wider["C"].max() > 127) == ("Int64", True)


def test_frames_are_put_together_by_their_index() -> None:
    before = pd.DataFrame({"A": [1, 2, 30, 40], "K": ["x", "x", "y", "z"]}, index=list("abcd"))
    after = before.assign(A=[1, 2, 30, 41]).iloc[[3, 1, 0]]
    result = masktron.assess(after, before, measures=["unchanged"])
    assert result["unchanged"] == pytest.approx(100 * 5 / 6)
    assert "put together by their index" in result.notes[0]
    shuffled = before.iloc[[3, 1, 0, 2]].reset_index(drop=True)
    by_position = masktron.assess(
        shuffled, before.reset_index(drop=True), measures=["unchanged"], roles={"A": "confidential"}, same_order=True
    )
    assert by_position["unchanged"] == 25.0
    assert "put together by their index" not in " ".join(by_position.notes)


def test_no_result_or_message_shows_a_temporary_file(frame: pd.DataFrame, rules: Path, tmp_path: Path) -> None:
    masked = masktron.mask(frame, rules)
    assert (masked.output, masked.manifest) == ("", "")
    named = frame.assign(NAME="x")
    broken = frame.assign(T=-1)
    texts = [
        repr(masked),
        repr(masktron.validate(frame, rules)),
        repr(masktron.explain(rules, named)),
        repr(masktron.check(masked.data, rules, original=frame)),  # type: ignore[arg-type]
    ]
    for source in (named, broken):
        with pytest.raises(masktron.MasktronError) as caught:
            masktron.mask(source, rules)
        texts.append(str(caught.value))
    assert not [text for text in texts if "masktron-" in text]
    assert "data frame: NAME has no role" in texts[-2]
    assert "data frame: 40 of 40" in texts[-1]
    assert isinstance(caught.value, InvalidOriginalError)
    assert caught.value.result.data == "data frame"
    assert not [path.name for path in tmp_path.iterdir() if path.suffix != ".sch"]


def test_findings_carry_record_key_line_and_message(tmp_path: Path, rules: Path) -> None:
    rows = [{"@id": None, **row, "Id": f"K{at}"} for at, row in enumerate(numbers())]
    rows[6]["T"] = -1
    data = write_data(tmp_path / "d.xml", [{k: v for k, v in row.items() if k != "@id"} for row in rows])
    (finding,) = masktron.validate(data, rules, record_id="Id").findings
    assert (finding.rule, finding.record, finding.record_id, finding.line) == ("R1", 7, "K6", 8)
    assert finding.location == "/Data/Record[7]"
    assert masktron.validate(data, rules).findings[0].record_id is None
    assert masktron.validate(data, rules, max_findings=0).findings == ()


WRONG: list[tuple[Callable[[pd.DataFrame, Path], object], str]] = [
    (lambda f, r: masktron.mask(f, r, kk=5), "unknown-name"),
    (lambda f, r: masktron.mask(f, r, config={"k": 5}), "bad-value"),  # type: ignore[arg-type]
    (lambda _, r: masktron.mask(5, r, "o.xml"), "bad-value"),  # type: ignore[arg-type]
    (lambda _, r: masktron.mask("d.xml", r), "needs-setting"),
    (lambda f, r: masktron.mask(f, r, out=5), "bad-value"),  # type: ignore[arg-type]
    (lambda f, r: masktron.mask(f, r, manifest=5), "bad-value"),  # type: ignore[arg-type]
    (lambda f, _: masktron.mask(f, f), "bad-value"),  # type: ignore[arg-type]
    (lambda _, r: masktron.validate([1], r), "bad-value"),  # type: ignore[arg-type]
    (lambda f, _: masktron.validate(f, None), "no-rules"),
    (lambda f, r: masktron.validate(f, r, original=5), "bad-value"),  # type: ignore[arg-type]
    (lambda f, r: masktron.validate(f, r, phase=5), "bad-value"),  # type: ignore[arg-type]
    (lambda f, r: masktron.validate(f, r, max_findings=-1), "bad-value"),
    (lambda f, r: masktron.explain(r, f, config=3), "bad-value"),  # type: ignore[arg-type]
    (lambda f, r: masktron.check(f, r, manifest="m.json"), "setting-not-usable"),
    (lambda f, r: masktron.check("d.xml", r, manifest=5), "bad-value"),  # type: ignore[arg-type]
    (lambda f, r: masktron.check("d.xml", r, record=5), "bad-value"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "code"), WRONG)
def test_wrong_arguments_are_usage_errors(
    call: Callable[[pd.DataFrame, Path], object], code: str, frame: pd.DataFrame, rules: Path
) -> None:
    with refused(UsageError, code):
        call(frame, rules)


def test_settings_are_taken_in_the_forms_that_python_has(frame: pd.DataFrame, rules: Path) -> None:
    coded = frame.assign(C=[-9] * 10 + list(range(30)))
    for missing in ({"C": [-9]}, {"C": "-9"}, ["-9"], {"C": frozenset({"-9"})}):
        result = masktron.mask(coded, rules, k=4, missing=missing, roles={"A": masktron.Role.CONFIDENTIAL})
        assert result.data is not None
        assert (result.data["C"].isna() | (result.data["C"] == -9)).sum() == 10
    base = masktron.Config(k=4, order="keep")
    assert masktron.mask(frame, rules, config=base, k=8).k == 8
    assert masktron.mask(frame, rules, config=base).k == 4


@pytest.mark.parametrize("name", ["validate", "explain", "mask", "check", "assess", "convert"])
def test_functions_have_help_that_names_their_parameters(name: str) -> None:
    function: Any = getattr(masktron, name)
    text = inspect.getdoc(function) or ""
    assert "Raises" in text
    assert "Returns" in text
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b", text), parameter


def _defaults(function: Any) -> dict[str, Any]:
    parameters = inspect.signature(function).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is inspect.Parameter.KEYWORD_ONLY}


@pytest.mark.parametrize("name", ["mask", "explain"])
def test_settings_are_parameters_that_editors_and_help_show(name: str) -> None:
    function: Any = getattr(masktron, name)
    given = _defaults(function)
    settings = {name: getattr(masktron.Config(), name) for name in trust_of(masktron.Config)}
    assert settings.items() <= given.items()
    assert not [one for one in inspect.signature(function).parameters.values() if one.kind is one.VAR_KEYWORD]
    text = inspect.getdoc(function) or ""
    assert text.index("Other Parameters") < text.index("Returns")
    for setting in settings:
        assert re.search(rf"^{setting} : \S", text, re.MULTILINE), setting


def test_assess_takes_the_settings_that_say_what_fields_are(frame: pd.DataFrame) -> None:
    own = {"roles", "missing", "nominal", "ordinal", "numeric", "quasi_identifiers", "record", "workers", "memory"}
    own |= {"format", "format_options", "metadata"}
    own |= {"against", "against_original", "against_manifest", "levels", "tables", "original_tables"}
    assert set(_defaults(masktron.assess)) == {"manifest", "measures", "class_field", "same_order", "config", *own}
    with refused(UsageError, "unknown-name"):
        masktron.assess(frame, frame, role={"A": "record-id"})  # type: ignore[call-arg]
    # the others have no say in it, so that the settings of a run may be given as they are
    settings: Any = {"k": 5, "roles": {"A": "record-id"}}
    assert masktron.assess(frame, frame, measures=["unchanged"], same_order=True, **settings)["unchanged"] == 100.0


def test_settings_are_read_from_a_name_or_a_path(tmp_path: Path) -> None:
    path = write_file(tmp_path / "masktron.toml", "k = 7")
    assert masktron.load_config(str(path)).k == masktron.load_config(path).k == 7
    with refused(UsageError, "bad-value", name="path"):
        masktron.load_config(5)  # type: ignore[arg-type]


def test_dir_shows_the_interface_alone() -> None:
    assert set(dir(masktron)) == set(masktron.__all__)
    assert all(hasattr(masktron, name) for name in masktron.__all__)
    assert masktron.__version__ == version("masktron")


def test_importing_masktron_is_light() -> None:
    heavy = ("numpy", "pandas", "lxml", "saxonche", "rich")
    code = (
        f"import sys, masktron; dir(masktron); masktron.__version__; print([m for m in {heavy} if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.full
@pytest.mark.parametrize("alone", parts([False, True], 1))
def test_a_user_may_check_types_strictly(tmp_path: Path, alone: bool) -> None:
    """By what `make types` has found of masktron, and from nothing."""
    script = tmp_path / "user.py"
    script.write_text(
        "import pandas as pd\nimport masktron\n"
        'result = masktron.mask(pd.DataFrame({"A": [1]}), "r.sch", k=5, roles={"A": "identifier"})\n'
        "loss: float = result.information_loss\n"
        'i: list[str | None] = [f.record_id for f in masktron.validate("a.xml", "r.sch", record_id="@id").findings]\n'
        'verdict: masktron.CheckResult = masktron.check("a.xml", "r.sch", manifest="m.json")\n'
        'masktron.explain("r.sch", config=masktron.Config(roles={"A": masktron.Role.RECORD_ID}))\n'
        "version: str = masktron.__version__\n"
        'masktron.mask("a.xml", "r.sch", "o.xml", config=masktron.load_config("a.toml"))\n'
        'masktron.mask("a.xml", "r.sch", "o.xml", missing=[-9], numeric=["B"])\n'
    )
    wrong = tmp_path / "wrong.py"
    wrong.write_text(script.read_text().replace("loss: float", "loss: str").replace("k=5", "kk=5"))
    assert (Path(masktron.__file__).parent / "py.typed").is_file()
    settings = () if alone else ("--config-file", str(ROOT / "pyproject.toml"))
    cache, folder = (tmp_path / "cache", tmp_path) if alone else (ROOT / ".mypy_cache", ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *settings, "--cache-dir", str(cache), str(script), str(wrong)],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    found = [line for line in done.stdout.splitlines() if "error:" in line]
    assert done.returncode == 1, done.stderr
    assert {re.split(r"[/\\]|: ", line.partition(": error:")[0])[-1] for line in found} == {
        "wrong.py:3",
        "wrong.py:4",
    }


def test_recodings_of_keys_are_searched_for_files_and_frames(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{"AGE": 16 + at * 7 % 60, "SEX": "mf"[at % 2], "A": at} for at in range(80)]
    hierarchy = write_file(tmp_path / "age.csv", "".join(f"{age};{age // 10 * 10}s;*\n" for age in range(10, 80)))
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "A >= 0", "AGE >= 16")
    more: dict[str, Any] = {"roles": {"SEX": "quasi-identifier"}, "key_k": 2}
    found = masktron.recode(data, rules, {"AGE": hierarchy}, **more, write=tmp_path / "found.toml")
    shared = pd.DataFrame(rows).assign(TEN=lambda one: one["AGE"] // 10).groupby(["TEN", "SEX"]).size()
    assert (found.k, found.after.key_k) == (2, shared.min())
    assert found.recode == {"AGE": f"{hierarchy.as_posix()}:1"}
    of_frame = masktron.recode(pd.DataFrame(rows), rules, {"AGE": str(hierarchy)}, **more)
    assert of_frame.as_dict() == {**found.as_dict(), "data": "data frame"}
    masktron.mask(data, rules, tmp_path / "m.xml", config=masktron.load_config(tmp_path / "found.toml"), **more)
    assert "<AGE>10s</AGE>" in (tmp_path / "m.xml").read_text()


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"hierarchies": ["AGE"]}, "bad-value"),
        ({"hierarchies": {"A": 3}}, "bad-value"),
        ({"hierarchies": {}}, "needs-setting"),
        ({"header": 1}, "bad-value"),
        ({"suppressed": "many"}, "bad-value"),
        ({"loss": "entropie"}, "unknown-name"),
        ({"key_k": 1}, "bad-value"),
    ],
)
def test_what_recode_cannot_be_asked_for_is_refused(
    frame: pd.DataFrame, rules: Path, given: dict[str, Any], code: str
) -> None:
    with refused(UsageError, code) as caught:
        masktron.recode(frame, rules, **{"hierarchies": {"A": "a.csv"}, **given})
    assert "--" not in str(caught.value), "Python has no options"
