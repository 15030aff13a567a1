"""`rerun` of nested files in XML and in tables: the same bytes, changes told, no table of before taken unsaid."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import Runner, write_rules
from masktron.errors import UsageError
from masktron.jobs.rerun.repeating import ChangedInputError, InvalidNextFileError
from masktron.level_settings import levels_from, with_tables
from masktron.problems.wording import sentence
from nested_survey import ROLES, made
from nested_tables import ONE, TWO, levels, tables_of
from refusals import refused
from schema_files import conforms

SETTINGS: dict[str, Any] = {
    "k": 3, "roles": ROLES, "rare_units": "exclude", "max_observed_share": 100, "order": "random",
}  # fmt: skip
FORMS: Mapping[str, Mapping[str, Any] | None] = {"survey.xml": None, "households.csv": TWO, "flat.csv": ONE}


@dataclass(frozen=True)
class Survey:
    """A folder with a survey in three forms, and the manifest of a run on each."""

    folder: Path

    def mask(self, data: str, out: Path, **others: Any) -> masktron.MaskResult:
        said = FORMS[data]
        more = {} if said is None else {"levels": levels(said, self.folder)}
        return masktron.mask(self.folder / data, self.folder / "rules.sch", out, **{**SETTINGS, **more, **others})

    def manifest(self, data: str) -> Path:
        """Return the manifest of the run on a file, which is made where it is not there."""
        found = self.folder / f"masked-{Path(data).stem}.manifest.json"
        if not found.exists():
            self.mask(data, self.folder / f"masked-{data}")
        return found

    def changes(self, data: Path, out: Path, of: str = "households.csv", **given: Any) -> dict[tuple[str, str], str]:
        """Return what has changed by kind and place, in a dry run; ``!`` stands before what refuses."""
        try:
            found = masktron.rerun(self.manifest(of), data, out, dry_run=True, **given).changes
        except ChangedInputError as error:
            found = error.result.changes
        except InvalidNextFileError as error:
            found = error.changes
        assert not out.exists()
        return {(one.kind, one.place): f"{'!' if one.refuses else ''}{sentence(one.what)}" for one in found}

    def edited(self, name: str, target: Path, change: Callable[[list[str]], list[str]]) -> Path:
        """Write a file with other lines."""
        lines = (self.folder / name).read_text(encoding="utf-8").splitlines()
        target.write_text("\n".join(change(lines)) + "\n", encoding="utf-8")
        return target


@pytest.fixture(scope="module")
def survey(tmp_path_factory: pytest.TempPathFactory) -> Survey:
    folder = tmp_path_factory.mktemp("survey")
    data, _ = made(folder, 1, 24, gaps=0.1)
    tables_of(data, folder)
    return Survey(folder)


def with_one_more(field: int, by: int) -> Callable[[list[str]], list[str]]:
    """Add to a number of the first record of a table."""

    def change(lines: list[str]) -> list[str]:
        cells = lines[1].split(",")
        cells[field] = str(int(cells[field]) + by)
        return [lines[0], ",".join(cells), *lines[2:]]

    return change


def next_month(survey: Survey, folder: Path) -> tuple[Path, Path]:
    """Write both tables with ten more as benefit of the first person, and so as income and total."""

    def persons(lines: list[str]) -> list[str]:
        return with_one_more(4, 10)(with_one_more(5, 10)(lines))

    return (
        survey.edited("households.csv", folder / "households2.csv", with_one_more(3, 10)),
        survey.edited("persons.csv", folder / "persons2.csv", persons),
    )


@pytest.mark.few(1)
@pytest.mark.parametrize("data", FORMS)
def test_the_same_nested_file_gives_the_same_bytes(survey: Survey, tmp_path: Path, data: str) -> None:
    manifest, out = survey.manifest(data), tmp_path / f"again{Path(data).suffix}"
    result = masktron.rerun(manifest, survey.folder / data, out)
    assert (result.same_original, result.same_bytes, result.changes) == (True, True, ())
    former = survey.folder / f"masked-{data}"
    assert out.read_bytes() == former.read_bytes()
    if FORMS[data] is TWO:
        beside = Path(result.tables["Person"])
        assert beside == tmp_path / "again.Person.csv"
        assert beside.read_bytes() == (survey.folder / "masked-households.Person.csv").read_bytes()
        assert str(beside) in "".join(str(result).split())
    else:
        assert result.tables == {}
    (block,) = result.blocks
    assert sorted(block.variables) == ["Benefit", "Income", "Total", "Wage"]
    assert block.groups_before == block.groups_after > 0
    assert block.loss_before == block.loss_after
    assert [one.before for one in result.figures if one.name == "information_loss"] == [
        pytest.approx(block.loss_before, abs=1e-6)
    ]
    conforms(result.as_dict(), "rerun")
    conforms(json.loads(manifest.read_text(encoding="utf-8")), "manifest")
    told = json.loads(manifest.read_text(encoding="utf-8"))["repeat"]
    assert [field["name"] for field in told["fields"]] == [
        "@id", "Size", "Region", "Total", "Role", "Age", "Wage", "Benefit", "Income"
    ]  # fmt: skip
    assert list(told["rules"]) == ["size", "total", "head", "income", "wage", "benefit", "child-wage", "older"]
    assert told["levels"] == ["Household", "Household/Person"]
    assert [*told["tables"]] == (["Household", "Person"] if FORMS[data] is TWO else [])


@pytest.mark.full
def test_persons_alone_and_other_names_of_fields_are_repeated(survey: Survey, tmp_path: Path) -> None:
    first = survey.mask("survey.xml", tmp_path / "a.xml", protect="Person", roles={
        "@id": "identifier", "Household/Size": "untouched", "Region": "untouched", "Role": "untouched",
        "Person/Age": "quasi-identifier",
    })  # fmt: skip
    again = masktron.rerun(
        first.manifest, survey.folder / "survey.xml", tmp_path / "b.xml", rules=survey.folder / "rules.sch"
    )
    assert (again.same_bytes, again.changes) == (True, ())
    assert (tmp_path / "a.xml").read_bytes() == (tmp_path / "b.xml").read_bytes()
    found = masktron.rerun(
        first.manifest,
        survey.folder / "survey.xml",
        tmp_path / "c.xml",
        rules=survey.folder / "rules.sch",
        roles={"Age": "record-id"},
        dry_run=True,
    )
    assert [(one.kind, one.place, one.refuses) for one in found.changes] == [("role", "Age", False)]


@pytest.mark.full
def test_categories_and_codes_of_a_level_are_compared(survey: Survey, tmp_path: Path) -> None:
    roles = {name: role for name, role in ROLES.items() if name != "Region"} | {"Age": "weight"}  # of persons alone
    first = survey.mask(
        "survey.xml", tmp_path / "a.xml", roles=roles, nominal=["Household/Region"], missing={"Wage": ["-9"]}
    )
    text = (survey.folder / "survey.xml").read_text(encoding="utf-8")
    other = tmp_path / "other.xml"
    other.write_text(text.replace("<Region>S<", "<Region>W<", 1).replace("<Age>", "<Age>0", 1), encoding="utf-8")
    line = 1 + text[: text.index("<Region>S<")].count("\n")
    given: dict[str, Any] = {"dry_run": True, "rules": survey.folder / "rules.sch"}
    found = masktron.rerun(first.manifest, other, tmp_path / "b.xml", **given)
    assert [(one.kind, one.place, sentence(one.what)) for one in found.changes] == [
        (
            "new-category",
            "Region",
            f"1 category that the last file did not have, in a Household, line {line}",
        )
    ]
    again = masktron.rerun(first.manifest, survey.folder / "survey.xml", tmp_path / "b.xml", **given)
    assert again.changes == ()
    more = masktron.rerun(
        first.manifest, survey.folder / "survey.xml", tmp_path / "b.xml", missing={"Person/Wage": ["-8"]}, **given
    )
    assert [(one.kind, one.place, one.refuses) for one in more.changes] == [("missing-code", "Wage", False)]
    at = text.index("<Wage>")
    other.write_text(f"{text[:at]}<Wage>-9{text[text.index('</Wage>', at) :]}", encoding="utf-8")
    with pytest.raises(InvalidNextFileError) as caught:  # the code is no negative number, and no sum is right by it
        masktron.rerun(first.manifest, other, tmp_path / "b.xml", **given)
    assert caught.value.changes == ()
    other.write_text(text.replace("<Wage>", "<Wage>none", 1), encoding="utf-8")
    with refused(ChangedInputError, "changed-since-last-run") as changed:
        masktron.rerun(first.manifest, other, tmp_path / "b.xml", **given)
    assert "missing-code Wage: a text among numbers in a Person, line" in changed.value.what


def test_a_dry_run_says_what_would_be_done_to_households(survey: Survey, tmp_path: Path) -> None:
    households, persons = next_month(survey, tmp_path)
    result = masktron.rerun(
        survey.manifest("households.csv"), households, tmp_path / "b.csv", tables={"Person": persons}, dry_run=True
    )
    assert (result.same_original, result.changes) == (False, ())
    told = " ".join(result.notes)
    assert "would mask Total, Wage, Benefit, Income in" in told
    assert "left out: @id" in told
    assert "another file: a new secret would be made" in told
    assert "Person.1" not in str(result)
    assert {path.name for path in tmp_path.iterdir()} == {"households2.csv", "persons2.csv"}


@pytest.mark.full
def test_a_table_of_the_last_run_is_not_taken_beside_others_unsaid(survey: Survey, tmp_path: Path) -> None:
    households, persons = next_month(survey, tmp_path)
    out = tmp_path / "b.csv"
    found = survey.changes(households, out)
    assert [*found] == [("table", "Person")]
    assert found["table", "Person"].startswith("!it is the table of the last run, and that of Household is another")
    assert 'tables={"Person": "FILE"}' in found["table", "Person"]
    with pytest.raises(masktron.ViolationError):  # taken for this run's, and the total of one household is wrong
        masktron.rerun(survey.manifest("households.csv"), households, out, accept=["table"])
    other = {"tables": {"Person": persons}}
    assert survey.changes(survey.folder / "households.csv", out, **other) == {
        ("table", "Household"): "it is the table of the last run, and that of Person is another one"
    }
    assert survey.changes(households, out, tables={"Person": survey.folder / "persons.csv"}) == {
        ("table", "Person"): found["table", "Person"].removeprefix("!")
    }


def test_a_table_of_the_last_run_that_is_gone_is_named(survey: Survey, tmp_path: Path) -> None:
    content = json.loads(survey.manifest("households.csv").read_text(encoding="utf-8"))
    content["repeat"]["settings"]["levels"]["Person"]["data"] = str(tmp_path / "gone.csv")
    (tmp_path / "m.json").write_text(json.dumps(content), encoding="utf-8")
    with refused(UsageError, "needs-setting", name="levels.Person.data", setting="--table Person=FILE"):
        masktron.rerun(tmp_path / "m.json", survey.folder / "households.csv", tmp_path / "b.csv", dry_run=True)


@pytest.mark.full
def test_no_key_is_taken_over_where_one_table_has_changed(survey: Survey, tmp_path: Path) -> None:
    """Of a changed persons' table alone: the households are the same, and both together another file."""
    older = survey.edited("persons.csv", tmp_path / "persons2.csv", with_one_more(2, 0))
    head, *rows = older.read_text(encoding="utf-8").splitlines()
    cells = [row.split(",") for row in rows]
    for cell in cells:
        cell[2] = str(int(cell[2]) + (cell[1] != "child"))  # a year older, and every rule holds
    older.write_text("\n".join([head, *map(",".join, cells), ""]), encoding="utf-8")
    manifest, data, out = survey.manifest("households.csv"), survey.folder / "households.csv", tmp_path / "b.csv"
    result = masktron.rerun(manifest, data, out, tables={"Person": older})
    assert (result.same_original, result.same_bytes) == (False, None)
    assert [(one.kind, one.place, one.refuses) for one in result.changes] == [("table", "Household", False)]
    keys = [json.loads(one.read_text(encoding="utf-8"))["secret"] for one in (manifest, Path(result.manifest))]
    assert None not in keys
    assert keys[0] != keys[1]


