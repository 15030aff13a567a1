"""What strangers may take of the server who have not logged in: turns of others, and memory."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from masktron.web.access.gate import PEER_USER, PasswordDoor
from masktron.web.access.passwords import Doorkeeper, add_user
from masktron.web.access.sessions import form_token
from masktron.web.form_reading import MOST_LARGE, MOST_LARGE_EACH, SMALL_FORM
from masktron.web.handlers.login_queue import MOST_ATTEMPTS_EACH, MOST_OF_NAME, MOST_STRANGE
from web_client import HOST, OWN, Office, made_office

PASSWORD = "heron lantern cactus"  # noqa: S105
SECRET = "cookie-of-somebody"  # noqa: S105
type Receive = Callable[[], Awaitable[dict[str, Any]]]


@pytest.fixture
def office(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Office:
    monkeypatch.setattr("masktron.web.access.passwords._N", 1 << 4)
    add_user(tmp_path / "users", "ann", PASSWORD)
    add_user(tmp_path / "users", "bob", PASSWORD)
    keeper = Doorkeeper(tmp_path / "users")
    return made_office(tmp_path, door=lambda *_: PasswordDoor(keeper), keeper=keeper, is_local=False)


def session_of(office: Office, user: str) -> str:
    assert office.parts.keeper is not None
    return office.parts.sessions.begin(user, office.parts.keeper.stamp_of(user))


async def asked(
    office: Office,
    method: str,
    path: str,
    body: Receive | bytes = b"",
    *,
    cookie: str = SECRET,
    address: str = "192.0.2.1",
    peer: int | None = None,
) -> int:
    """Ask for a page, in the loop of the others, and return the status of the answer."""
    headers = {"host": HOST, "origin": OWN, "cookie": f"masktron-8000={cookie}"}
    headers["content-type"] = "application/x-www-form-urlencoded"
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": (address, 5),
        "server": ("127.0.0.1", 8000),
        "scheme": "http",
        "root_path": "",
        "http_version": "1.1",
        "state": {PEER_USER: peer},
    }
    found = 0

    async def whole() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        nonlocal found
        if message["type"] == "http.response.start":
            found = message["status"]

    await office.app(scope, whole if isinstance(body, bytes) else body, send)
    return found


def attempt(name: str, password: str = "wrong") -> bytes:  # noqa: S107
    return urlencode({"csrf": form_token(SECRET), "name": name, "password": password}).encode()


class Held:
    """Looks at passwords only when somebody lets it go on, and counts who waits for that."""

    def __init__(self, office: Office, patch: pytest.MonkeyPatch) -> None:
        assert office.parts.keeper is not None
        self.go, self.inside, self._admits = threading.Event(), 0, office.parts.keeper.admits
        patch.setattr(office.parts.keeper, "admits", self._noted)

    def _noted(self, name: str, password: str, address: str | None) -> bool:
        self.inside += 1
        assert self.go.wait(10)
        return self._admits(name, password, address)


@pytest.fixture
def held(office: Office, monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(office, monkeypatch)


def test_attempts_to_log_in_hold_up_no_page(office: Office, held: Held) -> None:
    """Sixty at once, from as many addresses: pages need the threads that would wait for each other."""
    cookie = session_of(office, "ann")

    async def talk() -> list[int]:
        attempts = [
            asyncio.create_task(asked(office, "POST", "/login", attempt(f"name{n}"), address=f"192.0.2.{n}"))
            for n in range(60)
        ]
        async with asyncio.timeout(10):
            while sum(one.done() for one in attempts) < 60 - MOST_STRANGE:
                await asyncio.sleep(0.01)
            assert await asked(office, "GET", "/", cookie=cookie) == 200
        assert held.inside == 1
        held.go.set()
        return await asyncio.gather(*attempts)

    assert Counter(asyncio.run(talk())) == {401: MOST_STRANGE, 503: 60 - MOST_STRANGE}


def test_names_that_nobody_has_leave_users_their_places(office: Office, held: Held) -> None:
    """Also where all come from one proxy, the name is what tells them apart."""

    async def talk() -> tuple[list[int], list[int]]:
        strange = [
            asyncio.create_task(asked(office, "POST", "/login", attempt(f"name{n}"), address=f"192.0.2.{n}"))
            for n in range(40)
        ]
        async with asyncio.timeout(10):
            while sum(one.done() for one in strange) < 40 - MOST_STRANGE:
                await asyncio.sleep(0.01)
            own = [
                asyncio.create_task(asked(office, "POST", "/login", attempt("ann", PASSWORD), address="198.51.100.7"))
                for _ in range(MOST_OF_NAME + 1)
            ]
            while not any(one.done() for one in own):
                await asyncio.sleep(0.01)
        held.go.set()
        return await asyncio.gather(*strange), await asyncio.gather(*own)

    strange, own = asyncio.run(talk())
    assert Counter(strange) == {401: MOST_STRANGE, 503: 40 - MOST_STRANGE}
    assert Counter(own) == {303: MOST_OF_NAME, 503: 1}


def test_one_address_leaves_others_their_turn(office: Office, held: Held) -> None:
    networks = [f"2001:db8::{n}" for n in range(40)]

    async def talk() -> tuple[int, list[int]]:
        attempts = [
            asyncio.create_task(asked(office, "POST", "/login", attempt("x"), address=one)) for one in networks
        ]
        async with asyncio.timeout(10):
            while sum(one.done() for one in attempts) < 40 - MOST_ATTEMPTS_EACH:
                await asyncio.sleep(0.01)
        held.go.set()
        ann = await asked(office, "POST", "/login", attempt("ann", PASSWORD), address="192.0.2.9")
        return ann, await asyncio.gather(*attempts)

    ann, found = asyncio.run(talk())
    assert ann == 303
    assert Counter(found) == {401: MOST_ATTEMPTS_EACH, 503: 40 - MOST_ATTEMPTS_EACH}
    # and afterwards there are places again
    assert asyncio.run(asked(office, "POST", "/login", attempt("ann", PASSWORD), address=networks[0])) == 303


def endless(taken: list[int], most: int = 4_000_000) -> Receive:
    """Give a form that grows as long as somebody reads it, and note how much was taken of it."""
    taken.append(0)
    place = len(taken) - 1

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(0)
        taken[place] += 4096
        return {"type": "http.request", "body": b"a" * 4096, "more_body": taken[place] < most}

    return receive


@pytest.mark.parametrize("path", ["/login", "/logout"])
def test_who_is_not_known_sends_small_forms(office: Office, path: str) -> None:
    taken: list[int] = []
    cookie = session_of(office, "ann") if path == "/logout" else SECRET
    assert asyncio.run(asked(office, "POST", path, endless(taken), cookie=cookie)) == 413
    assert taken == [SMALL_FORM + 4096]


def test_large_forms_are_few_at_a_time(office: Office) -> None:
    ann, bob = session_of(office, "ann"), session_of(office, "bob")

    async def talk() -> tuple[list[int], list[int]]:
        go = asyncio.Event()

        def held() -> Receive:
            pieces = iter([b"a" * SMALL_FORM, b"a" * SMALL_FORM, b""])

            async def receive() -> dict[str, Any]:
                if (piece := next(pieces)) == b"":
                    await go.wait()
                return {"type": "http.request", "body": piece, "more_body": piece != b""}

            return receive

        large = [asyncio.create_task(asked(office, "POST", "/", held(), cookie=ann)) for _ in range(10)]
        async with asyncio.timeout(10):
            while sum(one.done() for one in large) < 10 - MOST_LARGE_EACH:
                await asyncio.sleep(0.01)
        # another user has places, and forms of the usual size need none
        other = [await asked(office, "POST", "/", endless([], 40_000), cookie=bob)]
        other += [await asked(office, "POST", "/", b"a", cookie=ann)]
        go.set()
        found = await asyncio.gather(*large)
        return found, [*other, await asked(office, "POST", "/", endless([], 40_000), cookie=ann)]

    found, other = asyncio.run(talk())
    assert MOST_LARGE_EACH < MOST_LARGE
    # what is read whole has no token
    assert Counter(found) == {403: MOST_LARGE_EACH, 503: 10 - MOST_LARGE_EACH}
    assert other == [403, 403, 403]


@pytest.mark.parametrize("owner", [1000, None])
def test_a_cookie_is_worth_nothing_to_other_users_of_the_machine(office: Office, owner: int | None) -> None:
    """Browsers send it to all ports of a name, and so to servers of others."""
    keeper = office.parts.keeper
    assert keeper is not None
    cookie = office.parts.sessions.begin("ann", keeper.stamp_of("ann"), owner)
    found = {
        peer: asyncio.run(asked(office, "GET", "/", cookie=cookie, peer=peer)) for peer in (1000, 1001, 0, -1, None)
    }
    assert {peer for peer, status in found.items() if status == 200} == {owner}
    assert {status for peer, status in found.items() if peer != owner} == {303}
    assert asyncio.run(asked(office, "POST", "/", b"a", cookie=cookie, peer=1001)) == 401


def test_a_session_is_of_the_user_who_has_logged_in(office: Office) -> None:
    assert asyncio.run(asked(office, "POST", "/login", attempt("ann", PASSWORD), peer=1000)) == 303
    (session,) = office.parts.sessions._found.values()
    assert (session.user, session.peer) == ("ann", 1000)
