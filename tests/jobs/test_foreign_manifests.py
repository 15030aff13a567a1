"""Manifests that somebody sent: no path in one makes a command open or replace a file that the user did not name."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import masktron
from cli_runner import SCHEMATRON, Runner, numbers, write_data
from masktron.errors import MasktronError, UsageError
from nested_survey import ROLES, made
from nested_tables import TWO, levels, tables_of
from refusals import code_of, refused

_SEEN: list[str] | None = None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if _SEEN is not None and event in (
        "open",
        "os.rename",
        "os.remove",
        "os.link",
        "socket.connect",
        "sqlite3.connect",
    ):
        _SEEN.extend(str(one) for one in arguments)


sys.addaudithook(_watch)


@pytest.fixture
def opened() -> Iterator[list[str]]:
    """Keep what this process opens, moves or connects to."""
    global _SEEN  # noqa: PLW0603 -- an audit hook stays for ever
    _SEEN = []
    try:
        yield _SEEN
    finally:
        _SEEN = None


RULES = f"""<schema xmlns="{SCHEMATRON}"><pattern><rule context="Record">
<assert id="sum" test="A + B = T">sum</assert>
<assert id="codes" test="C = document('codes.xml')/codes/code">known</assert>
</rule></pattern></schema>"""


class Office:
    """A run that reads a file of every kind, all in one folder, and a folder beside it that nobody names."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.private = folder / "sent", folder / "private"
        self.folder.mkdir()
        self.private.mkdir()
        rows = [{"Id": at, **row, "C": "ab"[at % 2], "G": at % 4, "S": at % 2} for at, row in enumerate(numbers(60))]
        self.data = write_data(self.folder / "january.xml", rows)
        self.rules = self.folder / "rules.sch"
        self.rules.write_text(RULES)
        (self.folder / "codes.xml").write_text("<codes><code>a</code><code>b</code></codes>")
        (self.folder / "g.csv").write_text("0,low\n1,low\n2,high\n3,high\n")
        (self.folder / "s.csv").write_text("S,0,1\n0,0.9,0.1\n1,0.1,0.9\n")
        (self.folder / "about.json").write_text(json.dumps({"fields": [{"name": "A", "type": "integer"}]}))
        masktron.mask(
            self.data, self.rules, self.folder / "out.xml", k=3, roles={"Id": "identifier", "C": "untouched"},
            documents={"codes.xml": self.folder / "codes.xml"}, recode={"G": str(self.folder / "g.csv")},
            pram={"S": str(self.folder / "s.csv")}, metadata=self.folder / "about.json",
            register=self.folder / "releases.jsonl",
        )  # fmt: skip
        for path in [one for one in self.folder.iterdir() if one.name != "out.manifest.json"]:
            (self.private / path.name).write_bytes(path.read_bytes())
        self.content = json.loads((self.folder / "out.manifest.json").read_text())

    def manifest(self, change: Callable[[str], str]) -> Path:
        """Write the manifest with other paths."""
        own = str(self.folder)

        def changed(part: Any) -> Any:
            if isinstance(part, dict):
                return {name: changed(one) for name, one in part.items()}
            if isinstance(part, list):
                return [changed(one) for one in part]
            return change(part) if isinstance(part, str) and own in part else part

        path = self.folder / "sent.manifest.json"
        path.write_text(json.dumps(changed(self.content)))
        return path


@pytest.fixture(scope="module")
def office(tmp_path_factory: pytest.TempPathFactory) -> Office:
    return Office(tmp_path_factory.mktemp("office"))


def commands(office: Office, manifest: Path, out: Path) -> dict[str, Callable[[], Any]]:
    masked, named = office.folder / "out.xml", {"documents": {"codes.xml": office.folder / "codes.xml"}}
    return {
        "rerun": lambda: masktron.rerun(manifest, office.data, out / "b.xml", accept=["register"]),
        "rerun, rules named": lambda: masktron.rerun(
            manifest, office.data, out / "b.xml", rules=office.rules, accept=["register"], **named
        ),
        "check": lambda: masktron.check(masked, office.rules, manifest=manifest, original=office.data, **named),
        "assess": lambda: masktron.assess(masked, office.data, manifest=manifest, measures=["pil"]),
        "report": lambda: masktron.write_report(manifest, html=out / "page.html"),
        "report, files named": lambda: masktron.write_report(
            manifest, html=out / "page.html", masked=masked, original=office.data
        ),
    }


