"""Recoding in whole runs: what is written, which rules go with it, what check finds, and every refusal."""

from __future__ import annotations

import json
import re
import sqlite3
import stat
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from lxml import etree

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.errors import DocumentError, InfeasibleError, OutsideLimitsError, UsageError
from masktron.jobs import treated_records
from masktron.recoding_settings import how_of
from masktron.rulebook.schematron.reader import read_rules
from refusals import code_of, plain, problem_of, refused
from schema_files import conforms

ROWS: list[dict[str, object]] = [
    {"AGE": 16 + 7 * at % 60, "REGION": ("11", "12", "21", "22")[at % 4], "A": 100 + 13 * at % 70, "B": 10 + at % 9}
    for at in range(40)
]
RULES = ("B <= A", "AGE >= 16")
REGION = "11;1;*\n12;1;*\n21;2;*\n22;2;*\n"
K = 3


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    (tmp_path / "region.csv").write_text(REGION)
    return write_data(tmp_path / "d.xml", ROWS), write_rules(tmp_path / "r.sch", *RULES)


def csv_of(path: Path, rows: list[dict[str, Any]] = ROWS) -> Path:
    """Write rows as CSV; the rules call records ``record``, as those of XML."""
    pd.DataFrame(rows).to_csv(path, index=False)
    return path


def settings(folder: Path, **more: Any) -> dict[str, Any]:
    recode = {"AGE": "width:5", "REGION": f"{folder / 'region.csv'}"}
    return {"k": K, "order": "keep", "recode": recode, **more}


def age_class(age: int) -> str:
    low = age - age % 5
    return f"{low}-{low + 4}"


def recoded_alone(notes: Iterable[str]) -> list[str]:
    """The fields that notes say are recoded and not masked."""
    said = (re.match("(.*) (?:is|are) recoded and not masked;", note) for note in notes)
    return [one[1] for one in said if one]


def test_fields_that_are_recoded_and_not_masked_are_named(tmp_path: Path, files: tuple[Path, Path]) -> None:
    given = settings(tmp_path)
    assert recoded_alone(masktron.mask(*files, tmp_path / "m.xml", **given).notes) == ["AGE and REGION"]
    # what is drawn as well is no true class
    drawn = settings(tmp_path, pram={"REGION": "change:0.2"})
    assert recoded_alone(masktron.mask(*files, tmp_path / "n.xml", **drawn).notes) == ["AGE"]
    # somebody has said that it is not to be masked
    named = settings(tmp_path, roles={"AGE": "quasi-identifier", "REGION": "untouched"})
    assert recoded_alone(masktron.mask(*files, tmp_path / "o.xml", **named).notes) == []
    trees = {"REGION": tmp_path / "region.csv"}
    assert recoded_alone(masktron.recode(*files, trees, key_k=11).notes) == ["REGION"]
    roles = {"REGION": "quasi-identifier"}
    assert recoded_alone(masktron.recode(*files, trees, key_k=11, roles=roles).notes) == []


@pytest.mark.few(1)
@pytest.mark.parametrize("suffix", [".xml", ".csv", ".parquet"])
def test_recoded_fields_are_written_with_rules_that_hold_and_check_does_it_again(
    tmp_path: Path, files: tuple[Path, Path], suffix: str
) -> None:
    data, rules = files
    if suffix == ".csv":
        data = csv_of(tmp_path / "d.csv")
    elif suffix == ".parquet":
        data = tmp_path / "d.parquet"
        pd.DataFrame([{**row, "AGE": str(row["AGE"])} for row in ROWS]).to_parquet(data)
    out, manifest = tmp_path / f"m{suffix}", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, **settings(tmp_path))
    assert result.valid
    conforms(result.as_dict(), "mask")
    assert [(one.field, one.how) for one in result.treatments] == [
        ("AGE", "width:5"),
        ("REGION", "level 1 of a hierarchy"),
    ]
    written = columns_of(out)
    assert written["AGE"] == [age_class(int(str(row["AGE"]))) for row in ROWS]
    assert written["REGION"] == [str(row["REGION"])[0] for row in ROWS]
    translated = tmp_path / "m.rules.sch"
    # of 15-19 somebody may be 16
    assert [one.fate for one in result.fates] == ["vacuous"]
    assert read_rules(translated).checks
    before = {one.name: one.value for one in result.before}
    now = {one.name: one.value for one in result.figures}
    assert before["key_uniques"] > now["key_uniques"]
    assert not [one for one in result.rules if ".scratch" in one.origin]
    for book in (rules, translated):
        checked = masktron.check(out, book, manifest=manifest, original=data)
        assert checked.complies, checked.problems
    assert masktron.assess(out, data, manifest=manifest).records == len(ROWS)
    # a cell of a recoded field that is another one is found
    spoil(out, written["AGE"])
    checked = masktron.check(out, rules, manifest=manifest, original=data)
    assert any("the unmasked field AGE differs from the original in 1 record" in one for one in checked.problems)


