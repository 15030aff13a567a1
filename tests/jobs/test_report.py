"""`masktron report`: pages of results that were kept, and what is refused before anything is written."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

import masktron
from cli_runner import Runner, write_data, write_rules
from masktron.errors import UsageError
from paths import ROOT
from refusals import code_of, refused
from secret_files import SecretFile, secret_file


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, SecretFile]:
    """A folder with a masked file, its manifest and some results as JSON."""
    folder = tmp_path_factory.mktemp("kept")
    file = secret_file(folder, 1)
    masked, manifest = folder / "out.csv", folder / "out.manifest.json"
    result = masktron.mask(file.data, file.rules, masked, roles={"GROUP": "untouched"})
    content = {
        "mask": result.as_dict(),
        "check": masktron.check(masked, file.rules, manifest=manifest).as_dict(),
        "combine": masktron.combine({"mean": ([10, 12, 14], [3, 4, 5])}).as_dict(),
        "validate": masktron.validate(file.data, file.rules).as_dict(),
    }
    for name, told in content.items():
        (folder / f"{name}.json").write_text(json.dumps(told))
    return folder, file


@pytest.mark.full
def test_both_editions_of_a_manifest(run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path) -> None:
    folder, _ = kept
    inside, outside, told = tmp_path / "in.html", tmp_path / "out.html", tmp_path / "told.json"
    done = run("report", folder / "out.manifest.json", "--html", inside, "--html-public", outside, "--json", told)
    assert done.code == 0
    assert f"written, CONFIDENTIAL: {inside}" in done.out
    assert f"written, for whoever gets the file: {outside}" in done.out
    assert [path.stat().st_mode & 0o077 for path in (inside, outside)] == [0, 0o044]
    result = json.loads(told.read_text())
    Draft202012Validator(json.loads((ROOT / "schemas/report.schema.json").read_text())).validate(result)
    assert [(page["edition"], page["pictures"] > 5) for page in result["pages"]] == [
        ("internal", True),
        ("public", False),
    ]


def test_a_page_and_what_was_written_at_once(run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path) -> None:
    page, told = tmp_path / "page.html", tmp_path / "told.json"
    done = run("report", kept[0] / "validate.json", "--html", page, "--json", told)
    assert done.code == 0 and page.is_file()
    assert [one["path"] for one in json.loads(told.read_text())["pages"]] == [page.as_posix()]


@pytest.mark.full
def test_pages_of_other_results(kept: tuple[Path, SecretFile], tmp_path: Path) -> None:
    folder, _ = kept
    page = tmp_path / "page.html"
    for name in ("check", "mask", "validate"):
        result = masktron.write_report(folder / f"{name}.json", html=page)
        assert result.about == name
        assert "CONFIDENTIAL" in page.read_text()


@pytest.mark.full
def test_files_that_moved_are_found_beside_the_manifest_or_missed_with_a_note(
    kept: tuple[Path, SecretFile], tmp_path: Path
) -> None:
    folder, file = kept
    manifest = tmp_path / "out.manifest.json"
    content = json.loads((folder / "out.manifest.json").read_text())
    for key in ("original", "output", "rules"):
        content[key]["path"] = f"/nowhere/{Path(content[key]['path']).name}"
    manifest.write_text(json.dumps(content))
    page = tmp_path / "page.html"
    bare = masktron.write_report(manifest, html=page)
    assert [note.partition(" is not beside")[0] for note in bare.notes] == ["the masked file", "the original"]
    assert "made without the two files" in page.read_text()
    with refused(UsageError, "needs-setting", setting="--rules RULES.sch"):
        masktron.write_report(manifest, html_public=page)
    (tmp_path / "out.csv").write_bytes((folder / "out.csv").read_bytes())
    whole = masktron.write_report(manifest, html=page, original=file.data, rules=file.rules)
    assert whole.notes == ()
    assert whole.pages[0].pictures > bare.pages[0].pictures


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["check.json"], "needs-setting"),
        (["check.json", "--html-public", "P"], "needs-setting"),
        (["check.json", "--html", "P", "--masked", "out.csv"], "needs-setting"),
        (["combine.json", "--html", "P"], "unknown-name"),
        (["secret.sch", "--html", "P"], "not-a-result"),
        (["nothing.json", "--html", "P"], "cannot-read"),
        (["list.json", "--html", "P"], "not-a-result"),
        (["half.json", "--html", "P"], "not-a-result"),
        (["out.manifest.json", "--html", "P", "--original", "out.csv"], "not-of-one-run"),
        (["out.manifest.json", "--html-public", "P", "--rules", "other.sch"], "not-of-one-run"),
        (["out.manifest.json", "--html", "out.csv", "--masked", "out.csv"], "would-overwrite"),
        (["out.manifest.json", "--html", "out.csv"], "would-overwrite"),
        (["out.manifest.json", "--html", "P", "--html-public", "secret.sch"], "would-overwrite"),
        (["broken.manifest.json", "--html", "P"], "not-a-manifest"),
    ],
)
def test_what_cannot_be_told_is_refused_and_nothing_is_written(
    run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path, arguments: list[str], code: str
) -> None:
    folder, file = kept
    (folder / "list.json").write_text("[1, 2]")
    (folder / "half.json").write_text('{"job": "check", "complies": true, "not_checked": []}')
    (folder / "other.sch").write_text(file.rules.read_text() + " ")
    content = json.loads((folder / "out.manifest.json").read_text())
    (folder / "broken.manifest.json").write_text(json.dumps(content | {"plan": 3}))
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    page = tmp_path / "page.html"
    named = [page if one == "P" else folder / one if "." in one else one for one in arguments]
    done = run("report", *named)
    assert (done.code, code_of(done.err)) == (2, code)
    assert "Traceback" not in done.err
    assert not page.exists()
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == before


def test_mask_writes_both_editions_and_a_page_of_what_it_refuses(
    run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path
) -> None:
    _, file = kept
    inside, outside = tmp_path / "in.html", tmp_path / "out.html"
    options = ["-r", file.rules, "-o", tmp_path / "out.csv", "--role", "GROUP=untouched", "--html", inside]
    done = run("mask", file.data, *options, "--html-public", outside)
    assert done.code == 0
    assert "Masked file" in inside.read_text()
    assert "About this masked file" in outside.read_text()
    wrong = tmp_path / "wrong.csv"
    wrong.write_text(file.data.read_text().replace("\n", "\n1", 1))
    done = run("mask", wrong, *options)
    assert done.code == 1
    assert "Validation against edit rules" in inside.read_text()


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("command", "kind"),
    [
        (["validate", "DATA", "-r", "RULES"], "Validation against edit rules"),
        (["explain", "RULES", "--data", "DATA"], "Edit rules explained"),
        (["check", "OUT", "-r", "RULES"], "Check of a masked file"),
        (
            ["assess", "OUT", "--original", "DATA", "--measures", "linkage", "--manifest", "MANIFEST"],
            "against its original",
        ),
    ],
)
def test_every_command_writes_its_page(
    run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path, command: list[str], kind: str
) -> None:
    folder, file = kept
    places = {
        "DATA": file.data, "RULES": file.rules, "OUT": folder / "out.csv", "MANIFEST": folder / "out.manifest.json"
    }  # fmt: skip
    page = tmp_path / "page.html"
    done = run(*(places.get(one, one) for one in command), "--html", page)
    assert done.code == 0
    assert f"written, CONFIDENTIAL: {page}" in done.out
    assert kind in page.read_text()
    assert page.stat().st_mode & 0o077 == 0
    assert run(*(places.get(one, one) for one in command), "--html", places[command[1]]).code == 2


def test_without_matplotlib_a_page_is_refused_before_anything_is_computed(
    run: Runner, kept: tuple[Path, SecretFile], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, file = kept
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = tmp_path / "page.html"
    commands = (
        ["report", folder / "out.manifest.json"],
        ["mask", file.data, "-r", file.rules, "-o", tmp_path / "out.csv"],
        ["validate", file.data, "-r", file.rules],
    )
    for command in commands:
        done = run(*command, "--html", page)
        done.refuses(2, "package-missing", extra="report")
    assert [*tmp_path.iterdir()] == []
    assert "3 of 3 rules understood" in masktron.explain(file.rules)._repr_html_()  # which needs no picture


def test_a_page_of_a_refused_original_is_no_page_of_a_release(tmp_path: Path, run: Runner) -> None:
    data = write_data(tmp_path / "d.xml", [{"A": at - 1, "B": at} for at in range(40)])
    rules, page = write_rules(tmp_path / "r.sch", "A >= 0"), tmp_path / "report.html"
    refused = run("mask", data, "-r", rules, "-o", tmp_path / "o.xml", "--html", page)
    assert refused.code == 1 and page.exists() and not (tmp_path / "o.xml").exists()
    assert "nothing is masked; what the original breaks stands in, CONFIDENTIAL: " in " ".join(refused.out.split())
    assert "written" not in refused.out
