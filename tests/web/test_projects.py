"""Projects on disk: settings, history with undo, what is kept how long; and the pages about them."""

from __future__ import annotations

import gc
import json
import os
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masktron.errors import UsageError
from masktron.problems.problem import Field, Known, Problem, Setting, SettingName, format_option
from masktron.settings_file import load_config
from masktron.toml_text import toml_text
from masktron.web.runs import run_queue
from masktron.web.runs.one_run import CommandRun, ToldError, prepared_run, runs_of
from masktron.web.server import sole_server
from masktron.web.store import projects
from masktron.web.store.projects import Project, ProjectGoneError, ProjectStore
from masktron.web.web_page import FormFields, problem_of
from refusals import problem_of as problem_in
from refusals import refused
from web_client import Office, codes_at, codes_of, csrf_of, sample_of, sent, undone


@pytest.fixture
def store(tmp_path: Path) -> ProjectStore:
    return ProjectStore(tmp_path / "store")


@pytest.fixture
def project(store: ProjectStore) -> Project:
    return store.make("a survey")


def test_an_address_names_no_path(store: ProjectStore, project: Project) -> None:
    for identity in (f"../{store.root.name}/{project.identity}", project.identity.upper(), "", ".."):
        assert store.get(identity) is None
    assert store.get(project.identity) == project
    assert list(store.all()) == [project]
    inside = [Path(where) for where, _, _ in os.walk(store.root)]
    assert all(one.stat().st_mode & 0o077 == 0 for one in inside)


@pytest.mark.parametrize("name", ["", "   ", "x" * 101])
def test_names_of_projects(store: ProjectStore, name: str) -> None:
    with refused(UsageError, "bad-value", name="name", given=len(name.strip())):
        store.make(name)


def test_every_change_can_be_undone(project: Project) -> None:
    history = project.history
    states = []
    for number in (3, 4, 5):
        states.append(project.settings.text)
        project.settings.update({"k": number}, said=f"k is {number}")
    project.write({"rules.sch": b"<a/>"}, said="rules")
    assert [one.said for one in history.changes()][1:] == ["k is 3", "k is 4", "k is 5", "rules"]
    assert project.undo().said == "rules" and not project.has_rules
    for state in reversed(states):
        project.undo()
        assert project.settings.text == state
    with refused(UsageError, "page-outdated", reason="there is nothing left to undo"):
        project.undo()
    project.settings.update({"k": 9}, said="k is 9")
    project.undo()
    assert project.settings.text == ""
    assert history.changes()[-1].said == "Undone: k is 9"


def test_what_changes_nothing_is_no_change(project: Project) -> None:
    project.settings.update({"k": 3}, said="k is 3")
    project.settings.update({"k": 3}, said="k is 3")
    assert len(project.history.changes()) == 2


def test_a_history_that_was_cut_goes_on(project: Project) -> None:
    lines = project.folder / "history.jsonl"
    lines.write_text(lines.read_text() + '{"number": 2, "ti')
    project.settings.update({"k": 3}, said="k is 3")
    assert [one.said for one in project.history.changes()] == ["Project 'a survey' made", "k is 3"]


@pytest.mark.parametrize("name", ["../x.sch", "files/a.sch", "history.jsonl", ".x.sch", "x", "a/b.sch", "runs"])
def test_only_files_with_fixed_names_have_a_history(project: Project, name: str) -> None:
    with pytest.raises(ValueError, match="has no history"):
        project.write({name: b"x"}, said="x")


def test_settings_are_what_the_command_line_reads(project: Project) -> None:
    table = {"k": 7, "roles": {"A B": "record-id", "ü": "identifier"}, "nominal": ["A"], "limits": {"linkage": 5}}
    project.settings.update(table, said="settings")
    found = load_config(project.folder / "masktron.toml")
    assert (found.k, found.roles["A B"].value, found.nominal) == (7, "record-id", ("A",))
    assert project.settings.config == found
    project.settings.update({"roles": None}, said="no roles")
    assert project.settings.table == {"k": 7, "nominal": ["A"], "limits": {"linkage": 5}}