def columns_of(path: Path) -> dict[str, list[str]]:
    readers = {".csv": pd.read_csv, ".parquet": pd.read_parquet, ".xml": pd.read_xml}
    dtype = {} if path.suffix == ".parquet" else {"dtype": str}
    frame = readers[path.suffix](path, **dtype)  # type: ignore[operator]
    return {name: frame[name].astype(str).tolist() for name in frame}


def spoil(path: Path, ages: list[str]) -> None:
    other = next(age for age in ages if age != ages[0])
    if path.suffix == ".parquet":
        frame = pd.read_parquet(path)
        frame.loc[0, "AGE"] = other
        frame.to_parquet(path)
    else:
        path.write_text(path.read_text().replace(ages[0], other, 1))


def test_tails_are_coded_by_their_weighted_mean_or_median(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"AGE": at, "A": 100 + 7 * at % 90, "B": at % 5, "W": 1 + at % 3} for at in range(20, 60)
    ]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "B <= A")
    out = tmp_path / "m.xml"
    recode = {"AGE": "bottom:24:median,top:50"}
    masktron.mask(data, rules, out, k=K, order="keep", recode=recode, roles={"W": "weight"})
    tail = [(at, 1 + at % 3) for at in range(50, 60)]
    mean = round(Fraction(sum(at * weight for at, weight in tail), sum(weight for _, weight in tail)))
    low = sorted(at for at in range(20, 25) for _ in range(1 + at % 3))
    median = low[len(low) // 2]
    ages = columns_of(out)["AGE"]
    assert ages == [str(median)] * 5 + [str(at) for at in range(25, 50)] + [str(mean)] * 10


def test_what_is_missing_stays_missing(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{**row, "AGE": (row["AGE"], "", 99)[at % 3]} for at, row in enumerate(ROWS)]
    data, rules = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", "B <= A")
    out = tmp_path / "m.xml"
    masktron.mask(
        data, rules, out, k=K, order="keep", recode={"AGE": "width:20"}, missing={"AGE": ["99"]}, numeric=["A"],
        roles={"REGION": "untouched"},
    )  # fmt: skip
    text = out.read_text()
    assert text.count("<AGE>99</AGE>") == 13
    assert text.count("<AGE/>") + text.count("<AGE></AGE>") == 13
    found = masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data)
    assert found.complies, found.problems


def test_records_are_left_out_by_the_original(tmp_path: Path, files: tuple[Path, Path]) -> None:
    rows = [*ROWS, {**ROWS[0], "AGE": 3}]
    data, rules = write_data(tmp_path / "d.xml", rows), files[1]
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    result = masktron.mask(data, rules, out, **settings(tmp_path, invalid="exclude"))
    assert (result.records_in, result.records_out, result.excluded) == (41, 40, (40,))
    assert result.treatments
    assert "<AGE>0-4<" not in out.read_text()
    assert masktron.check(out, rules, manifest=manifest, original=data).complies
    content = json.loads(manifest.read_text())
    conforms(content, "manifest")
    assert content["original"]["path"] == data.as_posix()
    assert "scratch" not in manifest.read_text()


