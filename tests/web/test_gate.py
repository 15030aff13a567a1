"""Who is let in: tokens, cookies, names of hosts, origins, tokens of forms; and what answers say to browsers."""

from __future__ import annotations

import logging
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from masktron.errors import UsageError
from masktron.web import server
from masktron.web.access.answer_headers import HEADERS
from masktron.web.access.gate import ProxyDoor, TokenDoor
from masktron.web.access.sessions import Lifetime, Sessions
from masktron.web.server import ServerOptions, require_safe
from refusals import refused
from web_client import HOST, Office, csrf_of, made_office, sample_of, sent


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/projects/0123456789abcdef", "/nothing"])
def test_nothing_is_answered_without_the_token(office: Office, path: str) -> None:
    client = office.browser(entered=False)
    found = {client.request(method, path).text for method in ("GET", "POST")}
    assert found == {"Run masktron web again on this machine: it opens a browser that gets in."}
    assert client.get(path).status_code == 403
    assert client.get(f"{path}?token=wrong").status_code == 403


TYPED = {"sec-fetch-site": "none"}


def test_the_token_leaves_the_address_and_becomes_a_cookie(office: Office) -> None:
    client, token = office.browser(entered=False), office.token
    answer = client.get(f"/?token={token}", headers=TYPED)
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    cookie = answer.headers["set-cookie"]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= {one.strip() for one in cookie.split(";")}
    assert token not in cookie
    assert client.get("/").status_code == 200
    assert token not in client.get("/").text


def test_a_token_opens_one_browser(office: Office) -> None:
    told: list[str] = []
    assert isinstance(office.parts.door, TokenDoor)
    office.parts.door.used = told.append
    first, second, token = office.browser(entered=False), office.browser(entered=False), office.token
    assert first.get(f"/?token={token}").status_code == 200
    assert second.get(f"/?token={token}").status_code == 403
    assert "set-cookie" not in second.get(f"/?token={token}").headers
    # the first one by the address that it has used, and another by the next one
    again = first.get(f"/?token={token}")
    assert (again.status_code, "set-cookie" in again.headers) == (303, False)
    assert told == [office.token] != [token]
    assert second.get(f"/?token={told[0]}").status_code == 200
    assert second.get("/").status_code == 200


def test_two_browsers_at_the_same_time_do_not_share_a_token(office: Office) -> None:
    token = office.token
    browsers = [office.browser(entered=False) for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        found = sorted(pool.map(lambda one: one.get(f"/?token={token}").status_code, browsers))
    assert found == [200] + [403] * 7


def test_a_page_of_a_file_leads_on_without_a_redirect(office: Office) -> None:
    """What follows a redirect of another site carries no strict cookie."""
    client = office.browser(entered=False)
    answer = client.get(f"/projects/x?token={office.token}", headers={"sec-fetch-site": "cross-site"})
    assert answer.status_code == 200
    assert '<meta http-equiv="refresh" content="0; url=/projects/x">' in answer.text
    assert client.get("/").status_code == 200


@pytest.mark.parametrize("path", ["//evil.example", "/\\evil.example", "///evil.example/x"])
def test_the_token_leads_to_no_other_server(office: Office, path: str) -> None:
    answer = office.browser(entered=False).request("GET", f"http://{HOST}{path}?token={office.token}", headers=TYPED)
    assert answer.status_code == 303
    assert not answer.headers["location"].startswith(("//", "/\\", "http"))


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "127.0.0.1", "127.0.0.1:8001", ""])
def test_the_server_is_known_by_its_own_names_alone(office: Office, host: str) -> None:
    client = office.browser()
    assert client.get("/").status_code == 200
    answer = client.get("/", headers={"host": host})
    assert answer.status_code == 421
    assert "project" not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": f"https://{HOST}"},
        {"origin": f"http://{HOST}", "sec-fetch-site": "cross-site"},
        {},
        {"referer": f"http://{HOST}.evil.example/"},
    ],
)
def test_forms_of_other_sites_are_refused(office: Office, headers: dict[str, str]) -> None:
    client = office.browser(origin=None)
    data = {"csrf": csrf_of(client), "action": "new", "name": "a"}
    assert client.post("/", data=data, headers=headers).status_code == 403
    assert office.store.newest() == []
    assert client.post("/", data=data, headers={"referer": f"http://{HOST}/"}).status_code == 303


@pytest.mark.parametrize("token", [None, "", "0" * 64, "€"])
def test_forms_without_the_token_of_the_session_are_refused(office: Office, token: str | None) -> None:
    client = office.browser()
    data = {"action": "new", "name": "a"} | ({} if token is None else {"csrf": token})
    answer = client.post("/", data=data)
    assert (answer.status_code, "older than your session" in answer.text) == (403, True)
    assert office.store.newest() == []


