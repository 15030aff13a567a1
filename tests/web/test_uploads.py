"""Uploads: streamed, whole or not kept, under harmless names."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

from masktron.web.runs.one_run import latest_run
from masktron.web.store.file_names import LONGEST, free_name, harmless_name
from masktron.web.store.projects import Project
from masktron.web.store.uploading import UploadLimits, UploadRefusedError, uploaded
from quick_masktron import put_before_masktron
from refusals import refused
from web_client import Office, codes_at, csrf_of, end_runs, made_office, sent

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


def form(*parts: tuple[str, str | None, bytes], boundary: str = "b", ended: bool = True) -> bytes:
    """Write a form: name, name of a file or None, content."""
    text = b""
    for name, file, content in parts:
        said = f'; filename="{file}"' if file is not None else ""
        text += f'--{boundary}\r\nContent-Disposition: form-data; name="{name}"{said}\r\n\r\n'.encode()
        text += content + b"\r\n"
    return text + (f"--{boundary}--\r\n".encode() if ended else b"")


def received(folder: Path, body: bytes, *, pieces: int = 1 << 16) -> Any:
    async def stream() -> AsyncIterator[bytes]:
        for at in range(0, len(body), pieces):
            yield body[at : at + pieces]

    found = UploadLimits(file=1000, room=5000)
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
    "no token": (form(("file", "a.csv", b"A")), 403, "form-refused"),
    "wrong token": (form(("csrf", None, b"wrong"), ("file", "a.csv", b"A")), 403, "form-refused"),
    "token after the file": (form(("file", "a.csv", b"A"), TOKEN), 403, "form-refused"),
    "too large": (form(TOKEN, ("file", "a.csv", b"A" * 1001)), 413, "upload-too-large"),
    "cut short": (form(TOKEN, ("file", "a.csv", b"A" * 100), ended=False), 400, "form-refused"),
    "cut in the file": (form(TOKEN, ("file", "a.csv", b"A" * 100))[:-40], 400, "form-refused"),
    "no file": (form(TOKEN), 400, "wrong-upload"),
    "not chosen": (form(TOKEN, ("file", "", b"")), 400, "wrong-upload"),
    "empty": (form(TOKEN, ("file", "a.csv", b"")), 400, "wrong-upload"),
    "two files": (form(TOKEN, ("file", "a.csv", b"A"), ("file", "b.csv", b"B")), 400, "wrong-upload"),
    "a field that never ends": (form(TOKEN, ("x", None, b"x" * 5000), ("file", "a.csv", b"A")), 400, "form-refused"),
    "a header that never ends": (form(TOKEN, ("x" * 9000, None, b"")), 400, "form-refused"),
    "no form": (b"A,B\n1,2\n", 400, "form-refused"),
    "nothing": (b"", 400, "form-refused"),
}


@pytest.mark.parametrize(("body", "status", "code"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused_leaves_nothing(tmp_path: Path, body: bytes, status: int, code: str) -> None:
    with refused(UploadRefusedError, code) as caught:
        received(tmp_path, body)
    assert caught.value.status == status
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Office]:
    put_before_masktron(tmp_path, monkeypatch)
    found = made_office(tmp_path, largest_upload=50_000)
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
    ("name", "size", "status", "code"),
    [("a.csv", 60_000, 413, "upload-too-large"), ("a.csv", 0, 400, "wrong-upload"), ("", 5, 400, "wrong-upload")],
)
def test_a_refused_upload_is_told_at_its_field(
    client: TestClient, project: Project, name: str, size: int, status: int, code: str
) -> None:
    answer = put(client, project, name, b"A" * size)
    assert (answer.status_code, codes_at(answer)) == (status, {"file": code})
    assert 'aria-invalid="true"' in answer.text
    assert list(project.files.iterdir()) == []


def test_uploads_of_other_sessions_are_refused(office: Office, client: TestClient, project: Project) -> None:
    assert put(client, project, "a.csv", b"A", token=csrf_of(office.browser())).status_code == 403
    assert put(client, project, "a.csv", b"A", token="").status_code == 403
    assert list(project.files.iterdir()) == []


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
