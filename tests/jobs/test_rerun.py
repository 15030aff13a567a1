"""`rerun`: the same work on another file, what has changed named by its kind, both runs side by side."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pyreadstat
import pytest

import masktron
from attacks import KEY
from cli_runner import SCHEMATRON, Runner, numbers, write_data, write_rules
from masktron.errors import ReleasedBeforeError, UsageError, ViolationError
from masktron.jobs.originals import InvalidOriginalError
from masktron.jobs.register.register_file import opened_register
from masktron.jobs.rerun import facts
from masktron.jobs.rerun.changes import KINDS
from masktron.jobs.rerun.repeating import ChangedInputError
from masktron.setting_values import Register
from masktron.versions import EFFECTS
from refusals import code_of, problem_of, refused
from schema_files import conforms

type Row = dict[str, object]

RULES = """<schema xmlns="{namespace}">
  <pattern><let name="most" value="{most}"/>
    <rule context="Record">
      <assert id="sum" test="A + B = T">all of it</assert>
      <assert id="most" test="A &lt;= $most">not more</assert>
      {more}
    </rule>
  </pattern>
  <pattern>
    <rule context="Record"><assert id="codes" test="C = document('codes.xml')/codes/code">known</assert></rule>
  </pattern>
</schema>"""


def rows_of(seed: int, n: int = 60) -> list[Row]:
    return [
        {"Id": 100 * seed + at, **row, "C": "ab"[at % 2], "G": ("low", "high")[at % 2], "S": 10 + at, "U": "text"}
        for at, row in enumerate(numbers(n, seed))
    ]


def write_book(folder: Path, name: str = "rules.sch", *, most: str = "5000", more: str = "") -> Path:
    path = folder / name
    path.write_text(RULES.format(namespace=SCHEMATRON, most=most, more=more))
    return path


class Months:
    """A run on January, and files of February."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.rules = write_book(folder)
        self.codes = folder / "codes.xml"
        self.codes.write_text("<codes><code>a</code><code>b</code><code>c</code><code>1</code></codes>")
        self.data = write_data(folder / "january.xml", rows_of(1))
        given: dict[str, Any] = {
            "k": 4,
            "roles": {"Id": "record-id", "U": "untouched"},
            "nominal": ["C"],
            "ordinal": {"G": ["low", "high"]},
            "missing": {"S": ["-9"]},
            "documents": {"codes.xml": self.codes},
            "order": "random",
            **settings,
        }
        self.result = masktron.mask(self.data, self.rules, folder / "out.xml", **given)
        self.manifest = folder / "out.manifest.json"

    def rerun(self, rows: list[Row] | Path, out: Path, **given: Any) -> masktron.RerunResult:
        data = rows if isinstance(rows, Path) else write_data(out.with_name("february.xml"), rows)
        return masktron.rerun(self.manifest, data, out, **given)

    def changes(self, rows: list[Row] | Path, out: Path, **given: Any) -> list[tuple[str, str, bool]]:
        """Kinds and places of changes, and which of them stand in the way: in a dry run."""
        try:
            found = self.rerun(rows, out, dry_run=True, **given).changes
        except ChangedInputError as error:
            assert error.exit_code == 4
            assert error.result.refused
            found = error.result.changes
        assert not out.exists()
        return [(one.kind, one.place, one.refuses) for one in found]


@pytest.fixture(scope="module")
def months(tmp_path_factory: pytest.TempPathFactory) -> Months:
    return Months(tmp_path_factory.mktemp("months"))


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out2.xml"


def changed(at: int | None = None, **values: object) -> Callable[[list[Row]], list[Row]]:
    """Change one record, or all of them; None takes a field away."""
    return lambda rows: [{**row, **values} if at in (None, place) else row for place, row in enumerate(rows)]