def test_the_same_run_again_gives_the_same_bytes(tmp_path: Path, files: tuple[Path, Path]) -> None:
    data, rules = files
    out, again = tmp_path / "m.xml", tmp_path / "again.xml"
    masktron.mask(data, rules, out, **settings(tmp_path, order="random"))
    first = out.read_bytes()
    masktron.mask(data, rules, out, **settings(tmp_path, order="random", secret=tmp_path / "m.manifest.json"))
    assert out.read_bytes() == first, "also in the place of the files of the first run"
    masktron.rerun(tmp_path / "m.manifest.json", data, again)
    assert again.read_bytes() == first


def test_a_data_frame_comes_back_recoded(tmp_path: Path, files: tuple[Path, Path]) -> None:
    frame = pd.DataFrame(ROWS)
    result = masktron.mask(frame, files[1], **settings(tmp_path, recode={"REGION": str(tmp_path / "region.csv")}))
    assert Counter(result.data["REGION"].astype(str)) == Counter({"1": 20, "2": 20})
    assert result.rulebook == "", "no rule reads it"
    texts = masktron.mask(frame, files[1], **settings(tmp_path)).data["AGE"]
    assert texts.tolist() == [age_class(int(str(row["AGE"]))) for row in ROWS]
    assert pd.api.types.is_string_dtype(texts), "a column of numbers becomes one of texts"


# refusals: nothing is written


def refusal(
    tmp_path: Path, files: tuple[Path, Path], kind: type[masktron.MasktronError], code: str, **more: Any
) -> masktron.MasktronError:
    with pytest.raises(kind) as found:
        masktron.mask(*files, tmp_path / "m.xml", **settings(tmp_path, **more))
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("m.")]
    assert ".scratch" not in str(found.value)
    assert not code or code_of(found.value) == code
    return found.value


def test_a_value_without_a_class_is_refused_by_its_record(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "region.csv").write_text("11;1\n12;1\n21;2\n")
    found = refusal(tmp_path, files, DocumentError, "value-without-class")
    assert (found.exit_code, problem_of(found).references["records"], problem_of(found).place.record) == (4, 10, 4)
    assert "22" not in f"{found.what}{found.hint}"


def test_a_hierarchy_with_a_row_of_names_is_refused(tmp_path: Path, files: tuple[Path, Path]) -> None:
    (tmp_path / "region.csv").write_text("REGION;large;all\n" + REGION)
    assert refusal(tmp_path, files, UsageError, "").exit_code == 2


@pytest.mark.parametrize(
    ("recode", "error", "code", "status"),
    [
        ({"AGEE": "width:5"}, UsageError, "", 2),
        ({"AGE": "top:75"}, InfeasibleError, "small-class", 5),
        ({"AGE": "width:0.01"}, UsageError, "too-many-values", 2),
        ({"REGION": "none.csv"}, UsageError, "", 2),
        ({"AGE": "widht:5"}, UsageError, "unknown-name", 2),
        ({"AGE": "breaks:20,40"}, DocumentError, "value-without-class", 4),
    ],
)
def test_what_cannot_be_recoded_is_refused(
    tmp_path: Path,
    files: tuple[Path, Path],
    recode: dict[str, str],
    error: type[masktron.MasktronError],
    code: str,
    status: int,
) -> None:
    roles = {"REGION": "untouched"} if "REGION" not in recode else {}
    assert refusal(tmp_path, files, error, code, recode=recode, roles=roles).exit_code == status


@pytest.mark.parametrize(
    ("how", "kind"),
    [
        ("width:5", "width"),
        ("round:10", "round"),
        ("breaks:0,10", "breaks"),
        ("top:90", "top"),
        ("bottom:1,top:9", "bottom"),
    ],
)
def test_classes_of_numbers_are_refused_for_a_field_of_texts(tmp_path: Path, how: str, kind: str) -> None:
    data = csv_of(tmp_path / "d.csv", [{"A": 10 + at, "B": at, "SEX": "fm"[at % 2]} for at in range(40)])
    rules = write_rules(tmp_path / "r.sch", "B <= A")
    with refused(UsageError, "recoding-needs-numbers", field="SEX", kind=kind, held="text") as found:
        masktron.mask(data, rules, tmp_path / "m.csv", roles={"SEX": "untouched"}, recode={"SEX": how})
    assert "FILE.csv:1" in found.value.hint