def no_numbers(lines: list[str]) -> list[str]:
    return [lines[0], *(",".join([*line.split(",")[:4], "much", line.split(",")[5]]) for line in lines[1:])]


PERSONS: dict[str, tuple[Callable[[list[str]], list[str]], dict[tuple[str, str], str]]] = {
    "a field gone": (
        lambda lines: [line.rpartition(",")[0] for line in lines],
        {("field-gone", "Income"): "!the file does not have it any more, or no value of it"},
    ),
    "a new field": (
        lambda lines: [f"{lines[0]},Hours", *(f"{line},4" for line in lines[1:])],
        {("new-field", "Hours"): "!nobody said what it is: --role Hours=untouched, for example"},
    ),
    "a new field of a name that households have": (
        lambda lines: [f"{lines[0]},Size", *(f"{line},4" for line in lines[1:])],
        {
            ("field-gone", "Size"): "!the file does not have it any more, or no value of it",
            ("new-field", "Household/Size"): "!nobody said what it is: --role Household/Size=untouched, for example",
            ("new-field", "Person/Size"): "!nobody said what it is: --role Person/Size=untouched, for example",
        },
    ),
    "texts for numbers": (no_numbers, {("type", "Benefit"): "!it held numbers, and holds texts"}),
    "a negative number for the first time": (
        with_one_more(3, -100_000),
        {("negative", "Wage"): "a negative number in a Person, line 2, and there was none before; --missing "
         "Wage=CODE, if that is a code for missing values"},
    ),
    "an age missing for the first time": (
        lambda lines: [lines[0], lines[1].replace(lines[1].split(",")[2], "", 1), *lines[2:]],
        {("missing-values", "Age"): "no value in a Person, line 2, and none lacked one before"},
    ),
}  # fmt: skip


