"""Who is let in: tokens, cookies, names of hosts, origins, tokens of forms; and what answers say to browsers."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from masktron.errors import UsageError
from masktron.web import server
from masktron.web.access.answer_headers import HEADERS
from masktron.web.access.gate import PasswordDoor, ProxyDoor, TokenDoor
from masktron.web.access.passwords import Doorkeeper, add_user, users_in
from masktron.web.access.sessions import Lifetime, Sessions
from masktron.web.server import ServerOptions, require_safe
from web_client import HOST, Office, csrf_of, made_office, sample_of, sent

PASSWORD = "four words nobody expects"  # noqa: S105


@pytest.fixture(autouse=True)
def cheap_passwords(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.access.passwords._N", 1 << 4)


@pytest.mark.parametrize("path", ["/", "/static/page.css", "/projects/0123456789abcdef", "/login", "/nothing"])
def test_nothing_is_answered_without_the_token(office: Office, path: str) -> None:
    client = office.browser(entered=False)
    found = {client.request(method, path).text for method in ("GET", "POST")}
    assert found == {"Open the address that masktron web has printed last: each opens one browser."}
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
    office.parts.door.used = lambda: told.append(office.token)
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
    assert office.store.of("local") == []
    assert client.post("/", data=data, headers={"referer": f"http://{HOST}/"}).status_code == 303


@pytest.mark.parametrize("token", [None, "", "0" * 64, "€"])
def test_forms_without_the_token_of_the_session_are_refused(office: Office, token: str | None) -> None:
    client = office.browser()
    data = {"action": "new", "name": "a"} | ({} if token is None else {"csrf": token})
    answer = client.post("/", data=data)
    assert (answer.status_code, "older than your session" in answer.text) == (403, True)
    assert office.store.of("local") == []


def test_tokens_of_forms_end_with_their_session(office: Office) -> None:
    first, second = office.browser(), office.browser()
    token = csrf_of(first)
    assert second.post("/", data={"csrf": token, "action": "new", "name": "a"}).status_code == 403
    assert first.post("/logout", data={"csrf": token}).status_code == 303
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


@pytest.fixture
def with_users(tmp_path: Path) -> Iterator[Office]:
    users = tmp_path / "users"
    for name in ("ann", "bob"):
        add_user(users, name, PASSWORD)
    keeper = Doorkeeper(users)
    yield made_office(tmp_path, door=lambda *_: PasswordDoor(keeper), keeper=keeper, is_local=False)


def logged_in(office: Office, name: str, password: str = PASSWORD) -> tuple[TestClient, Any]:
    client = office.browser(entered=False)
    return client, client.post("/login", data={"csrf": csrf_of(client, "/login"), "name": name, "password": password})


def test_users_log_in_and_see_their_own_projects_only(with_users: Office) -> None:
    ann, answer = logged_in(with_users, "ann")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    bob, _ = logged_in(with_users, "bob")
    where = sent(ann, "/", "new", name="Secret survey").headers["location"]
    assert ann.get(where).status_code == 200
    assert "Secret survey" not in bob.get("/").text
    missing = bob.get("/projects/0123456789abcdef")
    for path in (
        where,
        f"{where}/data",
        f"{where}/history",
        f"{where}/runs/0001-mask",
        f"{where}/download/rules.sch",
    ):
        foreign = bob.get(path)
        assert (foreign.status_code, foreign.text) == (404, missing.text)
    token = csrf_of(bob)
    assert bob.post(where, data={"csrf": token, "action": "rename", "name": "mine"}).status_code == 404
    identity = where.rpartition("/")[2]
    assert bob.post("/", data={"csrf": token, "action": "delete", "project": identity}).status_code == 404
    files = {"file": ("a.csv", b"A\n1\n")}
    assert bob.post(f"{where}/data/upload", data={"csrf": token}, files=files).status_code == 404
    assert ann.get(where).status_code == 200


def test_who_is_not_known_is_asked_to_log_in(with_users: Office) -> None:
    client = with_users.browser(entered=False)
    assert client.get("/").headers["location"] == "/login"
    assert client.get("/static/page.css").status_code == 200
    assert client.post("/").status_code == 401
    for name, password in (("ann", "wrong"), ("nobody", PASSWORD), ("ann", "")):
        _, answer = logged_in(with_users, name, password)
        assert (answer.status_code, "name or password is wrong" in answer.text) == (401, True)


def test_the_session_changes_at_login_and_login_forms_are_bound_to_their_browser(with_users: Office) -> None:
    client = with_users.browser(entered=False)
    token = csrf_of(client, "/login")
    before = client.cookies["masktron-8000"]
    other = with_users.browser(entered=False)
    data = {"csrf": token, "name": "ann", "password": PASSWORD}
    assert other.post("/login", data=data).status_code == 403
    assert client.post("/login", data=data).status_code == 303
    assert client.cookies["masktron-8000"] != before


def test_who_guesses_has_to_wait(with_users: Office) -> None:
    for _ in range(5):
        assert logged_in(with_users, "ann", "wrong")[1].status_code == 401
    _, answer = logged_in(with_users, "ann")
    assert (answer.status_code, "too many attempts" in answer.text) == (429, True)
    assert logged_in(with_users, "bob")[1].status_code == 303


def test_a_user_who_is_taken_out_of_the_file_is_out(with_users: Office, tmp_path: Path) -> None:
    ann, _ = logged_in(with_users, "ann")
    assert ann.get("/").status_code == 200
    users = tmp_path / "users"
    users.write_text("".join(line for line in users.read_text().splitlines(True) if line.startswith("bob:")))
    assert ann.get("/").headers["location"] == "/login"


def test_sessions_end_with_the_password_that_they_began_with(with_users: Office, tmp_path: Path) -> None:
    ann, _ = logged_in(with_users, "ann")
    bob, _ = logged_in(with_users, "bob")
    add_user(tmp_path / "users", "ann", "another heron lantern")
    assert ann.get("/").headers["location"] == "/login"
    assert bob.get("/").status_code == 200


def test_after_logout_the_cookie_is_worth_nothing(with_users: Office) -> None:
    ann, _ = logged_in(with_users, "ann")
    kept = ann.cookies["masktron-8000"]
    answer = ann.post("/logout", data={"csrf": csrf_of(ann)})
    assert (answer.status_code, "Max-Age=0" in answer.headers["set-cookie"]) == (303, True)
    thief = with_users.browser(entered=False)
    thief.cookies.set("masktron-8000", kept)
    assert thief.get("/").headers["location"] == "/login"


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
    secret = sessions.begin("ann")
    assert secret not in (tmp_path / "sessions.json").read_text()
    for now[0] in (1009.0, 1018.0):
        assert sessions.of(secret) is not None
    now[0] = 1027.0
    assert sessions.of(secret, touch=False) is not None
    now[0] = 1029.0
    assert sessions.of(secret) is None
    again = sessions.begin("ann")
    for now[0] in range(1030, 1130, 5):
        assert sessions.of(again) is not None or now[0] >= 1129
    now[0] = 1130.0
    assert sessions.of(again) is None


def test_sessions_outlive_the_server(tmp_path: Path) -> None:
    path, lifetime = tmp_path / "sessions.json", Lifetime(100.0, 100.0)
    secret = Sessions(path, lifetime).begin("ann")
    assert path.stat().st_mode & 0o777 == 0o600
    found = Sessions(path, lifetime).of(secret)
    assert found is not None and found.user == "ann"


def test_a_proxy_names_users_and_nobody_else_does(tmp_path: Path) -> None:
    office = made_office(tmp_path, door=lambda sessions, _: ProxyDoor("X-User", frozenset({"10.0.0.1"}), sessions))
    headers = {"x-user": "ann", "origin": f"http://{HOST}"}
    proxied = TestClient(
        office.app, f"http://{HOST}", headers=headers, client=("10.0.0.1", 5), follow_redirects=False
    )
    where = sent(proxied, "/", "new", name="Ann's").headers["location"]
    assert proxied.get(where).status_code == 200
    assert proxied.get(where, headers={"x-user": "bob"}).status_code == 404
    assert proxied.get("/", headers={"x-user": "bob/../x"}).status_code == 403
    forged = TestClient(office.app, f"http://{HOST}", headers=headers, client=("10.0.0.2", 5))
    assert forged.get("/").status_code == 403
    bare = TestClient(office.app, f"http://{HOST}", client=("10.0.0.1", 5))
    assert bare.get("/").status_code == 403


def test_one_user_ends_no_session_of_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("masktron.web.access.sessions.MOST", 6)
    monkeypatch.setattr("masktron.web.access.sessions.MOST_EACH", 4)
    now = [0.0]
    sessions = Sessions(tmp_path / "sessions.json", Lifetime(1e6, 1e6), lambda: now[0])

    def begun(user: str) -> str:
        now[0] += 1
        return sessions.begin(user)

    ann = begun("ann")
    bob = [begun("bob") for _ in range(9)]
    # of his own, the oldest go
    assert [sessions.of(one, touch=False) is not None for one in bob] == [False] * 5 + [True] * 4
    # where all places are taken, whoever has most gives way
    carl = [begun("carl") for _ in range(3)]
    assert [sessions.of(one, touch=False) is not None for one in bob[5:]] == [False, False, True, True]
    assert all(sessions.of(one) is not None for one in (ann, *carl))


def test_what_has_no_form_begins_no_session_behind_a_proxy(tmp_path: Path) -> None:
    office = made_office(tmp_path, door=lambda sessions, _: ProxyDoor("X-User", frozenset({"10.0.0.1"}), sessions))
    proxied = TestClient(office.app, f"http://{HOST}", headers={"x-user": "ann"}, client=("10.0.0.1", 5))
    for method, path in (("GET", "/static/web.css"), ("HEAD", "/"), ("POST", "/")):
        answer = proxied.request(method, path, headers={"origin": f"http://{HOST}"})
        assert (answer.status_code != 403, "set-cookie" in answer.headers) == (True, False)
    assert not (tmp_path / "projects" / "sessions.json").exists()
    assert "set-cookie" in proxied.get("/").headers


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"host": "0.0.0.0"}, "anybody on the network"),  # noqa: S104
        ({"host": "::"}, "anybody on the network"),
        ({"host": "192.0.2.1", "auth": "users"}, "readable on the way"),
        ({"host": "office.example", "proxy_header": "X-User", "behind_proxy": False}, "needs --behind-proxy"),
        ({"auth": "users", "proxy_header": "X-User", "behind_proxy": True}, "both given"),
        ({"auth": "users", "tls_cert": "users"}, "go together"),
        ({"folders": ("nowhere",)}, "no such folder"),
        ({"jobs": 0}, "at least 1"),
    ],
)
def test_other_addresses_ask_for_users_and_tls(tmp_path: Path, changes: dict[str, Any], what: str) -> None:
    add_user(tmp_path / "users", "ann", PASSWORD)
    for name in {"auth", "tls_cert"} & {*changes}:
        changes[name] = tmp_path / str(changes[name])
    changes["folders"] = tuple(tmp_path / one for one in changes.get("folders", ()))
    with pytest.raises(UsageError, match=what):
        require_safe(ServerOptions(tmp_path, **changes))


def test_users_and_tls_are_enough(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "ann", PASSWORD)
    require_safe(ServerOptions(tmp_path, host="192.0.2.1", auth=users, tls_cert=users, tls_key=users))
    require_safe(ServerOptions(tmp_path, host="192.0.2.1", auth=users, behind_proxy=True))
    require_safe(ServerOptions(tmp_path, host="192.0.2.1", proxy_header="X-User", behind_proxy=True))
    require_safe(ServerOptions(tmp_path))


@pytest.mark.parametrize(
    ("names", "port", "known", "told"),
    [
        (["Office.example"], 8600, {"office.example:8600"}, "https://Office.example:8600"),
        (["office.example"], 443, {"office.example:443", "office.example"}, "https://office.example:443"),
        (["office.example:443"], 8600, {"office.example:443", "office.example"}, "https://office.example:443"),
        (["office.example:8443"], 8600, {"office.example:8443"}, "https://office.example:8443"),
        (["[2001:db8::1]:443"], 8600, {"[2001:db8::1]:443", "[2001:db8::1]"}, "https://[2001:db8::1]:443"),
        (["[2001:db8::1]"], 8600, {"[2001:db8::1]:8600"}, "https://[2001:db8::1]:8600"),
        (["a.example:80", "b.example"], 8600, {"a.example:80", "b.example:8600"}, "https://a.example:80"),
    ],
)
def test_a_name_may_have_the_port_by_which_browsers_ask(
    tmp_path: Path, names: list[str], port: int, known: set[str], told: str
) -> None:
    """A container listens on its own port, and is published on another one."""
    key = tmp_path / "key.pem"
    options = ServerOptions(tmp_path, host="0.0.0.0", auth=key, tls_cert=key, tls_key=key, host_names=tuple(names))  # noqa: S104
    assert server._hosts(options, port) == known
    assert server._address(options, port) == told


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", "short"),
        ("ann", "x" * 300),
        ("ann", "aaaaaaaaaaaaaaaa"),
        ("walter", "iamwalterthegreat"),
        ("a:b", PASSWORD),
    ],
)
def test_bad_names_and_passwords_are_refused(tmp_path: Path, name: str, password: str) -> None:
    with pytest.raises(UsageError):
        add_user(tmp_path / "users", name, password)
    assert not (tmp_path / "users").exists()


def test_the_file_of_users_is_read_strictly(tmp_path: Path) -> None:
    users = tmp_path / "users"
    add_user(users, "ann", PASSWORD)
    add_user(users, "ann", f"{PASSWORD} indeed")
    assert list(users_in(users)) == ["ann"]
    assert PASSWORD not in users.read_text()
    users.chmod(0o644)
    with pytest.raises(UsageError, match="others may read"):
        users_in(users)
    users.chmod(0o600)
    users.write_text("ann:secret\n")
    with pytest.raises(UsageError, match="not a line NAME:scrypt"):
        users_in(users)


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
