"""A release onto the name of an earlier one: the manifest of that one is kept, and brings its file back."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

import masktron
from attacks import KEY
from cli_runner import Runner, numbers, write_data, write_rules
from masktron.jobs import publishing
from nested_survey import ROLES, made
from plain_rows import write_csv
from schema_files import conforms


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return write_data(tmp_path / "d.xml", numbers()), write_rules(tmp_path / "r.sch", "A + B = T")


def kept(notes: tuple[str, ...]) -> list[str]:
    return [note for note in notes if note.startswith("an earlier release of this name was replaced")]


def names(folder: Path) -> set[str]:
    return {one.name for one in folder.iterdir() if ".manifest" in one.name}


def test_the_manifest_of_another_release_is_kept_and_brings_its_file_back(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    out, manifest = tmp_path / "m.xml", tmp_path / "m.manifest.json"
    assert not kept(masktron.mask(*pair, out, k=3).notes)
    first, told = out.read_bytes(), manifest.read_bytes()
    assert kept(masktron.mask(*pair, out, k=4).notes) == [
        "an earlier release of this name was replaced; its manifest is kept as m.manifest.1.json (confidential), as "
        "nothing else has the secret and the order of its records"
    ]
    copy = tmp_path / "m.manifest.1.json"
    assert copy.read_bytes() == told
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    # the same release once more: nothing is kept
    assert not kept(masktron.mask(*pair, out, k=4, secret=manifest).notes)
    assert names(tmp_path) == {"m.manifest.json", "m.manifest.1.json"}
    masktron.mask(*pair, out, k=3, secret=copy)
    assert out.read_bytes() == first
    assert names(tmp_path) == {"m.manifest.json", "m.manifest.1.json", "m.manifest.2.json"}


def test_a_run_that_is_refused_keeps_no_copy(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    out, given = tmp_path / "m.xml", tmp_path / "manifest-of-m"
    masktron.mask(*pair, out, k=3, manifest=given)
    before: dict[str, Any] = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    with pytest.raises(masktron.MasktronError):
        masktron.mask(*pair, out, k=3, manifest=given, limits={"linkage": 0.0, "unchanged": 0.0, "il1s": 0.0})
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    masktron.mask(*pair, out, k=4, manifest=given)
    assert (tmp_path / "manifest-of-m.1").read_bytes() == before["manifest-of-m"]


@pytest.mark.parametrize("removed", [False, True])
def test_the_copy_is_there_before_the_new_manifest_and_goes_with_an_error(
    tmp_path: Path, pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    out, copy = tmp_path / "m.xml", tmp_path / "m.manifest.1.json"
    masktron.mask(*pair, out, k=3)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}

    def fails(place: Any) -> None:
        assert copy.read_bytes() == before["m.manifest.json"] == (tmp_path / "m.manifest.json").read_bytes()
        if removed:  # by somebody else
            copy.unlink()
        raise masktron.DocumentError("cannot be settled", where=str(place))

    monkeypatch.setattr(publishing, "settle_publication", fails)
    with pytest.raises(masktron.DocumentError, match="cannot be settled"):
        masktron.mask(*pair, out, k=4)
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before


def test_the_same_bytes_by_another_key_or_from_another_original_are_another_release(tmp_path: Path) -> None:
    rows, rules, out = numbers(), write_rules(tmp_path / "r.sch", "A + B = T"), tmp_path / "m.xml"
    data, turned = write_data(tmp_path / "d.xml", rows), write_data(tmp_path / "turned.xml", rows[::-1])
    how: dict[str, Any] = {"k": len(rows), "order": "random", "max_observed_share": 100}
    one, other = tmp_path / "key", tmp_path / "another-key"
    one.write_text(KEY.hex())
    other.write_text(KEY[::-1].hex())
    runs = ((data, one), (data, one), (data, other), (turned, other))
    made = []
    for original, key in runs:
        notes = masktron.mask(original, rules, out, secret=key, **how).notes
        made.append((out.read_bytes(), len(kept(notes))))
    assert len({content for content, _ in made}) == 1
    assert [copies for _, copies in made] == [0, 0, 1, 1]


def test_of_a_link_the_copy_stands_beside_the_manifest_and_not_in_the_folder_of_the_link(
    tmp_path: Path, pair: tuple[Path, Path]
) -> None:
    given = tmp_path / "given away"
    secure = given / "secure"
    secure.mkdir(parents=True)
    masktron.mask(*pair, given / "m.xml", k=3, manifest=secure / "m.manifest.json")
    (given / "m.manifest.json").symlink_to(secure / "m.manifest.json")
    told = (secure / "m.manifest.json").read_bytes()
    notes = masktron.mask(*pair, given / "m.xml", k=4).notes
    assert names(given) == {"m.manifest.json"} and (given / "m.manifest.json").is_symlink()
    assert (secure / "m.manifest.1.json").read_bytes() == told
    assert str(secure / "m.manifest.1.json") in kept(notes)[0]


@pytest.mark.few(1)
@pytest.mark.skipif(os.name != "posix", reason="links and permissions of POSIX")
def test_what_has_the_name_of_a_copy_stays_as_it_is(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    out, place, elsewhere = tmp_path / "m.xml", tmp_path / "m.manifest.1.json", tmp_path / "public.json"
    masktron.mask(*pair, out, k=3)
    told = (tmp_path / "m.manifest.json").read_bytes()
    place.symlink_to(elsewhere)
    masktron.mask(*pair, out, k=4)
    copy = tmp_path / "m.manifest.2.json"
    assert copy.read_bytes() == told and stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert not elsewhere.exists()


@pytest.mark.parametrize("named", ["m.manifest.1.json", "m.manifest.22.json"])
def test_no_report_takes_the_name_of_a_copy_or_the_place_of_a_manifest(
    tmp_path: Path, pair: tuple[Path, Path], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    out, run = tmp_path / "m.xml", Runner(capsys)
    data, rules = pair
    masktron.mask(*pair, out, k=3)
    before = {one.name: one.read_bytes() for one in tmp_path.iterdir()}
    again = ("mask", data, "-r", rules, "-o", out, "-k", 4)
    refused = run(*again, "--json", tmp_path / named)
    refused.refuses(2, "would-overwrite")
    for words in (
        ("check", out, "-r", rules, "--json", tmp_path / "m.manifest.json"),
        ("validate", data, "-r", rules, "--html", tmp_path / "m.manifest.json"),
        ("mask", data, "-r", rules, "-o", tmp_path / "m.manifest.json"),
    ):
        refused = run(*words)
        refused.refuses(2, "would-overwrite")
    assert {one.name: one.read_bytes() for one in tmp_path.iterdir()} == before
    assert run(*again, "--json", tmp_path / "m.manifest.json.1").code == 0


def test_a_manifest_has_parts_of_levels_and_of_steps_where_there_are_some(tmp_path: Path) -> None:
    flat = write_csv(tmp_path / "flat.csv", [{"A": at, "B": 2 * at} for at in range(30)])
    rules = write_rules(tmp_path / "r.sch", "A <= B")
    nested, own = made(tmp_path, 3)
    several: dict[str, Any] = {"rare_units": "exclude", "max_observed_share": 100, "roles": ROLES}
    parts = []
    for data, book, settings in ((flat, rules, {}), (nested, own, several)):
        masktron.mask(data, book, tmp_path / f"out{data.suffix}", k=3, **settings)
        manifest = json.loads((tmp_path / "out.manifest.json").read_text())
        conforms(manifest, "manifest")
        parts.append({"nested", "treatments", "translated", "register"}.intersection(manifest))
        (tmp_path / "out.manifest.json").unlink()
    assert parts == [set(), {"nested"}]
    blocks = manifest["nested"]["blocks"]
    assert {name for one in blocks for name in one["variables"]} > {"Person.1.Wage", "Person.2.Wage"}
    assert not any("Person." in name for one in manifest["result"]["blocks"] for name in one["variables"])
