"""masktron in Python: paths, texts and data frames in, results that explain themselves out, wrong types refused."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import masktron
from cli_runner import numbers, write_data, write_rules
from masktron.errors import UsageError
from masktron.jobs.originals import InvalidOriginalError


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
    assert explained.as_dict() == masktron.explain(rules, data).as_dict()
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
    assert not [text for text in texts if "frame.xml" in text or "masktron-" in text]
    assert "data frame: the text field 'NAME'" in texts[-2]
    assert "data frame: 40 of 40" in texts[-1]
    assert isinstance(caught.value, InvalidOriginalError)
    assert caught.value.result.data == "data frame"
    assert not [path.name for path in tmp_path.iterdir() if path.suffix != ".sch"]


def test_findings_carry_record_key_line_and_message(tmp_path: Path, rules: Path) -> None:
    rows = [{"@id": None, **row, "Id": f"K{at}"} for at, row in enumerate(numbers())]
    rows[6]["T"] = -1
    data = write_data(tmp_path / "d.xml", [{k: v for k, v in row.items() if k != "@id"} for row in rows])
    (finding,) = masktron.validate(data, rules, key="Id").findings
    assert (finding.rule, finding.record, finding.key, finding.line) == ("R1", 7, "K6", 8)
    assert finding.location == "/Data/Record[7]"
    assert masktron.validate(data, rules).findings[0].key is None
    assert masktron.validate(data, rules, limit=0).findings == ()


WRONG: list[tuple[Callable[[pd.DataFrame, Path], object], str]] = [
    (lambda f, r: masktron.mask(f, r, k="5"), "k must be an integer"),
    (lambda f, r: masktron.mask(f, r, kk=5), "did you mean k"),
    (lambda f, r: masktron.mask(f, r, roles={"A": "secret"}), "unknown role 'secret'"),
    (lambda f, r: masktron.mask(f, r, roles=["A"]), "roles must be a table"),
    (lambda f, r: masktron.mask(f, r, missing=5), "missing must be a list"),
    (lambda f, r: masktron.mask(f, r, allow="R1"), "allow must be a list"),
    (lambda f, r: masktron.mask(f, r, config={"k": 5}), "config must be a Config"),  # type: ignore[arg-type]
    (lambda _, r: masktron.mask(5, r, "o.xml"), "data must be a path or a data frame"),  # type: ignore[arg-type]
    (lambda _, r: masktron.mask("d.xml", r), "needs the name of a file"),
    (lambda f, r: masktron.mask(f, r, out=5), "out must be a path"),  # type: ignore[arg-type]
    (lambda f, r: masktron.mask(f, r, manifest=5), "manifest must be a path"),  # type: ignore[arg-type]
    (lambda f, _: masktron.mask(f, f), "rules must be a path"),  # type: ignore[arg-type]
    (lambda _, r: masktron.validate([1], r), "data must be a path"),  # type: ignore[arg-type]
    (lambda f, _: masktron.validate(f, None), "rules must be a path"),  # type: ignore[arg-type]
    (lambda f, r: masktron.validate(f, r, original=5), "original must be a path"),  # type: ignore[arg-type]
    (lambda f, r: masktron.validate(f, r, phase=5), "phase must be a name"),  # type: ignore[arg-type]
    (lambda f, r: masktron.validate(f, r, limit=-1), "limit must be"),
    (lambda f, r: masktron.validate(f, r, key="Ax"), "did you mean A"),
    (lambda f, r: masktron.explain(r, f, config=3), "config must be a Config"),  # type: ignore[arg-type]
    (lambda f, r: masktron.check(f, r, manifest="m.json"), "a manifest describes files"),
    (lambda f, r: masktron.check("d.xml", r, manifest=5), "manifest must be a path"),  # type: ignore[arg-type]
    (lambda f, r: masktron.check("d.xml", r, record=5), "record must be a name"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "says"), WRONG, ids=[says for _, says in WRONG])
def test_wrong_arguments_are_usage_errors(
    call: Callable[[pd.DataFrame, Path], object], says: str, frame: pd.DataFrame, rules: Path
) -> None:
    with pytest.raises(UsageError) as caught:
        call(frame, rules)
    assert says in str(caught.value)


def test_settings_are_taken_in_the_forms_that_python_has(frame: pd.DataFrame, rules: Path) -> None:
    coded = frame.assign(C=[-9] * 10 + list(range(30)))
    for missing in ({"C": [-9]}, {"C": "-9"}, ["-9"], {"C": frozenset({"-9"})}):
        result = masktron.mask(coded, rules, k=4, missing=missing, roles={"A": masktron.Role.CONFIDENTIAL})
        assert result.data is not None
        assert (result.data["C"].isna() | (result.data["C"] == -9)).sum() == 10
    base = masktron.Config(k=4, order="keep")
    assert masktron.mask(frame, rules, config=base, k=8).k == 8
    assert masktron.mask(frame, rules, config=base).k == 4


@pytest.mark.parametrize("name", ["validate", "explain", "mask", "check", "assess"])
def test_functions_have_help_that_names_their_parameters(name: str) -> None:
    function: Any = getattr(masktron, name)
    text = inspect.getdoc(function) or ""
    assert "Raises" in text
    assert "Returns" in text
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"\b{parameter}\b", text), parameter


def test_importing_masktron_is_light() -> None:
    heavy = ("numpy", "pandas", "lxml", "saxonche", "rich")
    code = f"import sys, masktron; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_a_user_may_check_types_strictly(tmp_path: Path) -> None:
    script = tmp_path / "user.py"
    script.write_text(
        "import pandas as pd\nimport masktron\n"
        'result = masktron.mask(pd.DataFrame({"A": [1]}), "r.sch", k=5, roles={"A": "identifier"})\n'
        "loss: float = result.information_loss\n"
        'keys: list[str | None] = [f.key for f in masktron.validate("a.xml", "r.sch", key="@id").findings]\n'
        'verdict: masktron.CheckResult = masktron.check("a.xml", "r.sch", manifest="m.json")\n'
        'masktron.explain("r.sch", config=masktron.Config(roles={"A": masktron.Role.KEY}))\n'
    )
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(script)]
    good = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert good.returncode == 0, good.stdout
    script.write_text(script.read_text().replace("loss: float", "loss: str"))
    assert subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path).returncode == 1