@pytest.mark.few(2)
@pytest.mark.usefixtures("at_terminal")
@pytest.mark.parametrize("change", PERSONS)
def test_each_change_of_a_persons_table_has_its_name(survey: Survey, tmp_path: Path, change: str) -> None:
    made_so, expected = PERSONS[change]
    persons = survey.edited("persons.csv", tmp_path / "persons2.csv", made_so)
    found = survey.changes(survey.folder / "households.csv", tmp_path / "b.csv", tables={"Person": persons})
    del found["table", "Household"]
    assert found == expected


def test_rules_and_levels_that_have_changed_are_told_as_they_are_written(survey: Survey, tmp_path: Path) -> None:
    text = (survey.folder / "rules.sch").read_text(encoding="utf-8")
    rules = tmp_path / "rules.sch"
    rules.write_text(text.replace("Age + 15", "Age + 14"), encoding="utf-8")
    found = survey.changes(survey.folder / "survey.xml", tmp_path / "b.xml", of="survey.xml", rules=rules)
    assert found == {("other-rule", "older"): "!its test, its context, or what it reads is another one"}
    spells, _ = made(tmp_path, 1, 24, spells=True)
    found = survey.changes(spells, tmp_path / "b.xml", of="survey.xml", rules=survey.folder / "rules.sch")
    assert found["record", "Household/Person/Spell"] == "!the last file had no such records"
    assert {("new-field", "Pay"), ("new-field", "Begin"), ("new-field", "End")} <= {*found}
    flat = tmp_path / "flat.xml"
    flat.write_text("<S><Household id='h1'><Size>1</Size><Region>N</Region><Total>3</Total></Household></S>")
    found = survey.changes(flat, tmp_path / "b.xml", of="survey.xml", rules=survey.folder / "rules.sch")
    assert found["record", "Household/Person"] == "!the file has no such records any more"
    assert found["field-gone", "Wage"].startswith("!")