def test_tokens_of_forms_end_with_their_session(office: Office) -> None:
    first, second = office.browser(), office.browser()
    token = csrf_of(first)
    assert second.post("/", data={"csrf": token, "action": "new", "name": "a"}).status_code == 403
    first.cookies.clear()
    assert first.get("/").status_code == 403
    first.get(f"/?token={office.token}")
    assert first.post("/", data={"csrf": token, "action": "new", "name": "a"}).status_code == 403
    assert first.post("/", data={"csrf": csrf_of(first), "action": "new", "name": "a"}).status_code == 303


def test_every_form_of_every_page_carries_the_token(office: Office) -> None:
    client = office.browser()
    _, where = sample_of(office, client)
    for path in ("/", where, f"{where}/data", f"{where}/history"):
        forms = client.get(path).text.split("<form ")[1:]
        assert forms
        assert all(f'name="csrf" value="{csrf_of(client)}"' in one.split("</form>")[0] for one in forms)


def test_every_answer_says_what_a_browser_may_do(office: Office) -> None:
    client, stranger = office.browser(), office.browser(entered=False)
    answers = [client.get("/"), client.get("/nothing"), stranger.get("/"), client.get("/", headers={"host": "x"})]
    for answer in answers:
        assert {name: answer.headers[name] for name in HEADERS} == dict(HEADERS)
    policy = answers[0].headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
    text = client.get("/").text
    assert " style=" not in text and "<style" not in text and " onclick" not in text and "<script>" not in text


def test_where_tls_is_cookies_say_so(tmp_path: Path) -> None:
    office = made_office(tmp_path, scheme="https")
    answer = office.browser(entered=False).get(f"/?token={office.token}")
    assert "Secure" in answer.headers["set-cookie"]
    assert answer.headers["strict-transport-security"].startswith("max-age=")