@pytest.mark.parametrize("how", ["widht:5", "wdth:5"])
def test_an_unknown_recoding_is_answered_with_the_nearest(how: str) -> None:
    with refused(UsageError, "unknown-name", kind="recoding", name=how.partition(":")[0]) as found:
        how_of("recode.AGE", how)
    assert found.value.hint == "did you mean width?"
    assert problem_of(found.value).about()[:2] == ("AGE", "recode")


@pytest.mark.parametrize("how", ["width:x", "width:0", "round:", "breaks:0,a", "top:x", "bottom:1,top:"])
def test_a_recoding_without_its_number_is_answered_with_an_example(how: str) -> None:
    with refused(UsageError, "bad-value", name="recode.AGE") as found:
        how_of("recode.AGE", how)
    example = str(problem_of(found.value).references["hint"]).removeprefix("such as ")
    how_of("recode.AGE", example)  # can be pasted
    assert example.partition(":")[0] in how


@pytest.mark.parametrize("role", ["confidential", "identifier"])
def test_a_field_that_is_not_written_as_it_is_cannot_be_recoded(
    tmp_path: Path, files: tuple[Path, Path], role: str
) -> None:
    found = refusal(tmp_path, files, UsageError, "role-does-not-fit", roles={"AGE": role})
    assert plain(problem_of(found).references["field"]) == "AGE"