def test_no_table_is_overwritten(survey: Survey, tmp_path: Path) -> None:
    households, persons = next_month(survey, tmp_path)
    beside = persons.rename(tmp_path / "b.Person.csv")
    before = beside.read_bytes()
    given = {"tables": {"Person": beside}, "dry_run": True}
    manifest = survey.manifest("households.csv")
    with refused(UsageError, "would-overwrite", output="the output", taken="the table of Person"):
        masktron.rerun(manifest, households, beside, **given)
    with refused(UsageError, "would-overwrite", output="the output of Person", taken="the table of Person"):
        masktron.rerun(manifest, households, tmp_path / "b.csv", **given)
    with refused(UsageError, "would-overwrite", output="the manifest", taken="the table of Person"):
        masktron.rerun(manifest, households, tmp_path / "c.csv", new_manifest=beside, **given)
    assert beside.read_bytes() == before


@pytest.mark.full
def test_a_table_of_the_last_release_stays(survey: Survey, tmp_path: Path) -> None:
    """`out` of a level names where the table of that release went."""
    own = levels(TWO, survey.folder)
    own["Person"]["out"] = former = tmp_path / "january-persons.csv"
    first = masktron.mask(
        survey.folder / "households.csv", survey.folder / "rules.sch", tmp_path / "a.csv", levels=own, **SETTINGS
    )
    stamp = former.stat().st_mtime_ns
    again = masktron.rerun(
        first.manifest,
        survey.folder / "households.csv",
        tmp_path / "b.csv",
        rules=survey.folder / "rules.sch",
        tables={"Person": survey.folder / "persons.csv"},
    )
    assert (again.same_bytes, again.tables) == (True, {"Person": str(tmp_path / "b.Person.csv")})
    assert former.stat().st_mtime_ns == stamp
    assert (tmp_path / "b.Person.csv").read_bytes() == former.read_bytes()