CHANGES: dict[str, tuple[Callable[[list[Row]], list[Row]], list[tuple[str, str, bool]]]] = {
    "nothing": (changed(0, A=1, B=1, T=2), []),
    "field gone": (changed(S=None), [("field-gone", "S", True)]),
    "an unmasked field gone": (changed(U=None), [("field-gone", "U", True)]),
    "new field": (changed(N=3), [("new-field", "N", True)]),
    "texts for numbers": (changed(S="much"), [("type", "S", True)]),
    "numbers for texts in an unmasked field": (changed(U=3), [("type", "U", False)]),
    "numbers for categories": (changed(C=1), [("type", "C", False), ("new-category", "C", False)]),
    "a text among numbers": (changed(7, S="NA"), [("missing-code", "S", True)]),
    "a new category": (changed(7, C="c"), [("new-category", "C", False)]),
    "a value without a place in the order": (
        changed(7, G="mid"),
        [("order", "G", True), ("new-category", "G", False)],
    ),
    "a value missing for the first time": (changed(7, S=None), [("missing-values", "S", False)]),
    "a declared code for missing values": (changed(7, S=-9), [("missing-values", "S", False)]),
    "a negative number for the first time": (changed(7, S=-8), [("negative", "S", False)]),
    "another order of fields": (lambda rows: [dict(reversed(row.items())) for row in rows], []),
}


@pytest.mark.few(4)
@pytest.mark.parametrize("change", CHANGES)
def test_each_change_of_a_file_has_its_name(months: Months, out: Path, change: str) -> None:
    made, expected = CHANGES[change]
    assert months.changes(made(rows_of(2)), out) == expected


def test_what_is_said_of_a_field_answers_a_change(months: Months, out: Path) -> None:
    new, code = changed(N=3)(rows_of(2)), changed(7, S="NA")(rows_of(2))
    assert months.changes(new, out, roles={"N": "untouched"}) == []
    assert months.changes(new, out, numeric=["N"]) == []
    assert months.changes(new, out, accept=["new-field"], nominal=["N"]) == []
    assert months.changes(code, out, missing={"S": ["NA"]}) == [
        ("missing-code", "S", False),
        ("missing-values", "S", False),
    ]
    assert months.changes(changed(7, G="mid")(rows_of(2)), out, ordinal={"G": ["low", "mid", "high"]}) == [
        ("new-category", "G", False)
    ]
    assert months.changes(rows_of(2), out, roles={"U": "identifier"}) == [("role", "U", False)]
    assert months.changes(rows_of(2), out, nominal=["S"]) == [("kind", "S", False)]
    gone = changed(S=None)(rows_of(2))
    assert months.changes(gone, out, accept=["field-gone"]) == [("field-gone", "S", False)]


@pytest.mark.full
def test_another_record_and_another_format(months: Months, out: Path) -> None:
    data = write_data(out.with_name("february.xml"), rows_of(2), record="Person")
    assert ("record", "", True) in months.changes(data, out)
    table = out.with_name("february.csv")
    names = [*rows_of(2)[0]]
    lines = [",".join(str(row[name]) for name in names) for row in rows_of(2)]
    table.write_text("\n".join([",".join(names), *lines, ""]))
    assert months.changes(table, out.with_suffix(".csv")) == [("format", "", False)]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"most": "6000"}, [("other-rule", name, True) for name in ("sum", "most")]),
        ({"more": '<assert id="new" test="B >= 0">more</assert>'}, [("new-rule", "new", True)]),
        ({"more": "<!-- a comment -->"}, []),
    ],
)
def test_each_change_of_the_rules_has_its_name(
    months: Months, out: Path, given: dict[str, str], expected: list[tuple[str, str, bool]]
) -> None:
    book = write_book(out.parent, **given)
    assert months.changes(rows_of(2), out, rules=book) == expected
    accepted = {kind for kind, _, _ in expected}
    after = [(kind, place, False) for kind, place, _ in expected]
    assert months.changes(rows_of(2), out, rules=book, accept=sorted(accepted)) == after


def test_a_rule_that_is_gone_and_one_whose_context_is_another(months: Months, out: Path) -> None:
    text = months.rules.read_text()
    book = out.with_name("rules.sch")
    book.write_text(text.replace('<assert id="most" test="A &lt;= $most">not more</assert>', ""))
    assert months.changes(rows_of(2), out, rules=book) == [("rule-gone", "most", True)]
    book.write_text(text.replace('context="Record"><assert id="codes"', 'context="Record[A]"><assert id="codes"'))
    assert months.changes(rows_of(2), out, rules=book) == [("other-rule", "codes", True)]
    book.write_text(text.replace(">all of it<", ">another message<"))
    assert months.changes(rows_of(2), out, rules=book) == []


def test_a_document_of_the_rules_that_is_another(months: Months, out: Path) -> None:
    codes = out.with_name("codes.xml")
    codes.write_text("<codes><code>a</code><code>b</code><code>d</code></codes>")
    found = months.changes(rows_of(2), out, documents={"codes.xml": codes})
    assert found == [("document", "codes.xml", True)]