@pytest.mark.few(2)
@pytest.mark.parametrize(
    "command", ["rerun", "rerun, rules named", "check", "assess", "report", "report, files named"]
)
def test_no_command_opens_what_a_foreign_manifest_names(
    office: Office, tmp_path: Path, opened: list[str], command: str
) -> None:
    manifest = office.manifest(lambda path: path.replace(str(office.folder), str(office.private)))
    before = {path: path.read_bytes() for path in office.private.iterdir()}
    opened.clear()
    commands(office, manifest, tmp_path)[command]()  # files of the same names lie beside the manifest
    assert [path for path in opened if str(office.private) in path] == []
    assert {path: path.read_bytes() for path in office.private.iterdir()} == before


@pytest.mark.few(1)
@pytest.mark.parametrize("address", ["postgresql://attacker/db?table=t", "sqlite:{}?table=t", "duckdb:{}?table=t"])
def test_no_command_connects_to_what_a_foreign_manifest_names(
    office: Office, tmp_path: Path, opened: list[str], address: str
) -> None:
    named = address.format(office.private / "x.db")
    manifest = office.manifest(lambda path: named if path.endswith((".xml", ".sch")) else path)
    for command, call in commands(office, manifest, tmp_path).items():
        opened.clear()
        try:
            call()
        except UsageError:
            assert command == "rerun"
        except MasktronError as error:
            pytest.fail(f"{command}: {error}")
        assert [one for one in opened if "x.db" in one or "attacker" in one or "5432" in one] == []


def test_no_manifest_names_a_scheduler_a_register_or_an_output(
    office: Office, tmp_path: Path, opened: list[str]
) -> None:
    content = json.loads((office.folder / "out.manifest.json").read_text())
    content["repeat"]["settings"] |= {"executor": "dask", "scheduler": "tcp://attacker:8786"}
    manifest = office.folder / "dask.manifest.json"
    manifest.write_text(json.dumps(content))
    before = (office.folder / "releases.jsonl").read_bytes()
    opened.clear()
    result = masktron.rerun(manifest, office.data, tmp_path / "b.xml", accept=["register"])
    assert not [one for one in opened if "releases.jsonl" in one or "attacker" in one]
    assert result.same_bytes
    assert (office.folder / "releases.jsonl").read_bytes() == before, "the register was not named"
    again = masktron.rerun(
        manifest, office.data, tmp_path / "c.xml", register=office.folder / "releases.jsonl", again="named"
    )
    assert again.same_bytes
    assert (office.folder / "releases.jsonl").read_bytes() != before


@pytest.mark.parametrize("link", ["sub/../releases.jsonl", "link.jsonl"])
def test_no_output_replaces_the_register_of_the_last_run(
    office: Office, tmp_path: Path, capsys: pytest.CaptureFixture[str], link: str
) -> None:
    (office.folder / "sub").mkdir(exist_ok=True)
    if not (office.folder / "link.jsonl").is_symlink():
        (office.folder / "link.jsonl").symlink_to("releases.jsonl")
    before = (office.folder / "releases.jsonl").read_bytes()
    words = ("rerun", office.folder / "out.manifest.json", office.data, "-o", tmp_path / "b.xml")
    run, overwriting = Runner(capsys), ("--accept", "register", "--json", office.folder / link)
    for register in ((), ("--register", tmp_path / "other.jsonl")):
        refused = run(*words, *overwriting, *register)
        refused.refuses(2, "would-overwrite", output="--json", taken="the register of releases of the last run")
    assert (office.folder / "releases.jsonl").read_bytes() == before


def test_a_name_as_long_as_a_page_is_shortened(office: Office, tmp_path: Path, run: Runner) -> None:
    manifest = office.manifest(lambda path: "x" * 5000 if path.endswith("codes.xml") else path)
    refused = run("rerun", manifest, office.data, "-o", tmp_path / "b.xml")
    assert (refused.code, "documents.codes.xml" in refused.err, len(refused.err) < 1000) == (2, True, True)


def test_files_that_have_moved_are_named(office: Office, tmp_path: Path, run: Runner) -> None:
    (tmp_path / "alone").mkdir()
    manifest = tmp_path / "alone" / "sent.manifest.json"
    manifest.write_bytes(office.manifest(lambda path: path.replace("/sent/", "/private/")).read_bytes())
    words: list[object] = ["rerun", manifest, office.data, "-o", tmp_path / "b.xml", "--accept", "register"]
    words += ["--rules", office.rules]
    named = {
        "documents.codes.xml": ("--document", f"codes.xml={office.private / 'codes.xml'}"),
        "metadata": ("--metadata", office.private / "about.json"),
        "recode.G": ("--recode", f"G={office.private / 'g.csv'}:1"),
        "pram.S": ("--pram", f"S={office.private / 's.csv'}"),
    }
    for _ in named:
        done = run(*words)
        done.refuses(2, "needs-setting")
        [setting] = [one for one in named if f": {one} needs" in done.err]
        option, file = named[setting]
        assert f"-> give {option} " in done.err
        words += [option, file]
    done = run(*words)
    assert done.code == 0, done.err
    assert (tmp_path / "b.xml").read_bytes() == (office.folder / "out.xml").read_bytes()
    other = run(*words, "--recode", "S=width:5")
    assert (other.code, code_of(other.err), "--recode S=width:5" in other.err) == (2, "setting-not-usable", True)