def test_a_lost_rule_is_refused_unless_it_may_be_lost(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A", "string-length(AGE) = 2")
    (tmp_path / "region.csv").write_text(REGION)
    data = write_data(tmp_path / "d.xml", ROWS)
    more: dict[str, Any] = {"recode": {"AGE": "round:10"}, "roles": {"REGION": "untouched"}}
    lost = read_rules(rules).checks[1].id
    found = refusal(tmp_path, (data, rules), InfeasibleError, "rule-lost", **more)
    assert (found.exit_code, plain(problem_of(found).references["rules"])) == (5, (lost,))
    result = masktron.mask(data, rules, tmp_path / "m.xml", **settings(tmp_path, allow_lost=[lost], **more))
    assert [one.fate for one in result.fates] == ["lost"]
    checked = masktron.check(tmp_path / "m.xml", rules, manifest=tmp_path / "m.manifest.json", original=data)
    assert checked.complies
    assert any(f"rule {lost}: nothing of it can be asked" in one for one in checked.not_checked)
    refused_name = {**settings(tmp_path, **more), "allow_lost": ["no-such"]}
    with refused(UsageError, "unknown-name", name="no-such"):
        masktron.mask(data, rules, tmp_path / "n.xml", **refused_name)


def test_a_rule_that_was_let_go_is_a_warning_in_the_rulebook_that_goes_with_the_file(tmp_path: Path) -> None:
    """Both a rule that stays and one that is asked of classes; whoever has no manifest finds the pair in order."""
    rules = write_rules(tmp_path / "r.sch", "B <= A", "AGE > 19 or A > 500", "REGION > 11", "A >= 0")
    (tmp_path / "region.csv").write_text(REGION)
    data = write_data(tmp_path / "d.xml", [{**row, "B": 900} if at < 6 else row for at, row in enumerate(ROWS)])
    stays, classes, soft = (check.id for check in read_rules(rules).checks[:3])
    rules.write_text(rules.read_text().replace(f'id="{soft}"', f'id="{soft}" flag="info"'))
    out, translated = tmp_path / "m.xml", tmp_path / "m.rules.sch"
    result = masktron.mask(data, rules, out, **settings(tmp_path, allow=[stays, classes]))
    assert {*result.allowed} == {stays, classes}
    written = {check.id: check for check in read_rules(translated).checks}
    assert {name: (check.role, check.flag) for name, check in written.items() if check.soft} == {
        stays: ("warning", None),
        classes: ("warning", None),
        soft: (None, "info"),
    }
    assert translated.read_text().count("a warning here -->") == 2
    alone = masktron.check(out, translated)
    assert alone.complies, alone.problems
    assert {rule.id for rule in alone.rules if rule.violations} >= {stays}
    manifest = tmp_path / "m.manifest.json"
    for rulebook in (rules, translated):
        checked = masktron.check(out, rulebook, manifest=manifest, original=data)
        assert checked.complies, checked.problems
        assert not [one for one in checked.not_checked if "SHA-256" in one]


def test_a_rule_on_a_removed_field_is_not_asked_of_the_released_file(tmp_path: Path) -> None:
    """Of three rules on the removed field, one reads a recoded field too, and one could not be translated."""
    rules = write_rules(
        tmp_path / "r.sch", "ID > 0", "B <= A", "AGE >= 16 or ID > 5", "string-length(AGE) = 2 or ID > 0", "A >= 0"
    )
    (tmp_path / "region.csv").write_text(REGION)
    data = write_data(tmp_path / "d.xml", [{"ID": at + 1, **row} for at, row in enumerate(ROWS)])
    names = [check.id for check in read_rules(rules).checks]
    gone, left = [names[0], names[2], names[3]], [names[1], names[4]]
    out, manifest, translated = (tmp_path / f"m.{end}" for end in ("xml", "manifest.json", "rules.sch"))
    result = masktron.mask(data, rules, out, **settings(tmp_path, roles={"ID": "identifier"}))
    conforms(result.as_dict(), "mask")
    assert dict(result.not_applicable) == dict.fromkeys(gone, "reads the removed identifier ID")
    assert {one.rule: one.fate for one in result.fates} == dict.fromkeys(gone, "removed")
    assert [one.id for one in result.rules] == left
    assert all(name in result.verdict.rules.reason for name in gone)
    book = etree.parse(translated)
    assert book.xpath("//@id[starts-with(., 'R')]") == left, "the rules that are asked"
    said = [one.text for one in book.xpath("//comment()")]
    for name in gone:
        assert any(f"{name}: removed (reads the removed identifier ID)" in one for one in said)
    lines = translated.read_text().splitlines()
    for one in result.rules:
        assert f'id="{one.id}"' in lines[int(one.origin.rpartition(":")[2]) - 1]
    validated = masktron.validate(out, translated)
    assert (validated.valid, validated.notes) == (True, ())
    assert any("it reads ID" in one for one in masktron.validate(out, rules).notes)
    for own in (rules, translated):
        checked = masktron.check(out, own, manifest=manifest, original=data)
        assert checked.complies, checked.problems
        unasked = [one for one in checked.not_checked if "reads the removed identifier ID" in one]
        assert len(unasked) == (3 if own == rules else 0)


def test_rules_that_read_masked_fields_are_translated_again_as_mask_did(tmp_path: Path) -> None:
    """Two rules exclude a class together, but where A is masked, they are asked by themselves: by check, too."""
    rules = write_rules(
        tmp_path / "r.sch", "not(A > 500) or AGE <= 17", "not(B > 500) or AGE >= 18", "not(REGION > 50) or AGE >= 18"
    )
    data, out = write_data(tmp_path / "d.xml", ROWS), tmp_path / "m.xml"
    how: dict[str, Any] = {"recode": {"AGE": "width:5"}, "roles": {"REGION": "untouched"}, "k": K}
    result = masktron.mask(data, rules, out, **how)
    assert not any("together" in one.reason or "asked in" in one.reason for one in result.fates)
    checked = masktron.check(out, rules, manifest=tmp_path / "m.manifest.json", original=data)
    assert checked.complies, checked.problems
    assert not any("translates otherwise" in one for one in checked.not_checked)


def test_a_rulebook_of_the_user_is_not_overwritten(tmp_path: Path, files: tuple[Path, Path]) -> None:
    own = write_rules(tmp_path / "m.rules.sch", "A >= 0")
    text = own.read_text()
    with refused(UsageError, "would-overwrite", output="the translated rulebook"):
        masktron.mask(*files, tmp_path / "m.xml", **settings(tmp_path))
    assert own.read_text() == text
    with refused(UsageError, "needs-setting", name="--rules-out"):
        masktron.mask(*files, tmp_path / "n.xml", k=K, rules_out=tmp_path / "x.sch", roles={"REGION": "untouched"})


@pytest.mark.full
def test_translated_rules_of_an_earlier_release_are_named_where_a_new_one_has_none(
    tmp_path: Path, files: tuple[Path, Path]
) -> None:
    out, own = tmp_path / "m.xml", tmp_path / "m.rules.sch"
    assert not [note for note in masktron.mask(*files, out, **settings(tmp_path)).notes if "m.rules.sch" in note]
    text = own.read_text()
    again = masktron.mask(*files, out, **settings(tmp_path)).notes
    assert not [note for note in again if "earlier release" in note], "the rules are those of this release"
    for recode in ({"REGION": str(tmp_path / "region.csv")}, {}):
        roles = {"AGE": "untouched", "REGION": "untouched"} if not recode else {"AGE": "untouched"}
        notes = masktron.mask(*files, out, **settings(tmp_path, recode=recode, roles=roles)).notes
        assert [note for note in notes if note.startswith("m.rules.sch is the translated rulebook of an earlier")]
        assert own.read_text() == text
    write_rules(own, "A >= 0")
    assert not [note for note in masktron.mask(*files, out, **settings(tmp_path, recode={}, roles=roles)).notes
                if "m.rules.sch" in note], "a rulebook of the user is none of ours"  # fmt: skip


def test_the_treated_file_is_its_owners_alone(
    tmp_path: Path, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = []
    judged = treated_records.judged

    def looking(job: Any, *rest: Any) -> Any:
        seen.append((job.source.path.name, stat.S_IMODE(job.source.path.stat().st_mode)))
        return judged(job, *rest)

    monkeypatch.setattr(treated_records, "judged", looking)
    masktron.mask(*files, tmp_path / "m.xml", **settings(tmp_path))
    assert seen == [("d.xml", 0o600)]


@pytest.mark.parametrize(
    ("option", "name"), [("--json", "m.rules.sch"), ("--html", "own.sch"), ("--json", "region.csv")]
)
def test_results_do_not_overwrite_what_recoding_reads_and_writes(
    tmp_path: Path, files: tuple[Path, Path], run: Runner, option: str, name: str
) -> None:
    before = sorted(tmp_path.iterdir())
    data, rules = files
    words = ["mask", data, "--rules", rules, "--out", tmp_path / "m.xml", "-k", K, option, tmp_path / name]
    words += ["--recode", f"REGION={tmp_path / 'region.csv'}", "--recode", "AGE=width:5"]
    ended = run(*words, *(["--rules-out", tmp_path / "own.sch"] if name == "own.sch" else []))
    assert ended.code == 2
    assert f"{option} would overwrite" in ended.err
    assert sorted(tmp_path.iterdir()) == before
    assert (tmp_path / "region.csv").read_text() == REGION


WEIGHTED = [{**row, "W": ("1.5", "2.25", "3.7", "8.1", "9.1")[at * 7 % 5]} for at, row in enumerate(ROWS)]


def test_a_weight_is_written_as_the_means_of_its_classes(tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", WEIGHTED), write_rules(tmp_path / "r.sch", *RULES)
    more: dict[str, Any] = {"roles": {"W": "weight", "REGION": "untouched", "AGE": "untouched"}, "order": "keep"}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=K, recode={"W": "breaks:0,5:mean"}, **more)
    weights = pd.read_xml(data)["W"]
    means = weights.groupby(weights >= 5).transform("mean").round(2)
    assert means.nunique() == 2
    assert pd.read_xml(tmp_path / "m.xml")["W"].tolist() == means.tolist()
    as_it_was = masktron.mask(data, rules, tmp_path / "n.xml", k=K, **more)
    before, plain = ({one.name: one.value for one in told} for told in (result.before, as_it_was.figures))
    assert all(before[name] == plain[name] for name in ("global_risk", "key_uniques"))
    manifest = tmp_path / "m.manifest.json"
    assert masktron.check(tmp_path / "m.xml", rules, original=data, manifest=manifest).complies
    sums = [float((read["A"] * read["W"]).sum()) for read in map(pd.read_xml, (data, tmp_path / "m.xml"))]
    (total,) = (one for one in result.totals if one.name == "A")
    assert [total.before, total.after] == pytest.approx(sums)
    assert float((pd.read_xml(data)["A"] * means).sum()) != pytest.approx(sums[0]), "either weight is the same here"
    moved = masktron.assess(tmp_path / "m.xml", data, manifest=manifest, measures=["total_change"])
    changes = [100 * abs(one.after / one.before - 1) for one in result.totals]
    assert moved.figures[0].value == pytest.approx(max(changes))


@pytest.mark.parametrize("how", ["width:5", "breaks:0,5", "w.csv"])
def test_a_weight_stays_a_number(tmp_path: Path, files: tuple[Path, Path], how: str) -> None:
    roles = {"AGE": "weight"}
    assert refusal(tmp_path, files, UsageError, "", recode={"AGE": how}, roles=roles).exit_code == 2


def test_a_class_of_few_records_has_no_mean(tmp_path: Path, files: tuple[Path, Path]) -> None:
    more: dict[str, Any] = {"recode": {"AGE": "breaks:0,40,75:mean"}, "roles": {"REGION": "untouched"}}
    found = refusal(tmp_path, files, InfeasibleError, "small-class", **more)
    assert found.exit_code == 5


@pytest.mark.parametrize("how", ["top:75", "top:75:median", "breaks:0,75:mean"])
@pytest.mark.parametrize("heavy", [10.0**7, 4.0])
def test_a_number_for_many_is_not_that_of_one_with_most_of_the_weight(
    tmp_path: Path, files: tuple[Path, Path], how: str, heavy: float
) -> None:
    rows: list[dict[str, object]] = [{**row, "AGE": 75 + at if at < 5 else 30, "W": 1} for at, row in enumerate(ROWS)]
    rows[2]["W"] = heavy
    given = write_data(tmp_path / "w.xml", rows), files[1]
    more: dict[str, Any] = {"recode": {"AGE": how}, "roles": {"W": "weight", "REGION": "untouched"}}
    if heavy > 4:  # the others in the tail have 4 together
        found = refusal(tmp_path, given, InfeasibleError, "small-class", **more)
        assert found.exit_code == 5
    else:
        assert masktron.mask(*given, tmp_path / "m.xml", **settings(tmp_path, **more)).valid


def test_rules_know_what_the_median_of_a_class_stands_for(tmp_path: Path) -> None:
    rules = write_rules(tmp_path / "r.sch", "B <= A", "AGE >= 18", "AGE != 30")
    rows = [{**row, "AGE": 31 if at % 20 == 4 else 18 + 3 * (at % 20)} for at, row in enumerate(ROWS)]
    data = write_data(tmp_path / "d.xml", rows)
    more: dict[str, Any] = {"roles": {"REGION": "untouched"}, "recode": {"AGE": "breaks:0,36,60:median"}}
    result = masktron.mask(data, rules, tmp_path / "m.xml", k=K, order="keep", **more)
    ages = pd.read_xml(data)["AGE"]
    medians = ages.groupby(pd.cut(ages, [0, 36, 60, 99], right=False), observed=True).transform("median").round()
    assert pd.read_xml(tmp_path / "m.xml")["AGE"].tolist() == medians.tolist()
    # of each class some value is 18 or above, and another one than 30; an age without a class is asked all the same
    assert [one.fate for one in result.fates] == ["vacuous", "vacuous"]
    bad = (tmp_path / "m.xml").read_text().replace(f"<AGE>{int(medians[0])}</AGE>", "<AGE>9</AGE>", 1)
    (tmp_path / "bad.xml").write_text(bad)
    judged = masktron.validate(tmp_path / "bad.xml", tmp_path / "m.rules.sch")
    assert sum(one.violations for one in judged.rules) == 1


def test_a_rule_on_values_of_the_original_is_kept_where_no_treatment_changes_them(tmp_path: Path) -> None:
    own = "document('d.xml')/Data/Record"
    kept, read = f"B = {own}/B", f"REGION = {own}/REGION"
    more: dict[str, Any] = {"k": K, "recode": {"AGE": "width:10"}, "roles": {"REGION": "untouched"}}
    data = write_data(tmp_path / "d.xml", ROWS)
    result = masktron.mask(data, write_rules(tmp_path / "r.sch", "B <= A", kept), tmp_path / "m.xml", **more)
    assert result.valid
    assert set(pd.read_xml(tmp_path / "m.xml")["B"]) <= {row["B"] for row in ROWS}
    for test in (read, f"B = {own}/A or B >= 0", f"B = {own}[AGE > 0]/B"):
        rules = write_rules(tmp_path / "s.sch", "B <= A", test)
        with refused(InfeasibleError, "rules-not-kept", fields=("AGE",)):
            masktron.mask(data, rules, tmp_path / "n.xml", **more)


def test_a_limit_that_the_weight_breaks_after_recoding_says_so(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [{**row, "W": 1 + at / 8} for at, row in enumerate(ROWS)]
    (tmp_path / "region.csv").write_text(REGION)
    files = write_data(tmp_path / "d.xml", rows), write_rules(tmp_path / "r.sch", *RULES)
    recode = {"AGE": "breaks:0,45", "REGION": f"{tmp_path / 'region.csv'}:2"}
    shared = Counter(int(str(row["AGE"])) >= 45 for row in ROWS)
    assert min(shared.values()) >= K
    more: dict[str, Any] = {"recode": recode, "limits": {"key_k": K}}
    found = refusal(tmp_path, files, OutsideLimitsError, "outside-limits", roles={"W": "weight"}, **more)
    (weight,) = (one.references for one in problem_of(found).further if "weight" in one.references)
    assert (plain(weight["weight"]), weight["alike"], weight["without"], weight["k"]) == ("W", 40, 0, 2)
    out = tmp_path / "m.xml"
    assert masktron.mask(*files, out, **settings(tmp_path, roles={"W": "identifier"}, **more)).valid
    # where other keys are as rare, nothing is said of the weight
    more["limits"] = {"key_k": 30}
    with refused(OutsideLimitsError, "outside-limits") as caught:
        masktron.mask(*files, tmp_path / "n.xml", **settings(tmp_path, roles={"W": "identifier"}, **more))
    assert not any("weight" in one.references for one in problem_of(caught.value).further)


@pytest.mark.parametrize("treatment", [{}, {"key_k": 2}, {"recode": {"age": "width:10"}}])
@pytest.mark.parametrize("suffix", [".csv", ".xml"])
def test_how_a_record_that_is_left_out_is_spelled_shapes_nothing(
    tmp_path: Path, suffix: str, treatment: dict[str, Any]
) -> None:
    """Its decimals would give fractions to a field of whole numbers."""
    rules, found = write_rules(tmp_path / "r.sch", "pay >= 0"), []
    for wrong in ("-7", "-7.125"):
        pay = [str(1000 + 37 * at % 1900) for at in range(60)]
        pay[59] = wrong
        rows = [{"id": at, "region": "ns"[at % 2], "age": 20 + at % 40, "pay": pay[at]} for at in range(60)]
        data, out = tmp_path / f"d{suffix}", tmp_path / f"o{suffix}"
        if suffix == ".csv":
            csv_of(data, rows)
        else:
            write_data(data, rows)
        roles = {"id": "identifier", "region": "quasi-identifier", "age": "quasi-identifier"}
        given: dict[str, Any] = {"k": 3, "invalid": "exclude", "order": "keep", "roles": roles, "numeric": ["pay"]}
        assert masktron.mask(data, rules, out, secret=bytes(range(32)), **given, **treatment).excluded == (59,)
        found.append(out.read_bytes())
    assert found[0] == found[1]
    assert b"." not in found[0].partition(b"?>")[2]


def test_the_result_of_a_query_is_refused_before_anything_is_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE t AS SELECT 1 AS A")
    monkeypatch.setattr("masktron.jobs.mask.open_original", None)
    rules = write_rules(tmp_path / "r.sch", "A >= 0")
    with refused(UsageError, "query-not-written"):
        masktron.mask(f"sqlite:{path}?query=SELECT * FROM t", rules, tmp_path / "o.sqlite", k=3)  # noqa: S608
    with refused(UsageError, "query-not-written"):
        masktron.mask(path, rules, tmp_path / "o.sqlite", k=3, format_options={"query": "SELECT * FROM t"})