def test_comments_of_settings_stay(project: Project) -> None:
    text = "# why\nk = 5  # as ever\nmethod = 'mdav'\n\n[roles]\n# asked\nID = 'record-id'\nW = 'weight'  # theirs\n"
    project.settings.replace(text, said="uploaded")
    project.settings.update({"k": 7, "method": None, "roles": {"ID": "record-id", "N": "record-id"}}, said="k is 7")
    assert project.settings.table == {"k": 7, "roles": {"ID": "record-id", "N": "record-id"}}
    for comment in ("# why", "# as ever", "# asked", "# theirs"):
        assert comment in project.settings.text


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"k": 1}, "bad-value"), ({"kay": 1}, "unknown-name"), ({"roles": {"A": "kye"}}, "bad-value"),
        *(({name: value}, "not-in-projects") for name, value in (("secret", "0" * 64), ("seed", 1))),
        ({"executor": "dask", "scheduler": "tcp://attacker:8786"}, "not-in-projects"),
        ({"rules": {"a": "x > 1"}}, "not-in-projects"),
        *(({"documents": {"x": path}}, "file-outside-project") for path in ("/etc/passwd", "files/../../../x")),
        *(({"metadata": path}, "file-outside-project") for path in ("../other/files/m.xml", "..\\x")),
        *(({"register": one}, "file-outside-project") for one in ("/srv/register", {"path": "r", "salt": "../s"})),
    ],
)  # fmt: skip
def test_settings_that_cannot_be_are_refused(project: Project, changes: dict[str, Any], code: str) -> None:
    with refused(UsageError, code, where="masktron.toml") as caught:
        project.settings.update(changes, said="x")
    named = problem_in(caught.value).references
    assert str(named.get("name", named.get("setting"))).partition(".")[0] == next(iter(changes))
    assert project.settings.text == ""


@pytest.mark.parametrize("setting", ["metadata", "register"])
def test_a_link_in_a_folder_that_was_sent_leads_nowhere(project: Project, tmp_path: Path, setting: str) -> None:
    (tmp_path / "elsewhere").write_text("x")
    (project.files / "link").symlink_to(tmp_path / "elsewhere")
    (project.folder / "masktron.toml").write_text(f'{setting} = "files/link"\n')
    for reads in (lambda: project.settings.config, lambda: project.settings.for_run(2)):
        with refused(UsageError, "file-outside-project", setting=setting):
            reads()


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("k = ", "not-toml"), ("[" * 10_000, "not-toml"), ('metadata = "/etc/passwd"', "file-outside-project"),
        ("k = 1", "bad-value"),
    ],
)  # fmt: skip
def test_a_file_of_settings_is_checked_before_it_is_taken(project: Project, text: str, code: str) -> None:
    with refused(UsageError, code):
        project.settings.replace(text, said="x")
    project.settings.replace("# mine\nk = 4\n", said="x")
    assert project.settings.text == "# mine\nk = 4\n"
    assert project.settings.for_run(2) == b"# mine\nk = 4\n"


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
VALUE = st.one_of(TEXT, st.integers(-(2**53), 2**53), st.floats(allow_nan=False), st.booleans(), st.lists(TEXT))


@given(st.dictionaries(TEXT, st.one_of(VALUE, st.dictionaries(TEXT, st.one_of(VALUE, st.dictionaries(TEXT, VALUE))))))
def test_what_is_written_as_toml_is_read_as_it_was(table: dict[str, Any]) -> None:
    assert tomllib.loads(toml_text(table)) == table


@pytest.mark.parametrize(
    ("about", "fields", "named"),
    [
        (SettingName("k"), ("k", "method"), "k"),
        (Setting("-k", ("1",)), ("k",), "k"),
        (Setting("--role", ("AGE=kye",)), ("kind.AGE", "roles.AGE", "missing.AGE"), "roles.AGE"),
        (SettingName("missing", ("AGE",)), ("missing.AGE", "roles.AGE"), "missing.AGE"),
        (Field("SEX"), ("roles.AGE", "roles.SEX"), "roles.SEX"),
        (Field("A.B"), ("roles.B", "roles.A.B"), "roles.A.B"),
        (Setting("--max-block-records", ("9",)), ("max_block_records",), "max_block_records"),
        (Setting("--limit", ("linkage=x",)), ("k", "limits.linkage"), "limits.linkage"),
        (format_option("k", "x"), ("k", "method"), None),
        ("k", ("k",), None),
    ],
)
def test_errors_are_shown_at_the_input_that_they_are_about(
    about: object, fields: tuple[str, ...], named: str | None
) -> None:
    error = UsageError.of("bad-value", "w", name=about, expected="x", given="y")
    told = json.loads(json.dumps(problem_in(error).as_dict()))
    for one in (error, ToldError.read({**TOLD, **told})):
        found = problem_of(one, fields)
        assert (found.code, found.where, found.field) == ("bad-value", "w", named)


TOLD = {"kind": "UsageError", "what": "of k", "where": "", "hint": "", "exit_code": 2}