def test_what_the_gate_refuses_is_in_the_log(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masktron.web")
    stranger = office.browser(entered=False)
    stranger.get("/secret?token=wrong")
    stranger.get("/", headers={"host": "evil.example"})
    assert "GET - 403" in caplog.text and "GET - 421" in caplog.text
    assert not any(word in caplog.text for word in ("secret", "wrong", "evil"))


def test_sessions_end_with_time_and_without_a_word(tmp_path: Path) -> None:
    now = [1000.0]
    sessions = Sessions(tmp_path / "sessions.json", Lifetime(100.0, 10.0), lambda: now[0])
    secret = sessions.begin()
    assert secret not in (tmp_path / "sessions.json").read_text()
    for now[0] in (1009.0, 1018.0):
        assert sessions.of(secret) is not None
    now[0] = 1027.0
    assert sessions.of(secret, touch=False) is not None
    now[0] = 1029.0
    assert sessions.of(secret) is None
    again = sessions.begin()
    for now[0] in range(1030, 1130, 5):
        assert sessions.of(again) is not None or now[0] >= 1129
    now[0] = 1130.0
    assert sessions.of(again) is None


def test_sessions_outlive_the_server(tmp_path: Path) -> None:
    path, lifetime = tmp_path / "sessions.json", Lifetime(100.0, 100.0)
    secret = Sessions(path, lifetime).begin()
    assert path.stat().st_mode & 0o777 == 0o600
    found = Sessions(path, lifetime).of(secret)
    assert found is not None


def proxied(tmp_path: Path) -> Office:
    return made_office(tmp_path, door=lambda sessions, _: ProxyDoor("X-User", "ann", sessions))


def test_a_proxy_names_the_owner_and_nobody_else(tmp_path: Path) -> None:
    office = proxied(tmp_path)
    client = office.browser(entered=False)
    client.headers["x-user"] = "ann"
    where = sent(client, "/", "new", name="Ann's").headers["location"]
    assert client.get(where).status_code == 200
    for names in ([], ["bob"], [""], ["Ann"], ["ann", "ann"], ["bob", "ann"], ["ann, bob"]):
        stranger = office.browser(entered=False)
        stranger.cookies.update(client.cookies)
        answer = stranger.get(where, headers=[("x-user", name) for name in names])
        assert (answer.status_code, answer.text) == (403, "The proxy does not name the owner of this server.")


def test_what_has_no_form_begins_no_session_behind_a_proxy(tmp_path: Path) -> None:
    client = proxied(tmp_path).browser(entered=False)
    client.headers["x-user"] = "ann"
    for method, path in (("GET", "/static/web.css"), ("HEAD", "/"), ("POST", "/")):
        answer = client.request(method, path)
        assert (answer.status_code != 403, "set-cookie" in answer.headers) == (True, False)
    assert not (tmp_path / "projects" / "sessions.json").exists()
    assert "set-cookie" in client.get("/").headers


def test_the_session_that_was_used_longest_ago_makes_way(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.access.sessions.MOST", 3)
    now = [0.0]
    sessions = Sessions(tmp_path / "sessions.json", Lifetime(1e6, 1e6), lambda: now[0])
    begun = []
    for now[0] in (1.0, 2.0, 3.0, 4.0):
        begun.append(sessions.begin())
        assert sessions.of(begun[0]) is not None
    assert [sessions.of(one) is not None for one in begun] == [True, False, True, True]


PROXY = {"behind_proxy": True, "proxy_header": "X-User: ann", "proxy_account": "0"}


@pytest.mark.parametrize("changes", [{"behind_proxy": False}, {"proxy_header": None}, {"proxy_account": None}])
def test_options_that_do_not_go_together_are_refused(tmp_path: Path, changes: dict[str, Any]) -> None:
    with refused(UsageError, "needs-setting"):
        require_safe(ServerOptions(tmp_path, **{**PROXY, **changes}))


@pytest.mark.parametrize(
    ("option", "given"),
    [("proxy_header", "X-User"), ("proxy_header", "X-User:"), ("proxy_account", "no-such-account"), ("jobs", 0)],
)
def test_options_of_the_server_are_checked(tmp_path: Path, option: str, given: Any) -> None:
    with refused(UsageError, "bad-value", name=f"--{option.replace('_', '-')}", given=repr(given)):
        require_safe(ServerOptions(tmp_path, **{**PROXY, option: given}))


def test_one_machine_and_a_proxy_are_safe(tmp_path: Path) -> None:
    require_safe(ServerOptions(tmp_path))
    require_safe(ServerOptions(tmp_path, behind_proxy=True, proxy_header="X-User: ann", proxy_account="root"))


@pytest.mark.parametrize(
    ("names", "port", "known", "told"),
    [
        ([], 8600, {"127.0.0.1:8600", "localhost:8600"}, "http://127.0.0.1:8600"),
        (["Here.example"], 8600, {"here.example:8600"}, "http://Here.example:8600"),
        (["here.example"], 80, {"here.example:80", "here.example"}, "http://here.example:80"),
        (["here.example:80"], 8600, {"here.example:80", "here.example"}, "http://here.example:80"),
        (["here.example:8080"], 8600, {"here.example:8080"}, "http://here.example:8080"),
        (["[2001:db8::1]:80"], 8600, {"[2001:db8::1]:80", "[2001:db8::1]"}, "http://[2001:db8::1]:80"),
    ],
)
def test_a_name_may_have_the_port_by_which_browsers_ask(
    tmp_path: Path, names: list[str], port: int, known: set[str], told: str
) -> None:
    options = ServerOptions(tmp_path, host_names=tuple(names))
    assert known <= server._hosts(options, port)
    assert {one.partition(":")[0] for one in server._hosts(options, port) - known} <= {"127.0.0.1", "localhost"}
    assert server._address(options, port) == told


def test_behind_a_proxy_browsers_ask_by_https_and_name_no_port(tmp_path: Path) -> None:
    options = ServerOptions(tmp_path, host_names=("office.example",), **PROXY)
    assert {"office.example", "office.example:8600"} <= server._hosts(options, 8600)
    assert server._address(options, 8600) == "https://office.example"


def test_the_log_names_nothing_of_anybody(office: Office, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masktron.web")
    token, client = office.token, office.browser()
    where = sent(client, "/", "new", name="Secret survey").headers["location"]
    files = {"file": ("secret-name.csv", b"A\n1\n")}
    client.post(f"{where}/data/upload", data={"csrf": csrf_of(client)}, files=files)
    client.get(f"{where}/data?in=secret-query")
    assert "GET /projects/{project}/data 200" in caplog.text
    assert not any(word in caplog.text.lower() for word in ("secret", token.lower(), where.rpartition("/")[2]))


def test_a_mistake_is_logged_by_its_place_without_its_message(
    office: Office, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("value 4711 of a record")

    monkeypatch.setattr("masktron.web.pages.projects_list.show", broken)
    answer = office.browser().get("/")
    assert (answer.status_code, "mistake" in answer.text) == (500, True)
    assert "ZeroDivisionError at test_gate.py:" in caplog.text
    assert "4711" not in caplog.text + answer.text
