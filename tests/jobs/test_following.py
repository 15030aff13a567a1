"""What is said of findings, and under `--release-safe` of errors: the file, and no reason or place of a record."""

from __future__ import annotations

from pathlib import Path

import pytest

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.errors import DocumentError, MasktronError, RulebookError, UsageError
from masktron.jobs.following import without_values
from masktron.problems.problem import Field, Place
from refusals import refused


@pytest.mark.parametrize(
    ("name", "text"),
    [("bad.csv", "A,B\n1,2\n1,2,3\n"), ("bad.xml", "<Data>\n<Record><A>1</B></Record>\n</Data>")],
)
def test_an_error_names_the_file_and_no_place_in_it(name: str, text: str, tmp_path: Path, run: Runner) -> None:
    data, rules = tmp_path / name, write_rules(tmp_path / "r.sch", "A >= 0")
    data.write_text(text)
    with pytest.raises(DocumentError) as told:
        masktron.validate(data, rules)
    assert told.value.where.startswith(f"{data}:"), "without the option there is a line"
    with refused(DocumentError, "reason-hidden", where=data):
        masktron.validate(data, rules, release_safe=True)
    done = run("validate", data, "-r", rules, "--release-safe")
    assert done.code == 4
    assert f"{name}:" not in done.err.replace(f"{name}: the file cannot be used", "")


def test_findings_for_missing_values_and_for_rounding_say_what_to_write(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"A": "1", "B": "1", "T": "2"},
        {"A": "0.1", "B": "0.2", "T": "0.3"},
        {"A": None, "B": "1", "T": "2"},
        {"A": "", "B": "1", "T": "2"},
        {"A": "1", "B": "5", "T": "2"},
    ]
    data = write_data(tmp_path / "d.xml", rows)
    notes = masktron.validate(data, write_rules(tmp_path / "r.sch", "A + B = T", "B > 0")).notes
    lacking, rounded = (note for note in notes if "listed findings" in note)
    assert lacking.startswith("R1: in 2 of 4 listed findings a field is missing")
    assert rounded.startswith("R1: 1 of 4 listed findings are rounding artefacts")
    assert "A - B <= 0.05 and B - A <= 0.05" in rounded
    plain, table = tmp_path / "r.rules", tmp_path / "d.csv"
    plain.write_text("R1: A + B == T")
    table.write_text("A,B,T\n0.1,0.2,0.3\n")
    notes = [*masktron.validate(table, plain).notes, *masktron.explain(plain, table).notes]
    assert sum("abs(A - B) <= 0.05" in str(note) for note in notes) == 2


@pytest.mark.parametrize("kind", [DocumentError, RulebookError, UsageError])
def test_a_place_in_a_file_of_data_is_no_record(kind: type[MasktronError]) -> None:
    def reading() -> None:
        raise kind.of("no-records", Place("d.csv", 38, record=37, field=Field("NAME")), paths="x")

    with pytest.raises(kind) as caught:
        without_values(reading, wanted=True, rulebook_read=True)
    place = caught.value.problem.place
    assert (place.source, place.record, place.field) == ("d.csv", 0, None)
    assert kind is RulebookError or place.line == 0
