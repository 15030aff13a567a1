"""What files may do that the user did not name: each setting says so, and paths stay in a folder."""

from __future__ import annotations

import os
from dataclasses import fields
from pathlib import Path

import pytest

from masktron.addresses import is_inside, path_of
from masktron.config import Config
from masktron.jobs import in_units, released
from masktron.jobs.search import outcomes
from masktron.jobs.search.asked import TuneSettings
from masktron.level_settings import LevelSetting
from masktron.sources.known_formats import XML, format_names, table_format
from masktron.trust import PARTS_OF_FILES, file_beside, trust_of, without_named_only

NO_SETTINGS = {
    Config: {"found", "given_rules", "recoded_unnamed", "spare_documents"},
    LevelSetting: {"name", "numbered"},
    TuneSettings: {"least", "wider"},
}


@pytest.mark.parametrize("kind", NO_SETTINGS)
def test_every_setting_says_what_a_file_may_do_that_nobody_named(kind: type) -> None:
    undeclared = {one.name for one in fields(kind)} - trust_of(kind).keys()
    assert undeclared == NO_SETTINGS[kind], "declare the new setting: see masktron.trust"


def test_what_runs_code_writes_or_reads_a_secret_is_for_named_files() -> None:
    only = {name for name, trust in trust_of(Config).items() if trust.named_only}
    assert only == {"executor", "scheduler", "register", "secret", "seed"}
    assert [name for name, trust in trust_of(LevelSetting).items() if trust.named_only] == ["out"]


def test_settings_that_hold_paths_say_which() -> None:
    """A setting whose type is a path, or that was seen to name a file, declares it or is for named files."""
    told = {kind: {name for name, one in trust_of(kind).items() if one.files is not None} for kind in NO_SETTINGS}
    for kind in NO_SETTINGS:
        typed = {one.name for one in fields(kind) if "Path" in str(one.type)}
        assert typed <= told[kind] | {name for name, one in trust_of(kind).items() if one.named_only}
    assert told[Config] == {"documents", "metadata", "recode", "pram", "register"}
    assert told[LevelSetting] == {"data", "out"}
    assert told[TuneSettings] == {"recode", "pram"}


def test_lists_of_settings_name_settings_alone() -> None:
    """What is no setting gets nowhere by itself, so that no list has to leave it out."""
    assert Config().settings.keys() == trust_of(Config).keys()
    for names in (released._ELSEWHERE, released._OF_THE_RUN, in_units._NOT_IN_PARTS, outcomes._SPARED):
        assert names <= trust_of(Config).keys()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    own = tmp_path / "own"
    (own / "inner").mkdir(parents=True)
    for name in ("own/a.csv", "own/inner/b.csv", "secret.csv"):
        (tmp_path / name).write_text("x\n")
    (own / "link.csv").symlink_to(tmp_path / "secret.csv")
    (own / "up").symlink_to(tmp_path)
    (own / "circle").symlink_to("circle")
    return own


@pytest.mark.parametrize(
    ("path", "inside"),
    [
        ("own/a.csv", True),
        ("own/inner/../a.csv", True),
        ("own/inner/b.csv", True),
        ("own/not-there.csv", True),
        ("secret.csv", False),
        ("own/../secret.csv", False),
        ("own/link.csv", False),
        ("own/up/secret.csv", False),
        ("own/up/own/a.csv", True),
        ("sqlite:own/a.db?table=t", False),
        ("postgresql://host/db?table=t", False),
        ("own/a\0.csv", False),
        ("own/circle", False),
        ("//server/share/a.csv", False),
    ],
)
def test_a_path_is_inside_a_folder_whatever_it_looks_like(
    folder: Path, monkeypatch: pytest.MonkeyPatch, path: str, *, inside: bool
) -> None:
    monkeypatch.chdir(folder.parent)
    assert is_inside(Path(path), Path("own")) is inside
    assert is_inside(Path(path), folder) is inside


def test_what_lies_elsewhere_by_its_name_is_not_looked_up(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    real = os.path.realpath
    monkeypatch.setattr(os.path, "realpath", lambda path, **given: (asked.append(str(path)), real(path, **given))[1])
    assert not is_inside(Path("//server/share/a.csv"), folder)
    assert "//server/share/a.csv" not in asked


def test_a_file_of_a_manifest_is_found_beside_named_files_alone(folder: Path) -> None:
    manifest = folder / "m.json"
    assert file_beside(folder / "a.csv", manifest) == folder / "a.csv"
    assert file_beside(Path("/nowhere/a.csv"), manifest) == folder / "a.csv"
    assert file_beside(folder.parent / "secret.csv", manifest) is None
    assert file_beside(Path("link.csv"), manifest) is None
    assert file_beside(Path(".."), manifest) is None
    assert file_beside(Path("inner/b.csv"), manifest) == folder / "inner" / "b.csv"
    (folder / "survey").write_text("x\n")
    assert file_beside(path_of("sqlite:x.db?table=survey"), manifest) is None
    assert file_beside(Path("circle"), manifest) is None
    assert file_beside(Path("x" * 5000), manifest) is None


def test_options_that_choose_what_is_read_of_a_file_are_known() -> None:
    """A found file that chooses another table or sheet hides records."""
    assert (
        frozenset().union(*(table_format(name).choosing for name in format_names() if name != XML)) == PARTS_OF_FILES
    )


def test_named_settings_are_taken_out_of_tables_of_others() -> None:
    table = {"k": 3, "executor": "dask", "format_options": {"query": "select 1", "table": "t"}}
    assert without_named_only(table, Config) == {"k": 3, "format_options": {"table": "t"}}
    assert set(table) == {"k", "executor", "format_options"} and "query" in str(table)