def test_an_error_that_is_a_sentence_alone_marks_no_input() -> None:
    assert problem_of(UsageError("k must be at least 2"), ("k",)).field is None
    assert problem_of(ToldError.read({**TOLD, "setting": "k"}), ("k",)).field == "k"
    # another version of masktron knows what this one does not
    assert ToldError.read({**TOLD, "code": "no-such-code", "references": {}}).what == "of k"
    empty = Problem("unknown-name", kind="rule", name="r", known=Known("r", ()))
    assert ToldError.read({**TOLD, **json.loads(json.dumps(empty.as_dict()))}).code == "unknown-name"


@pytest.mark.parametrize(
    "references",
    [
        [],
        {"known": {"known": 3}},
        {"kind": {"no such": 1}},
        {"kind": {"field": "A", "more": 1}},
        {"kind": {"note": "{"}},
    ],
)
def test_a_problem_that_somebody_else_has_written_leaves_the_error_as_it_is_told(references: object) -> None:
    assert ToldError.read({**TOLD, "code": "unknown-name", "references": references}).what == "of k"


def test_forms_are_read_field_by_field() -> None:
    form = FormFields([("a", " x "), ("b", "1"), ("b", "2"), ("role.A B", "record-id "), ("t", "a\r\nb ")])
    assert (form.text("a"), form.texts("b"), form.text("none"), form.raw("t")) == ("x", ["1", "2"], "", "a\nb ")
    assert form.with_prefix("role.") == {"A B": "record-id"}


def test_a_deletion_that_was_killed_is_ended_later(store: ProjectStore, project: Project) -> None:
    gone = project.folder.with_name(f".gone-{project.identity}")
    project.folder.rename(gone)
    assert store.newest() == []
    store.tidy()
    assert not gone.exists()


CHANGED: dict[str, Callable[[Project], object]] = {
    "rules": lambda project: project.write({"rules.sch": b"<a/>"}, said="rules"),
    "settings": lambda project: project.settings.update({"k": 3}, said="k"),
    "facts": lambda project: project.change_facts(said="x", name="other"),
    "undo": lambda project: project.undo(),
    "upload": lambda project: project.keep_upload(project.files / ".half", "a.csv"),
    "run": lambda project: prepared_run(project, "describe", ["describe"]),
    "cancel": lambda project: CommandRun(project, 1, "describe").cancel(),
}


@pytest.mark.parametrize("what", CHANGED)
def test_nothing_is_written_where_a_project_was(store: ProjectStore, project: Project, what: str) -> None:
    store.delete(project)
    with pytest.raises(ProjectGoneError):
        CHANGED[what](project)
    store.delete(project)  # by another window
    assert not project.folder.exists() and project.changed() == 0.0


