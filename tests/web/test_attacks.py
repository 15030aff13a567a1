"""What somebody may try: names, archives, rulebooks and data that are not what they say; by real commands."""

from __future__ import annotations

import io
import re
import tarfile
import zipfile
from html.parser import HTMLParser
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from masktron.web.pages.paging import whole_number
from masktron.web.runs.one_run import CommandRun, InRun, prepared_run, runs_of
from masktron.web.store.projects import Project
from quick_masktron import put_before_masktron
from web_client import Office, csrf_of, sample_of, sent, until

SCRIPT = "<script>alert(1)</script>"
PICTURE = "<img src=x onerror=alert(2)>"
TURN = "\u202egpj"


@pytest.fixture
def project(office: Office) -> Project:
    return office.store.make(f"{SCRIPT} survey")


def put(client: TestClient, project: Project, name: str, content: bytes) -> int:
    where = f"/projects/{project.identity}/data"
    answer = client.post(f"{where}/upload", data={"csrf": csrf_of(client, where)}, files={"file": (name, content)})
    return answer.status_code


def ended(office: Office, run: CommandRun) -> CommandRun:
    until(lambda: office.parts.queue.beat() is not None or run.is_over, within=90.0)
    return run


class Seen(HTMLParser):
    """The elements of a page, and the names of their attributes."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def require_harmless(text: str) -> None:
    """No script but ours, no picture, nothing that begins by ``on``, and no change of direction."""
    for tag, attributes in Seen(text).found:
        assert tag != "script" or re.fullmatch(r"/static/[a-z.]+", attributes["src"] or ""), attributes
        assert tag not in ("img", "iframe", "object", "embed", "svg")
        assert not any(name.startswith("on") or name == "style" for name in attributes), attributes
    assert not any(one in text for one in "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\x1b")


def archive(kind: str) -> bytes:
    content = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(content, "w") as made:
            made.writestr("../../evil.csv", "A\n1\n")
            made.writestr("/etc/evil.csv", "A\n1\n")
    else:
        with tarfile.open(fileobj=content, mode="w:gz") as packed:
            entry = tarfile.TarInfo("../../evil.csv")
            entry.size = 4
            packed.addfile(entry, io.BytesIO(b"A\n1\n"))
            link = tarfile.TarInfo("link")
            link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
            packed.addfile(link)
    return content.getvalue()


@pytest.mark.few(2)
@pytest.mark.parametrize("name", ["evil.zip", "evil.tar.gz", "evil.xlsx", "evil.csv.gz"])
def test_archives_are_kept_as_they_are_and_never_unpacked(
    office: Office, client: TestClient, project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    put_before_masktron(tmp_path, monkeypatch)
    content = archive("zip" if name.endswith(("zip", "xlsx")) else "tar")
    assert put(client, project, f"../../{name}", content) == 303
    (run,) = runs_of(project)
    ended(office, run)
    assert {one.name for one in project.files.iterdir()} == {name}
    assert (project.files / name).read_bytes() == content
    assert not [one for one in tmp_path.rglob("*") if one.name.startswith(("evil.csv", "link")) and one.name != name]


@pytest.mark.parametrize(
    "path",
    ["download/..%2fproject.json", "download/project.json", "download/%2e%2e%2frules.sch",
     "download/.sch/../user.json",
     "download/history.jsonl", "runs/0001-x/files/command.json", "runs/0001-x/files/..%2f..%2fproject.json",
     "runs/0001-x/files/.lock", "runs/..%2f..%2fx/files/a", "runs/0001-x/report/..%2fproject.json",
     "runs/0001-x/picture/link.svg", "runs/0001-x/report/link.html", "runs/0001-x/files/link.html", "files/a.csv"],
)  # fmt: skip
def test_no_path_leads_out_of_what_is_listed(client: TestClient, project: Project, path: str) -> None:
    run = prepared_run(project, "x", ["describe"])
    (project.files / "a.csv").write_text("A\n1\n")
    for name in ("link.html", "link.svg"):
        (run.folder / name).symlink_to("/etc/passwd")
    assert client.get(f"/projects/{project.identity}/{path}").status_code == 404


def test_pictures_and_downloads_of_a_run_carry_no_script(client: TestClient, project: Project) -> None:
    run = prepared_run(project, "x", ["describe"])
    (run.folder / "map.svg").write_text(f"<svg xmlns='http://www.w3.org/2000/svg'>{SCRIPT}</svg>")
    (run.folder / "page.html").write_text(SCRIPT)
    where = f"/projects/{project.identity}/runs/{run.name}"
    picture = client.get(f"{where}/picture/map.svg").headers["content-security-policy"]
    assert "script-src" not in picture and "default-src 'none'" in picture and "sandbox" in picture
    report = client.get(f"{where}/report/page.html").headers["content-security-policy"]
    assert "'unsafe-inline'" not in report.partition("script-src")[2] and "sandbox" in report
    file = client.get(f"{where}/files/page.html")
    assert file.headers["content-disposition"].startswith("attachment")
    assert file.headers["content-type"] == "application/octet-stream"
    assert (file.headers["x-content-type-options"], file.headers["cache-control"]) == ("nosniff", "no-store")


def test_addresses_of_forms_lead_to_no_other_server(client: TestClient, project: Project) -> None:
    for path in ("//evil.example", "/\\evil.example", f"/projects/{project.identity}//evil.example/data"):
        answer = client.get(path)
        assert "evil.example" not in answer.headers.get("location", "")
    for field in ("next", "to", "url", "return"):
        where = sent(client, "/", "new", name="x", **{field: "https://evil.example/"}).headers["location"]
        assert re.fullmatch(r"/projects/[0-9a-f]{16}", where)


def test_stale_and_foreign_tokens_of_forms_change_nothing(
    office: Office, client: TestClient, project: Project
) -> None:
    where = f"/projects/{project.identity}"
    stale = csrf_of(client, where)
    other = csrf_of(office.browser(), where)
    client.cookies.clear()
    assert client.post(where, data={"csrf": stale, "action": "rename", "name": "mine"}).status_code == 403
    again = office.browser()
    for token in (stale, other, "", "x" * 10_000):
        assert again.post(where, data={"csrf": token, "action": "rename", "name": "mine"}).status_code == 403
    assert project.facts.name == f"{SCRIPT} survey"


@pytest.mark.full
def test_fifty_uploads_at_once_leave_fifty_files_and_fifty_runs(
    office: Office, client: TestClient, project: Project
) -> None:
    found = [put(client, project, "a.csv", b"A\n1\n") for _ in range(50)]
    assert found.count(303) == 50
    assert len(runs_of(project)) == 50
    assert sum(run.state.value == "running" for run in runs_of(project)) == 0
    assert len(project.uploads()) == 50


EVIL_RULES = {
    "document": '<sch:let name="x" value="document(\'/etc/passwd\')"/>',
    "doc": '<sch:let name="x" value="doc(\'/etc/passwd\')"/>',
    "unparsed-text": '<sch:let name="x" value="unparsed-text(\'/etc/passwd\')"/>',
    "include": '<sch:include href="/etc/passwd"/>',
    "include of what is above": '<sch:include href="../../../../../../../../etc/passwd"/>',
    "include of an address": '<sch:include href="http://192.0.2.1/x.sch"/>',
    "extends": '<sch:pattern><sch:rule context="R"><sch:extends href="/etc/passwd"/></sch:rule></sch:pattern>',
    "XInclude": '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="/etc/passwd" parse="text"/>',
    "entity": "<sch:title>&secret;</sch:title>",
    "expansion": "<sch:title>&lol9;</sch:title>",
}
SCHEMA = """<?xml version="1.0"?>
{doctype}<sch:schema xmlns:sch="http://purl.oclc.org/dsdl/schematron" queryBinding="{binding}">
{evil}
<sch:pattern><sch:rule context="Record">
<sch:assert id="r1" test="{test}">at least 0</sch:assert>
</sch:rule></sch:pattern>
</sch:schema>"""
DOCTYPES = {
    "entity": '<!DOCTYPE x [<!ENTITY secret SYSTEM "file:///etc/passwd">]>\n',
    "expansion": "<!DOCTYPE x [<!ENTITY lol0 'lol'>"
    + "".join(f"<!ENTITY lol{n} '{f'&lol{n - 1};' * 10}'>" for n in range(1, 10))
    + "]>\n",
}


def rulebook(kind: str) -> bytes:
    binding = "xslt2" if kind in ("doc", "unparsed-text") else "xslt"
    test = "not(contains($x, 'root'))" if "<sch:let" in EVIL_RULES[kind] else "A &gt;= 0"
    return SCHEMA.format(doctype=DOCTYPES.get(kind, ""), binding=binding, evil=EVIL_RULES[kind], test=test).encode()


def read_with(office: Office, project: Project, content: bytes) -> CommandRun:
    """Validate by a rulebook, as a run of the page does."""
    (project.files / "d.csv").write_bytes(b"A,B\n1,2\n3,4\n")
    project.write({"rules.sch": content}, said="rules")
    words = ["validate", "files/d.csv", "--rules", InRun("rules.sch"), "--json", InRun("validate.json")]
    return ended(office, office.parts.queue.start(project, "validate", words))


@pytest.mark.parametrize(
    "kind",
    [one if one == "entity" else pytest.param(one, marks=pytest.mark.full) for one in EVIL_RULES],
)
def test_a_rulebook_reads_no_other_file(office: Office, client: TestClient, project: Project, kind: str) -> None:
    """By a real run: whatever comes of it, nothing of the other file is in the project or on a page."""
    secret = Path("/etc/passwd").read_text().splitlines()[0]
    run = read_with(office, project, rulebook(kind))
    if kind != "XInclude":  # an element of no meaning, which nobody obeys
        assert run.exit_code not in (0, None) and run.error is not None, run.stdout
    assert "Traceback" not in run.stderr
    page = client.get(f"/projects/{project.identity}/runs/{run.name}")
    assert page.status_code == 200 and secret not in page.text
    for one in run.folder.iterdir():
        assert secret.encode() not in one.read_bytes(), one.name


@pytest.mark.full
def test_script_in_the_data_and_the_rules_is_shown_and_never_obeyed(
    office: Office, client: TestClient, project: Project
) -> None:
    header = f'Id,"{SCRIPT}","a{TURN}b",A'
    rows = "".join(f'{n},"{PICTURE}","{TURN}{SCRIPT}",{n - 5}\n' for n in range(40))
    assert put(client, project, f"{SCRIPT}{TURN}.csv", f"{header}\n{rows}".encode()) == 303
    (run,) = runs_of(project)
    assert ended(office, run).exit_code == 0, run.stderr
    text = client.get(f"/projects/{project.identity}/data").text
    assert "alert(1)" in text and "alert(2)" in text
    require_harmless(text)
    message = SCHEMA.format(doctype="", binding="xslt", evil="", test="A &gt;= 0").replace(
        "at least 0", f"<![CDATA[{SCRIPT}{PICTURE}{TURN}]]> <sch:value-of select='A'/>"
    )
    project.write({"rules.sch": message.encode()}, said=f"rules {SCRIPT}")
    words = ["validate", project.data() or "", "--rules", InRun("rules.sch"), "--html", InRun("report.html")]
    run = ended(office, office.parts.queue.start(project, "validate", words))
    assert run.exit_code == 1, run.stderr
    for path in ("", "/data", "/history", f"/runs/{run.name}"):
        require_harmless(client.get(f"/projects/{project.identity}{path}").text)
    assert "alert(1)" in client.get(f"/projects/{project.identity}/runs/{run.name}").text
    report = client.get(f"/projects/{project.identity}/runs/{run.name}/report/report.html").text
    assert SCRIPT not in report and PICTURE not in report


MANY = "1" * 5000


@pytest.mark.few(3)
@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/runs/{MANY}-mask", 404),
        (f"/runs/0001-{'a' * 300}", 404),
        ("/runs/0001-mask/files/%00", 404),
        (f"/rules/edit/{MANY}", 404),
        ("/download/%00.sch", 404),
        (f"/download/{'a' * 300}.sch", 404),
        ("/download/..%2Frules.sch", 404),
        (f"/validate?page={MANY}", 200),
    ],
)
def test_addresses_that_nobody_writes_are_no_mistakes(
    office: Office, client: TestClient, path: str, status: int
) -> None:
    _, where = sample_of(office, client)
    assert client.get(f"{where}{path}").status_code == status
    # what is meant is found
    assert client.get(f"{where}/download/rules.sch").status_code == 200
    assert client.get(f"{where}/rules/edit/1").status_code == 200


@pytest.mark.parametrize(("text", "number"), [("7", 7), ("0012", 12), (MANY, None), ("-1", None), ("²", None)])
def test_numbers_of_addresses_are_short_and_plain(text: str, number: int | None) -> None:
    assert whole_number(text) == number