def test_a_folder_that_has_moved_is_complete_wherever_the_command_works(
    office: Office, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every file that the manifest names lies beside it: by its old path, a relative one, or its name alone."""
    own = tmp_path / "moved"
    own.mkdir()
    for name in ("codes.xml", "g.csv", "s.csv", "about.json", "rules.sch", "january.xml"):
        (own / name).write_bytes((office.folder / name).read_bytes())
    manifests = {
        "absolute": lambda path: path.replace(str(office.folder), str(office.private)),
        "relative": lambda path: path.replace(f"{office.folder}/", ""),
    }
    monkeypatch.chdir(tmp_path)
    for name, change in manifests.items():
        (own / "out.manifest.json").write_bytes(office.manifest(change).read_bytes())
        result = masktron.rerun(
            "moved/out.manifest.json", own / "january.xml", tmp_path / f"{name}.xml", accept=["register"]
        )
        assert result.same_bytes


@pytest.fixture(scope="module")
def households(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Mask households and persons, two tables; copies of the tables lie in a folder that nobody names."""
    folder = tmp_path_factory.mktemp("households")
    data, _ = made(folder, 1, 24, gaps=0.1)
    tables_of(data, folder)
    own = levels(TWO, folder)
    own["Person"]["out"] = folder / "b.Person.csv"
    masktron.mask(
        folder / "households.csv", folder / "rules.sch", folder / "b.csv", k=3, roles={**ROLES, "@id": "record-id"},
        rare_units="exclude", max_observed_share=100, levels=own,
    )  # fmt: skip
    (folder / "private").mkdir()
    for name in ("persons.csv", "b.Person.csv"):
        (folder / "private" / f"secret-{name}").write_bytes((folder / name).read_bytes())
    text = (folder / "b.manifest.json").read_text(encoding="utf-8")
    for name in ("persons.csv", "b.Person.csv"):
        text = text.replace(str(folder / name), str(folder / ".." / folder.name / "private" / f"secret-{name}"))
    (folder / "sub").mkdir()
    (folder / "sub" / "sent.manifest.json").write_text(text, encoding="utf-8")
    for name in ("households.csv", "b.csv", "rules.sch"):
        (folder / "sub" / name).write_bytes((folder / name).read_bytes())
    return folder


@pytest.mark.full
def test_a_table_beside_the_manifest_is_that_of_its_level(households: Path, tmp_path: Path) -> None:
    (tmp_path / "moved").mkdir()
    for name in ("persons.csv", "households.csv", "rules.sch"):
        (tmp_path / "moved" / name).write_bytes((households / name).read_bytes())
    text = (households / "b.manifest.json").read_text(encoding="utf-8").replace(f"{households}/", "elsewhere/")
    (tmp_path / "moved" / "b.manifest.json").write_text(text, encoding="utf-8")
    own = tmp_path / "moved"
    assert masktron.rerun(own / "b.manifest.json", own / "households.csv", tmp_path / "b.csv").same_bytes


def test_no_table_is_read_where_a_foreign_manifest_says(households: Path, tmp_path: Path, opened: list[str]) -> None:
    own = households / "sub"
    manifest, masked, original = own / "sent.manifest.json", own / "b.csv", own / "households.csv"
    tables: dict[str, Any] = {
        "tables": {"Person": households / "b.Person.csv"}, "original_tables": {"Person": households / "persons.csv"},
    }  # fmt: skip
    opened.clear()
    with refused(UsageError, "needs-setting", setting="--original-table Person=FILE"):
        masktron.check(masked, own / "rules.sch", manifest=manifest, original=original)
    with refused(UsageError, "needs-setting", setting="--original-table Person=FILE"):
        masktron.assess(masked, original, manifest=manifest)
    with pytest.raises(MasktronError):
        masktron.check(masked, own / "rules.sch", manifest=manifest)
    with refused(UsageError, "needs-setting", name="levels.Person.data", setting="--table Person=FILE"):
        masktron.rerun(manifest, original, tmp_path / "b.csv")
    page = masktron.write_report(manifest, html=tmp_path / "p.html", masked=masked, original=original)
    assert "a table of the masked file" in page.notes[0]
    assert [path for path in opened if "secret-" in path] == []
    assert masktron.check(masked, own / "rules.sch", manifest=manifest, original=original, **tables).complies