def test_a_table_is_read_as_that_of_the_last_run(tmp_path: Path) -> None:
    told = {"key": "PID", "data": "persons.csv", "format": "csv", "format_options": {"delimiter": ";"}}
    own = levels_from({"Household": {"key": "HID"}, "Person": told})
    other = {"Person": tmp_path / "other.CSV"}
    assert with_tables(own, other, keep_format=True)["Person"].format_options == {"delimiter": ";"}
    assert with_tables(own, other)["Person"].format_options == {}
    assert with_tables(own, {"Person": Path("other.parquet")}, keep_format=True)["Person"].format is None


def test_a_manifest_that_says_nothing_of_levels_is_refused(survey: Survey, tmp_path: Path) -> None:
    content = json.loads(survey.manifest("survey.xml").read_text(encoding="utf-8"))
    del content["repeat"]["levels"]
    (tmp_path / "old.json").write_text(json.dumps(content), encoding="utf-8")
    with refused(UsageError, "manifest-too-old"):
        masktron.rerun(tmp_path / "old.json", survey.folder / "survey.xml", tmp_path / "b.xml")


def test_the_command_line_names_tables(survey: Survey, tmp_path: Path, run: Runner) -> None:
    households, persons = next_month(survey, tmp_path)
    command = ["rerun", str(survey.manifest("households.csv")), str(households), "--out", str(tmp_path / "b.csv")]
    done = run(*command, "--dry-run")
    assert done.code == 4
    assert "--table" in done.err
    found = run(*command, "--dry-run", "--table", f"Person={persons}")
    assert found.code == 0
    assert "b.Person.csv" in "".join(found.out.split())
    wrong = run(*command, "--dry-run", "--table", f"Pers={persons}")
    wrong.refuses(2, "unknown-name")


@pytest.mark.few(1)
@pytest.mark.parametrize("rare", ["stop", "exclude"])
def test_few_left_out_are_told_as_rare_ones_only_where_these_are_left_out(
    tmp_path: Path, run: Runner, rare: str
) -> None:
    units = (
        f"<Household><Total>{30 + at + (at == 7)}</Total><Person><Income>30</Income></Person>"
        f"<Person><Income>{at}</Income></Person></Household>"
        for at in range(20)
    )
    data, rules, out = (tmp_path / name for name in ("survey.xml", "rules.sch", "out.xml"))
    data.write_text(f"<Survey>{''.join(units)}</Survey>", encoding="utf-8")
    write_rules(rules, "sum(Person/Income) = Total", context="Household")
    again = ("rerun", out.with_name("out.manifest.json"), data, "-o", tmp_path / "out2.xml")
    how = ("-k", "3", "--invalid", "exclude", "--rare-units", rare, "--max-observed-share", "100")
    for argv in (("mask", data, "-r", rules, "-o", out, *how), again):
        done = run(*argv, "--html-public", tmp_path / "about.html")
        assert done.code == 0, done.err
        said = " ".join(done.out.split())
        assert "note: 1 record that broke a rule" in said
        assert ("few households are like his" in said) == (rare == "exclude")