def test_a_project_is_deleted_in_two_windows(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    client = office.browser()
    project, _ = sample_of(office, client)
    prepared_run(project, "describe", ["describe"])
    monkeypatch.setattr(ProjectStore, "get", lambda *_: project)
    found = runs_of(project)
    monkeypatch.setattr(run_queue, "runs_of", lambda _: found)  # as they were a moment ago
    for _ in range(2):
        assert sent(client, "/", "delete", project=project.identity).headers["location"] == "/"
        assert not project.folder.exists()


def test_what_was_left_of_a_project_goes(store: ProjectStore, project: Project) -> None:
    orphan = store.make("another").folder
    (orphan / "project.json").unlink()
    link = orphan.with_name("0" * 16)
    link.symlink_to(store.root)
    store.tidy()
    assert not orphan.exists() and project.is_there and link.is_symlink()


@pytest.mark.parametrize("when", ["before", "meanwhile"])
def test_a_page_of_a_project_that_is_deleted_meanwhile_says_that_there_is_nothing(
    office: Office, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    token = csrf_of(client, where)

    def deleting(self: Project) -> dict[str, int]:
        if self.is_there:
            office.store.delete(self)
        raise FileNotFoundError

    if when == "before":
        office.store.delete(project)
    else:
        monkeypatch.setattr(Project, "uploads", deleting)
    monkeypatch.setattr(ProjectStore, "get", lambda *_: project)  # it was there when the request came
    form = {"csrf": token, "action": "choose", "file": "household.xml"}
    for answer in (
        client.post(f"{where}/data", data=form),
        client.post(f"{where}/data", data={"csrf": token, "action": "read"}),
        client.post(f"{where}/data/upload", data={"csrf": token}, files={"file": ("a.csv", b"A\n")}),
        client.get(f"{where}/data"),
    ):
        assert answer.status_code == 404 and "nothing here" in answer.text
    assert not project.folder.exists()


def test_a_folder_of_projects_has_one_server(tmp_path: Path) -> None:
    with sole_server(tmp_path) as first, sole_server(tmp_path) as second:
        assert (first, second) == (True, False)
    with sole_server(tmp_path) as again:
        assert again


def test_a_click_opens_the_sample(office: Office) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    assert project.data() == "files/household.xml" and project.has_rules
    assert project.settings.config.k == 5
    text = client.get(where).text
    assert "household.xml" in text and "The way through" in text
    assert project.history.undoable() is not None


def test_the_history_is_shown_and_undone(office: Office) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    project.settings.update({"k": 6}, said="<b>k</b> is 6")
    text = client.get(f"{where}/history").text
    assert "&lt;b&gt;k&lt;/b&gt; is 6" in text and "<b>k" not in text
    assert undone(client, f"{where}/history").headers["location"] == f"{where}/history"
    assert project.settings.config.k == 5
    assert "(undone)" in client.get(f"{where}/history").text


@pytest.mark.parametrize(
    "page", [lambda where: "/", lambda where: where, lambda where: f"{where}/data", lambda where: f"{where}/history"]
)
def test_unknown_actions_are_refused(office: Office, page: Callable[[str], str]) -> None:
    client = office.browser()
    _, where = sample_of(office, client)
    answer = sent(client, page(where), "nothing-of-the-kind", page="/")
    assert (answer.status_code, codes_of(answer)) == (400, {"form-refused"})


def test_a_refused_form_comes_back_with_what_was_typed(office: Office) -> None:
    client = office.browser()
    answer = sent(client, "/", "new", name="x" * 101)
    assert answer.status_code == 422
    assert f'value="{"x" * 101}"' in answer.text and 'href="#name"' in answer.text
    assert codes_at(answer) == {"name": "bad-value"} and 'aria-invalid="true"' in answer.text


def test_script_in_names_is_shown_and_never_obeyed(office: Office) -> None:
    client = office.browser()
    name = '"><script>alert(1)</script>\u202e'
    where = sent(client, "/", "new", name=name).headers["location"]
    for path in ("/", where, f"{where}/history"):
        text = client.get(path).text
        assert "<script>alert" not in text and "\u202e" not in text
        assert "&lt;script&gt;alert(1)&lt;/script&gt;\\u202e" in text


@pytest.mark.parametrize(
    ("kind", "status"), [("text/plain", 415), ("multipart/form-data; boundary=x", 415), ("application/json", 415)]
)
def test_only_forms_are_read(office: Office, kind: str, status: int) -> None:
    client = office.browser()
    assert client.post("/", content=b"action=new", headers={"content-type": kind}).status_code == status


def test_forms_have_a_size(office: Office) -> None:
    client = office.browser()
    answer = sent(client, "/", "new", name="x" * 5_000_000)
    assert (answer.status_code, codes_of(answer)) == (413, {"form-refused"})
    pairs = "&".join("a=b" for _ in range(20_001))
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert client.post("/", content=pairs, headers=headers).status_code == 400


def test_settings_that_somebody_broke_are_told_on_the_page(office: Office) -> None:
    client = office.browser()
    project, where = sample_of(office, client)
    (project.folder / "masktron.toml").write_text("k = ")
    assert client.get(where).status_code == 200
    answer = sent(client, f"{where}/data", "read")
    assert answer.status_code == 422 and codes_of(answer) == {"not-toml"}


def test_what_cannot_be_removed_keeps_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = ProjectStore(tmp_path)
    first, second = (store.make(name) for name in ("a", "b"))
    gone = [one.folder.rename(one.folder.with_name(f".gone-{one.identity}")) for one in (first, second)]
    real, asked = shutil.rmtree, list[Path]()

    def stuck(folder: Path) -> None:
        asked.append(folder)
        if len(asked) == 1:
            raise PermissionError("no")
        real(folder)

    monkeypatch.setattr("masktron.web.store.projects.shutil.rmtree", stuck)
    store.tidy()
    assert sorted(asked) == sorted(gone) and [one for one in gone if one.exists()] == asked[:1]


@pytest.mark.full
def test_locks_are_kept_while_somebody_has_them(project: Project) -> None:
    name = str(project.folder)
    with project.lock() as held:
        assert held and project.lock() is project.lock() and name in projects._LOCKS
    gc.collect()
    assert name not in projects._LOCKS