@pytest.mark.full
def test_a_document_that_was_the_original_is_the_next_one(tmp_path: Path) -> None:
    """Rules that read the file by its name mean the file that is masked."""
    rules = write_rules(tmp_path / "rules.sch", "not(A < 0) or A = document('january.xml')//A")
    data = write_data(tmp_path / "january.xml", numbers(40))
    masktron.mask(data, rules, tmp_path / "out.xml", k=3)
    february = write_data(tmp_path / "february.xml", numbers(40, 2))
    result = masktron.rerun(tmp_path / "out.manifest.json", february, tmp_path / "out2.xml")
    assert result.changes == ()
    march = write_data(tmp_path / "march.xml", numbers(40, 3))
    after = masktron.rerun(tmp_path / "out2.manifest.json", march, tmp_path / "out3.xml", dry_run=True)
    assert after.changes == ()


def test_another_version_is_told_with_what_may_differ(
    months: Months, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = facts.versions()
    monkeypatch.setattr(facts, "versions", lambda: {**now, "numpy": "9.9"})
    result = months.rerun(rows_of(2), out, dry_run=True)
    [change] = result.changes
    assert (change.kind, change.place, change.refuses) == ("version", "numpy", False)
    assert change.what == f"{now['numpy']} then, 9.9 now; may differ: {EFFECTS['numpy']}"


@pytest.mark.full
def test_what_a_file_declares_of_its_fields(tmp_path: Path) -> None:
    """Codes and kinds that a description beside the file has: those of the new file are compared."""

    def described(name: str, **of_s: object) -> Path:
        fields = [{"name": "S", "type": "integer", **of_s}, {"name": "A", "type": "integer"}]
        path = tmp_path / name
        path.write_text(json.dumps({"fields": fields}))
        return path

    rules = write_rules(tmp_path / "rules.sch", "A >= 0")
    data = tmp_path / "january.csv"
    data.write_text("S,A\n" + "".join(f"{at * 7 % 100},{at * 13 % 90}\n" for at in range(60)))
    before = described("before.json", missingValues=["-9"])
    masktron.mask(data, rules, tmp_path / "out.csv", k=3, metadata=before, numeric=["S", "A"])

    def found(metadata: Path) -> list[tuple[str, str, bool]]:
        try:
            result = masktron.rerun(
                tmp_path / "out.manifest.json", data, tmp_path / "new.csv", metadata=metadata, dry_run=True
            )
        except ChangedInputError as error:
            result = error.result
        return [(one.kind, one.place, one.refuses) for one in result.changes]

    assert found(before) == []
    assert found(described("more.json", missingValues=["-9", "-8"])) == [("missing-code", "S", True)]
    assert found(described("less.json")) == [("missing-code", "S", True)]


@pytest.mark.full
def test_codes_that_records_alone_tell_are_no_change(tmp_path: Path) -> None:
    """Of a range of missing codes, one file holds these, and the next one others."""
    rules = write_rules(tmp_path / "rules.sch", "A >= 0")

    def month(name: str, code: int, low: int = 90) -> Path:
        values = [code if at % 9 == 4 else at % 80 for at in range(60)]
        frame = pd.DataFrame({"S": map(float, values), "A": [float(at * 13 % 90) for at in range(60)]})
        pyreadstat.write_sav(frame, tmp_path / name, missing_ranges={"S": [{"lo": low, "hi": 99}]})
        return tmp_path / name

    masktron.mask(month("january.sav", 97), rules, tmp_path / "out.sav", k=3, numeric=["S", "A"])
    manifest = tmp_path / "out.manifest.json"
    result = masktron.rerun(manifest, month("february.sav", 98), tmp_path / "new.sav", dry_run=True)
    assert result.changes == ()


def test_all_kinds_are_tried_here() -> None:
    """A kind of change that no test names would be one that nobody has seen."""
    text = Path(__file__).read_text() + Path(__file__).with_name("test_rerun_nested.py").read_text()
    assert [kind for kind in KINDS if f'"{kind}"' not in text] == []


def test_both_runs_side_by_side(months: Months, out: Path) -> None:
    february = changed(7, C="c")(rows_of(2, 70))
    result = months.rerun(february, out)
    assert out.exists()
    assert result.run is not None
    assert (result.records_before, result.records_after) == (60, 70)
    assert not result.same_original
    before = {figure.name: figure.value for figure in months.result.figures}
    after = {figure.name: figure.value for figure in result.run.figures}
    assert [(one.name, one.before, one.after) for one in result.figures] == [
        (name, pytest.approx(before[name], nan_ok=True), pytest.approx(after[name], nan_ok=True)) for name in before
    ]
    blocks = {block.variables: (block.aggregator, block.groups) for block in result.run.blocks}
    assert {one.variables: (one.aggregator_after, one.groups_after) for one in result.blocks} == blocks
    then = {block.variables: (block.aggregator, block.groups) for block in months.result.blocks}
    assert {one.variables: (one.aggregator_before, one.groups_before) for one in result.blocks} == then
    keys = [json.loads(path.read_text())["secret"] for path in (months.manifest, out.with_name("out2.manifest.json"))]
    assert keys[0] != keys[1], "another file has a secret of its own"
    conforms(result.as_dict(), "rerun")
    manifest = json.loads(out.with_name("out2.manifest.json").read_text())
    conforms(manifest, "manifest")
    again = masktron.rerun(
        out.with_name("out2.manifest.json"),
        months.data,
        out.with_name("out3.xml"),
        rules=months.rules,
        documents={"codes.xml": months.codes},
    )
    assert [one.kind for one in again.changes] == [], "a repeated run can be repeated"


def test_the_same_file_gives_the_same_bytes_and_says_so(months: Months, out: Path) -> None:
    result = months.rerun(months.data, out)
    assert (result.same_original, result.same_bytes, result.changes) == (True, True, ())
    assert out.read_bytes() == (months.folder / "out.xml").read_bytes()
    assert "the same file: the masked file is the same, byte for byte" in result.notes
    other = months.rerun(months.data, out.with_name("out3.xml"), roles={"U": "identifier"})
    assert (other.same_bytes, other.changes[0].kind) == (False, "role")
    assert any("the same file, and other bytes" in note and "role U" in note for note in other.notes)


def test_a_limit_that_held_and_does_not_hold_now(tmp_path: Path, out: Path) -> None:
    months = Months(tmp_path, limits={"information_loss": 30.0})
    assert months.result.information_loss <= 30
    scattered = [{**row, "S": (at * 7919) % 997} for at, row in enumerate(rows_of(2, 9))]
    with refused(ViolationError, "outside-limits") as caught:
        months.rerun(scattered, out)
    assert caught.value.exit_code == 1
    fields, figures, manifest = map(str, caught.value.problem.further)
    assert ("[[" in fields, "in the last run" in figures, "masktron mask" in manifest) == (False, True, True)
    assert not out.exists()


def test_a_rule_that_fails_now(months: Months, out: Path) -> None:
    with refused(InvalidOriginalError, "next-file-invalid", rules=("sum",)):
        months.rerun(changed(7, T=5)(rows_of(2)), out)
    assert not out.exists()


@pytest.mark.parametrize("dry", [(), ("--dry-run",)])
def test_changes_are_shown_where_records_break_rules(
    months: Months, out: Path, run: Runner, dry: tuple[str, ...]
) -> None:
    rules = write_book(out.parent, most="4999")
    data = write_data(out.with_name("february.xml"), changed(7, T=5)(rows_of(2)))
    done = run("rerun", months.manifest, data, "--out", out, "--rules", rules, "--accept", "other-rule", *dry)
    assert done.code == 1
    assert "stands in the way" in done.out and "other-rule" in done.out
    assert done.out.index("other-rule") < done.out.index("violation")
    assert not out.exists()


def test_what_cannot_be_repeated_is_named(months: Months, out: Path) -> None:
    content = json.loads(months.manifest.read_text())
    assert [one["codes"] for one in content["repeat"]["fields"] if one["name"] in "ST"] == [[], ["-9"]]
    wrong = months.folder / "wrong.json"

    repeat = content["repeat"]
    for code, parts in (
        ("manifest-too-old", {"repeat": "gone"}),
        ("manifest-too-old", {"repeat": {}}),
        ("not-a-manifest", {"repeat": 3}),
        ("not-a-manifest", {"secret": "x"}),
        ("not-a-manifest", {"result": {**content["result"], "records_out": math.inf}}),
        ("not-a-manifest", {"repeat": {**repeat, "settings": {**repeat["settings"], "k": 1}}}),
        ("needs-setting", {"rules": {**content["rules"], "path": "none.sch"}}),
    ):
        wrong.write_text(json.dumps({name: own for name, own in {**content, **parts}.items() if own != "gone"}))
        with refused(UsageError, code, where=wrong):
            masktron.rerun(wrong, months.data, out)
        assert not out.exists()
    for kind in ("new", "version"):
        with refused(UsageError, "unknown-name", name=kind):
            months.rerun(months.data, out, accept=[kind])
    with refused(UsageError, "setting-not-usable", name="k", reason="rerun takes no such setting"):
        months.rerun(months.data, out, k=3)
    with refused(UsageError, "would-overwrite", taken="the manifest of the last run"):
        masktron.rerun(months.manifest, months.data, months.manifest)


def test_no_value_of_a_record_is_told(months: Months, out: Path) -> None:
    secret = [
        {**row, "C": "hushhush", "S": "hush", "G": "hush-hush"} if at == 7 else row
        for at, row in enumerate(rows_of(2))
    ]
    with pytest.raises(ChangedInputError) as caught:
        months.rerun(secret, out)
    assert "record 8" in str(caught.value)
    assert "hush" not in str(caught.value) + json.dumps(caught.value.result.as_dict()) + repr(caught.value.result)


@pytest.mark.full
def test_the_register_of_the_last_run_is_that_of_the_next(tmp_path: Path, out: Path, run: Runner) -> None:
    months = Months(tmp_path, register=tmp_path / "releases.jsonl", secret=KEY)
    named: dict[str, Any] = {"register": tmp_path / "releases.jsonl"}
    result = months.rerun(months.data, out, **named)
    assert any("repeats an earlier release to the byte" in note for note in result.notes)
    for dry_run in (True, False):
        with pytest.raises(ReleasedBeforeError):
            months.rerun(rows_of(1)[1:], out.with_name("out3.xml"), dry_run=dry_run, **named)
    months.rerun(rows_of(1)[1:], out.with_name("out3.xml"), again="one respondent withdrew", **named)
    argv = ["rerun", months.manifest, months.data, "--out", out.with_name("out4.xml")]
    assert run(*argv, "--json", tmp_path / "releases.jsonl", "--again", "x").code == 2
    assert not out.with_name("out4.xml").exists()
    with refused(ChangedInputError, "changed-since-last-run"):
        months.rerun(rows_of(3), out)


@pytest.mark.few(1)
@pytest.mark.parametrize("option", ["--json", "--html", "--html-public"])
def test_what_is_written_beside_takes_the_place_of_nothing_that_the_manifest_names(
    tmp_path: Path, out: Path, run: Runner, option: str
) -> None:
    months = Months(tmp_path, register=tmp_path / "releases.jsonl", secret=KEY)
    argv = ["rerun", months.manifest, months.data, "--out", out, "--again", "x", option]
    for place, what in (
        (months.codes, "the document 'codes.xml'"),
        (tmp_path / "releases.jsonl", "the register of releases"),
        (tmp_path / "releases.jsonl.salt", "the salt"),
    ):
        before = place.read_bytes()
        done = run(*argv, place)
        assert (done.code, place.read_bytes(), out.exists()) == (2, before, False)
        assert code_of(done.err) == "would-overwrite" and what in done.err


@pytest.mark.full
def test_a_register_that_lacks_the_last_run_is_no_register_of_it(tmp_path: Path, out: Path) -> None:
    """Who restores an older copy of the register restores its count as well: the manifest alone knows better."""
    register = Register(tmp_path / "releases.jsonl", tmp_path / "releases.jsonl.salt")
    with opened_register(register) as book:
        book.add({"kind": "withdrawn", "id": "0" * 16})
    older = {path: path.read_bytes() for path in register.files.values()}
    months = Months(tmp_path, register=register.path)
    february = rows_of(2)
    named = {"register": register.path}
    assert months.changes(february, out, **named) == []
    newest = {path: path.read_bytes() for path in older}
    entry = json.loads(months.manifest.read_text())["register"]["id"]
    for path, content in older.items():
        path.write_bytes(content)
    assert months.changes(february, out, **named) == [("register", entry, True)]
    with refused(ChangedInputError, "changed-since-last-run") as caught:
        months.rerun(february, out, **named)
    assert "register" in caught.value.hint
    assert {path: path.read_bytes() for path in older} == older
    other = tmp_path / "other.jsonl"
    assert months.changes(february, out, register=other) == [("register", entry, True)]
    assert not other.exists()
    assert months.changes(february, out, register=None) == [("register", entry, True)]
    assert months.changes(february, out, register=other, accept=["register"]) == [("register", entry, False)]
    for path, content in newest.items():
        path.write_bytes(content)
    assert months.changes(february, out, **named) == []


def test_on_the_command_line(months: Months, out: Path, run: Runner) -> None:
    february = write_data(out.with_name("february.xml"), changed(N=3)(rows_of(2)))
    report = out.with_name("report.json")
    common = ["rerun", months.manifest, february, "--out", out, "--json", report]
    refused = run(*common)
    assert (refused.code, "new-field N" in refused.err, "yes" in refused.out) == (4, True, True)
    conforms(json.loads(report.read_text()), "rerun")
    dry = run(*common, "--role", "N=identifier", "--dry-run")
    assert (dry.code, "a dry run: nothing was written" in dry.out) == (0, True)
    assert not out.exists()
    done = run(*common, "--role", "N=identifier")
    assert (done.code, out.exists(), "last run" in done.out) == (0, True, True)
    invalid = write_data(out.with_name("march.xml"), changed(7, T=5)(rows_of(2)))
    assert run("rerun", months.manifest, invalid, "--out", out.with_name("out3.xml")).code == 1


def test_what_to_look_at_and_the_verdict_are_those_of_this_run(tmp_path: Path, out: Path, run: Runner) -> None:
    months = Months(tmp_path)
    february = write_data(out.with_name("february.xml"), changed(7, S=None)(rows_of(2)))
    report = out.with_name("report.json")
    done = run("rerun", months.manifest, february, "--out", out, "--json", report)
    assert done.code == 0
    told = json.loads(out.with_name("out2.manifest.json").read_text())["result"]
    kinds = [one["kind"] for one in told["concerns"]]
    assert "missing-otherwise" in kinds, "a missing S got a value"
    content = json.loads(report.read_text())
    conforms(content, "rerun")
    assert (content["concerns"], content["verdict"]) == (told["concerns"], told["verdict"])
    shown = " ".join(done.out.split())
    assert shown.count("look at:") == len(kinds)
    assert all(one["says"] in shown for one in told["concerns"])
    assert told["verdict"]["details"] in shown
    assert shown.endswith(
        f"Protection: {told['verdict']['protection']['level']}. {told['verdict']['protection']['reason']}"
    )
    dry = months.rerun(february, out.with_name("out3.xml"), dry_run=True)
    assert (dry.concerns, dry.verdict) == ((), None)
    conforms(dry.as_dict(), "rerun")


@pytest.mark.full
def test_pages_and_all_tables_of_this_run(months: Months, out: Path, run: Runner) -> None:
    february = write_data(out.with_name("february.xml"), rows_of(2))
    pages = [out.with_name(name) for name in ("report.html", "about.html")]
    common = ["rerun", months.manifest, february, "--out", out, "--html", pages[0], "--html-public", pages[1]]
    dry = run(*common, "--dry-run")
    assert (dry.code, "[given-twice]" in dry.err) == (2, True)
    done = run(*common, "--verbose")
    assert done.code == 0
    assert "settled by" in done.out, "a table of mask"
    assert ("CONFIDENTIAL" in pages[0].read_text(), "CONFIDENTIAL" in pages[1].read_text()) == (True, False)
    assert all(str(page.name) in done.out for page in pages)
    assert run(*common[:5], "--html", february).code == 2, "no page over the original"


def test_a_file_in_the_way_is_no_setting_of_the_manifest(tmp_path: Path) -> None:
    with refused(UsageError, "cannot-read") as caught:
        masktron.rerun(tmp_path / "none.json", tmp_path / "d.csv", tmp_path / "o.csv")
    assert problem_of(caught.value).further == ()


def test_a_rule_that_the_file_need_not_test_may_name_a_field_that_it_lacks(tmp_path: Path) -> None:
    data, rules = write_data(tmp_path / "d.xml", numbers(20)), tmp_path / "edits.rules"
    rules.write_text("sum: A + B == T\nlater: LATER >= 0\n")
    before = masktron.mask(data, rules, tmp_path / "m.xml", k=4, allow_unfired=("later",))
    again = masktron.rerun(before.manifest, data, tmp_path / "n.xml")
    assert again.same_bytes
    assert not again.changes
