"""Uploads: streamed, whole or not kept, under harmless names; and files that are picked from folders."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from masktron.errors import UsageError
from masktron.scratch import create_private
from masktron.web.runs.one_run import latest_run
from masktron.web.store import picking
from masktron.web.store.file_names import LONGEST, free_name, harmless_name
from masktron.web.store.picking import copied, listed
from masktron.web.store.projects import Project
from masktron.web.store.uploading import Uploaded, UploadLimits, UploadRefusedError, uploaded
from quick_masktron import put_before_masktron
from web_client import Office, csrf_of, end_runs, made_office, sent

NAMES = {
    "survey.csv": "survey.csv",
    "../../etc/passwd": "passwd",
    "..\\..\\boot.ini": "boot.ini",
    "C:\\data\\Umfrage 2024.sav": "Umfrage 2024.sav",
    "/absolute.csv": "absolute.csv",
    "..": "file",
    ".": "file",
    "": "file",
    ".bashrc": "bashrc",
    "-rf.csv": "rf.csv",
    "--out=x.csv": "out=x.csv",
    "a\0b\n\x1b[31m.csv": "a_b__[31m.csv",
    "evil\u202efdp.csv": "evil_fdp.csv",
    "<script>alert(1)</script>.csv": "script_.csv",
    'a"b;c|d$e`f.csv': "a_b_c_d_e_f.csv",
    "e\u0301tude.csv": "\u00e9tude.csv",
    "\ud83d\ude00.csv".encode("utf-16", "surrogatepass").decode("utf-16"): "_.csv",
    f"{'x' * 500}.csv.gz": f"{'x' * (LONGEST - 7)}.csv.gz",
    f"a.{'x' * 500}": "file",
}


@pytest.mark.parametrize(("said", "kept"), NAMES.items(), ids=range(len(NAMES)))
def test_names_become_harmless(said: str, kept: str) -> None:
    assert harmless_name(said) == kept


@given(st.text(max_size=300))
def test_every_name_is_one_plain_name(said: str) -> None:
    name = harmless_name(said)
    assert Path(name).name == name and name not in ("", ".", "..") and not name.startswith((".", "-", " "))
    assert len(name.encode()) <= LONGEST and name.isprintable() and harmless_name(name) == name


def test_a_name_that_is_taken_gets_a_number(tmp_path: Path) -> None:
    assert free_name(tmp_path, "a.csv.gz") == "a.csv.gz"
    (tmp_path / "a.csv.gz").touch()
    (tmp_path / "a-2.csv.gz").symlink_to(tmp_path / "nowhere")
    assert free_name(tmp_path, "a.csv.gz") == "a-3.csv.gz"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shared = tmp_path / "shared"
    (shared / "2024").mkdir(parents=True)
    for name in ("survey.csv", ".hidden.csv", "2024/a b.csv"):
        (shared / name).write_text("A\n1\n")
    (tmp_path / "secret.csv").write_text("S\n1\n")
    (shared / "out.csv").symlink_to(tmp_path / "secret.csv")
    (shared / "up").symlink_to(tmp_path)
    (shared / "in.csv").symlink_to(shared / "survey.csv")
    return shared


@pytest.mark.parametrize(
    "name",
    ["../secret.csv", "out.csv", "up/secret.csv", ".hidden.csv", "2024/../../secret.csv", "", "/etc/passwd", "2024",
     "none.csv", "2024/../survey.csv", "a\0", "./survey.csv/.."],
)  # fmt: skip
def test_nothing_outside_a_folder_can_be_picked(folder: Path, tmp_path: Path, name: str) -> None:
    place = tmp_path / "place"
    place.mkdir()
    with pytest.raises(UsageError, match="no such file"):
        copied(folder, name, place, 100)
    assert list(place.iterdir()) == []


def test_what_can_be_picked_is_listed_and_copied(folder: Path, tmp_path: Path) -> None:
    assert listed(folder) == (["2024"], [("survey.csv", 4)])
    assert listed(folder, "2024") == ([], [("a b.csv", 4)])
    for name in ("up", "..", "2024/../..", "/etc"):
        with pytest.raises(UsageError, match="no such folder"):
            listed(folder, name)
    copy = copied(folder, "2024/a b.csv", tmp_path, 4)
    assert copy.read_text() == "A\n1\n" and copy.name.startswith(".") and copy.stat().st_mode & 0o777 == 0o600
    os.mkfifo(folder / "pipe")
    for name, left, what in (("2024/a b.csv", 3, "no room"), ("pipe", 9, "no such file")):
        with pytest.raises(UsageError, match=what):
            copied(folder, name, folder / "2024", left)
    assert listed(folder, "2024") == ([], [("a b.csv", 4)])


def test_what_changes_while_it_is_copied_is_not_kept(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    place.mkdir()

    def create(path: Path) -> int:
        with (folder / "survey.csv").open("a") as stream:
            stream.write("2\n" * 2_000_000)
        return create_private(path)

    monkeypatch.setattr(picking, "create_private", create)
    with pytest.raises(UsageError, match="changed the file"):
        copied(folder, "survey.csv", place, 100)
    assert list(place.iterdir()) == []


def form(*parts: tuple[str, str | None, bytes], boundary: str = "b", ended: bool = True) -> bytes:
    """Write a form: name, name of a file or None, content."""
    text = b""
    for name, file, content in parts:
        said = f'; filename="{file}"' if file is not None else ""
        text += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{said}\r\n\r\n'.encode()
        text += content + b"\r\n"
    return text + (f"--{boundary}--\r\n".encode() if ended else b"")


def received(folder: Path, body: bytes, *, pieces: int = 1 << 16, pause: float = 0.0, **limits: Any) -> Any:
    async def stream() -> AsyncIterator[bytes]:
        for at in range(0, len(body), pieces):
            await asyncio.sleep(pause)
            yield body[at : at + pieces]

    found = UploadLimits(**{"file": 1000, "room": 5000, **limits})
    kind = "multipart/form-data; boundary=b"
    return asyncio.run(uploaded(stream(), kind, folder, limits=found, is_token=lambda given: given == "right"))


TOKEN = ("csrf", None, b"right")


@pytest.mark.parametrize("pieces", [1, 7, 1 << 16])
def test_a_file_arrives_byte_for_byte_however_it_is_cut(tmp_path: Path, pieces: int) -> None:
    content = bytes(range(256)) + b"\r\n--b\r--\r\n--bb"
    found = received(tmp_path, form(TOKEN, ("file", "../a.csv", content)), pieces=pieces)
    assert (found.name, found.size, found.half.read_bytes()) == ("a.csv", len(content), content)
    assert found.half.stat().st_mode & 0o777 == 0o600 and found.half.parent == tmp_path


@pytest.mark.parametrize("name", ["ankieta_łódź.csv", "έρευνα.csv", "調査.csv", "a\u202eb.csv", "caf\u00e9.csv"])
def test_names_in_any_script_are_taken(tmp_path: Path, name: str) -> None:
    assert received(tmp_path, form(TOKEN, ("file", name, b"A"))).name == harmless_name(name)


REFUSED = {
    "no token": (form(("file", "a.csv", b"A")), 403, {}),
    "wrong token": (form(("csrf", None, b"wrong"), ("file", "a.csv", b"A")), 403, {}),
    "token after the file": (form(("file", "a.csv", b"A"), TOKEN), 403, {}),
    "too large": (form(TOKEN, ("file", "a.csv", b"A" * 1001)), 413, {}),
    "cut short": (form(TOKEN, ("file", "a.csv", b"A" * 100), ended=False), 400, {}),
    "cut in the file": (form(TOKEN, ("file", "a.csv", b"A" * 100))[:-40], 400, {}),
    "no file": (form(TOKEN), 400, {}),
    "not chosen": (form(TOKEN, ("file", "", b"")), 400, {}),
    "empty": (form(TOKEN, ("file", "a.csv", b"")), 400, {}),
    "two files": (form(TOKEN, ("file", "a.csv", b"A"), ("file", "b.csv", b"B")), 400, {}),
    "a field that never ends": (form(TOKEN, ("x", None, b"x" * 5000), ("file", "a.csv", b"A")), 400, {}),
    "a header that never ends": (form(TOKEN, ("x" * 9000, None, b"")), 400, {}),
    "no form": (b"A,B\n1,2\n", 400, {}),
    "nothing": (b"", 400, {}),
}


@pytest.mark.parametrize(("body", "status", "limits"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_nothing(tmp_path: Path, body: bytes, status: int, limits: dict[str, int]) -> None:
    with pytest.raises(UploadRefusedError) as caught:
        received(tmp_path, body, **limits)
    assert caught.value.status == status
    assert list(tmp_path.iterdir()) == []


def test_an_upload_that_stands_still_or_crawls_ends(tmp_path: Path) -> None:
    body = form(TOKEN, ("file", "a.csv", b"A" * 900))
    with pytest.raises(UploadRefusedError, match="stood still") as caught:
        received(tmp_path, body, pieces=200, pause=0.3, silence=0.1)
    assert caught.value.status == 408
    with pytest.raises(UploadRefusedError, match="too slow"):
        received(tmp_path, body, pieces=200, pause=0.05, patience=0.1, slowest=1e6)
    assert list(tmp_path.iterdir()) == []
    assert received(tmp_path, body, pieces=200, pause=0.05, patience=0.1, slowest=100.0).size == 900


@pytest.fixture
def office(tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    put_before_masktron(tmp_path, monkeypatch)
    found = made_office(tmp_path, pickable=(folder,), largest_upload=50_000)
    yield found
    end_runs(found)


@pytest.fixture
def project(office: Office) -> Project:
    return office.store.make("a survey")


def put(client: TestClient, project: Project, name: str, content: bytes, token: str | None = None) -> Any:
    where = f"/projects/{project.identity}/data"
    data = {"csrf": csrf_of(client, where) if token is None else token}
    return client.post(f"{where}/upload", data=data, files={"file": (name, content)})


def test_an_upload_becomes_the_data_and_is_looked_at(client: TestClient, project: Project) -> None:
    answer = put(client, project, "../<b>survey.csv", b"A,B\n1,2\n")
    assert (answer.status_code, answer.headers["location"]) == (303, f"/projects/{project.identity}/data")
    assert project.uploads() == {"_b_survey.csv": 8}
    assert project.data() == "files/_b_survey.csv"
    text = client.get(answer.headers["location"]).text
    assert "It waits for its turn" in text and "The file is being read" not in text and "<b>survey" not in text
    put(client, project, "_b_survey.csv", b"C\n1\n")
    assert project.data() == "files/_b_survey-2.csv"
    assert (project.files / "_b_survey.csv").read_bytes() == b"A,B\n1,2\n"


@pytest.mark.parametrize(
    ("name", "size", "status", "what"),
    [
        ("a.csv", 60_000, 413, "the file is larger"),
        ("a.csv", 0, 400, "the file is empty"),
        ("", 5, 400, "no file was chosen"),
    ],
)
def test_a_refused_upload_is_told_at_its_field(
    client: TestClient, project: Project, name: str, size: int, status: int, what: str
) -> None:
    answer = put(client, project, name, b"A" * size)
    assert (answer.status_code, what in answer.text) == (status, True)
    assert 'id="file-error"' in answer.text and 'aria-invalid="true"' in answer.text
    assert list(project.files.iterdir()) == []


def test_uploads_of_other_sessions_are_refused(office: Office, client: TestClient, project: Project) -> None:
    assert put(client, project, "a.csv", b"A", token=csrf_of(office.browser())).status_code == 403
    assert put(client, project, "a.csv", b"A", token="").status_code == 403
    assert list(project.files.iterdir()) == []


def test_uploads_that_come_at_the_same_time_are_no_more_than_may_be(
    client: TestClient, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def late(*words: Any, **named: Any) -> Uploaded:
        found = await uploaded(*words, **named)
        for name in ("b.csv", "c.csv"):  # these were begun later, and have ended before
            (project.files / name).write_bytes(b"A")
        return found

    monkeypatch.setattr("masktron.web.handlers.project_pages.MOST_UPLOADS", 2)
    monkeypatch.setattr("masktron.web.handlers.project_pages.uploaded", late)
    answer = put(client, project, "a.csv", b"A")
    assert (answer.status_code, "2 uploads already" in answer.text) == (413, True)
    assert {one.name for one in project.files.iterdir()} == {"b.csv", "c.csv"}


def test_files_are_picked_from_folders_and_copied(client: TestClient, project: Project, folder: Path) -> None:
    where = f"/projects/{project.identity}/data"
    assert "survey.csv" in client.get(where).text and "secret" not in client.get(where).text
    assert "a b.csv" in client.get(f"{where}?in=0:2024").text
    assert client.get(f"{where}?in=0:..").status_code == 422
    for chosen, number in (("../secret.csv", "0"), ("out.csv", "0"), ("survey.csv", "1"), ("survey.csv", "x")):
        answer = sent(client, where, "pick", file=chosen, folder=number)
        assert answer.status_code == 422 and project.data() is None
    assert sent(client, where, "pick", file="2024/a b.csv", folder="0").status_code == 303
    assert project.data() == "files/a b.csv" and project.uploads() == {"a b.csv": 4}
    assert "copied from a folder" in client.get(where).text
    # whoever may write into the folder puts a link there before the run begins
    (folder / "2024" / "a b.csv").unlink()
    (folder / "2024" / "a b.csv").symlink_to("/etc/passwd")
    run = latest_run(project, "describe")
    assert run is not None and "files/a b.csv" in run.command["arguments"]
    assert (project.files / "a b.csv").read_text() == "A\n1\n"
    assert sent(client, where, "pick", file="2024/a b.csv", folder="0").status_code == 422


def test_a_copy_that_the_disk_has_no_room_for_is_refused(
    office: Office, client: TestClient, project: Project, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(office.store, "left", lambda: 200_000)
    (folder / "huge.csv").write_bytes(b"A" * 300_000)
    answer = sent(client, f"/projects/{project.identity}/data", "pick", file="huge.csv", folder="0")
    assert answer.status_code == 422 and "no room left" in answer.text and project.uploads() == {}


def test_an_upload_is_removed_at_once(client: TestClient, project: Project) -> None:
    put(client, project, "a.csv", b"A\n1\n")
    where = f"/projects/{project.identity}/data"
    for name in ("../project.json", "b.csv", ""):
        assert sent(client, where, "remove", file=name).status_code == 422
    assert (project.folder / "project.json").exists()
    assert sent(client, where, "remove", file="a.csv").status_code == 303
    run = latest_run(project, "describe")
    assert run is not None and run.is_cancelled
    assert project.uploads() == {} and project.data() is None
    assert sent(client, where, "read").status_code == 422
