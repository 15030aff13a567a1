"""Whose connections are whose on a machine of several users, and which addresses count as one."""

from __future__ import annotations

import asyncio
import os
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from uvicorn.protocols.http.h11_impl import H11Protocol

from masktron.errors import UsageError
from masktron.web.access import peers
from masktron.web.access.peers import (
    OwnPeers,
    asked_of_kernel,
    is_wsl,
    own_peers,
    read_from_table,
)
from masktron.web.server import ServerOptions, _peers
from masktron.web.web_connection import MOST_ANSWERED, OwnListener
from refusals import refused
from web_client import Served, served, until
from web_sockets import LAST, conversations

type Ends = tuple[socket.socket, socket.socket]
LOOKS = [asked_of_kernel, read_from_table]
on_linux = pytest.mark.skipif(sys.platform != "linux", reason="the tables of sockets are those of Linux")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="to give a socket to another user, one has to be root")
NOBODY = 65_534


def connected(family: socket.AddressFamily, address: str) -> Iterator[Ends]:
    """Give the two ends of a connection: ours, and the one that a server would have."""
    with socket.socket(family) as listener, socket.socket(family) as ours:
        try:
            listener.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no {address}")
        listener.listen()
        ours.connect(listener.getsockname()[:2])
        server, _ = listener.accept()
        with server:
            yield ours, server


@pytest.fixture(params=[(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")], ids=["IPv4", "IPv6"])
def ends(request: pytest.FixtureRequest) -> Iterator[Ends]:
    yield from connected(*request.param)


def seen(look: peers.Look, server: socket.socket) -> int | None:
    return look(server.getpeername()[:2], server.getsockname()[:2])


@on_linux
@pytest.mark.parametrize("look", LOOKS)
def test_the_user_of_a_connection_is_seen_while_it_is_open(look: peers.Look, ends: Ends) -> None:
    ours, server = ends
    assert seen(look, server) == os.geteuid()
    # who has sent all that he wants to say may wait for the answer
    ours.shutdown(socket.SHUT_WR)
    assert seen(look, server) == os.geteuid()
    # of what is closed the kernel says 0, which is root
    ours.close()
    assert seen(look, server) is None


@on_linux
@pytest.mark.parametrize("look", LOOKS)
def test_a_connection_that_is_not_there_has_no_user(look: peers.Look, ends: Ends) -> None:
    own = ends[1].getsockname()[:2]
    assert look((own[0], 1), own) is None
    assert look(own, (own[0], 1)) is None


@on_linux
@pytest.mark.parametrize("look", LOOKS)
def test_a_socket_of_ipv6_may_have_a_connection_of_ipv4(look: peers.Look) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, socket.socket(socket.AF_INET6) as ours:
        ours.connect((f"::ffff:{listener.getsockname()[0]}", listener.getsockname()[1]))
        server, _ = listener.accept()
        with server:
            assert seen(look, server) == os.geteuid()


@on_linux
@as_root
@pytest.mark.parametrize("look", LOOKS)
def test_sockets_of_other_users_are_theirs(look: peers.Look, ends: Ends) -> None:
    ours, server = ends
    os.fchown(ours.fileno(), NOBODY, -1)
    assert seen(look, server) == NOBODY


@pytest.mark.parametrize(
    ("found", "unseen", "admitted"),
    [
        (1000, False, True),
        (0, False, True),
        (1001, False, False),
        (None, False, False),
        (None, True, True),
        (1001, True, False),
    ],
)
def test_one_user_and_root_are_let_pass(found: int | None, unseen: bool, admitted: bool) -> None:
    own = OwnPeers(lambda _, __: found, 1000, unseen=unseen)
    assert own.admit(("127.0.0.1", 1), ("127.0.0.1", 2)) is admitted


def broken(_: peers.End, __: peers.End) -> int | None:
    raise OSError("no more files")


def test_where_nobody_can_be_seen_any_more_nobody_is_let_pass() -> None:
    assert not OwnPeers(broken, 1000, unseen=True).admit(("127.0.0.1", 1), ("127.0.0.1", 2))


def blind(_: peers.End, __: peers.End) -> int | None:
    return None


@on_linux
def test_a_way_of_looking_is_used_where_it_works(monkeypatch: pytest.MonkeyPatch) -> None:
    used = []
    for first in (broken, blind):
        monkeypatch.setattr(peers, "asked_of_kernel", first)
        found = own_peers()
        assert found is not None
        used.append(found._users._look)
    assert used == [read_from_table] * 2
    monkeypatch.setattr(peers, "read_from_table", blind)
    assert own_peers() is None


def of_user(user: int | None) -> Callable[[peers.End, peers.End], int | None]:
    return lambda _, __: user


class Counted(H11Protocol):
    """Counts the protocols that are made."""

    made = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        Counted.made += 1


@pytest.fixture
def heard_by(monkeypatch: pytest.MonkeyPatch) -> Callable[[int | None, int], list[bytes]]:
    """Return what so many connections of a user hear from a server of the user 1000."""
    monkeypatch.setattr(Counted, "made", 0)

    def heard(user: int | None, connections: int) -> list[bytes]:
        listener = OwnListener(socket.AF_INET, OwnPeers(of_user(user), 1000))
        listener.bind(("127.0.0.1", 0))
        said: list[list[bytes | float]] = [[LAST]] * connections
        return asyncio.run(conversations(Counted, *said, listener=listener))

    return heard


@pytest.mark.parametrize(("user", "status"), [(1000, b"200"), (1001, b"403"), (None, b"403")])
def test_connections_of_other_users_hear_what_to_do(
    heard_by: Callable[[int | None, int], list[bytes]], user: int | None, status: bytes
) -> None:
    (answer,) = heard_by(user, 1)
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert (status == b"200") == (b"Connect as that user, as ssh -L does" not in answer)
    assert Counted.made == (status == b"200")


def test_many_connections_of_other_users_are_reset_and_fill_no_log(
    heard_by: Callable[[int | None, int], list[bytes]],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr("masktron.web.web_connection.monotonic", lambda: 1000.0)  # all within a second
    with caplog.at_level("INFO", "masktron.web"):
        heard = heard_by(1001, 3 * MOST_ANSWERED)
    assert Counter(one[:12] for one in heard) == {b"HTTP/1.1 403": MOST_ANSWERED, b"": 2 * MOST_ANSWERED}
    assert (len(caplog.records), Counted.made) == (MOST_ANSWERED, 0)


@on_linux
def test_who_connects_is_looked_at_always(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    alone = ServerOptions(tmp_path)
    proxied = ServerOptions(tmp_path, behind_proxy=True, proxy_header="X-User: ann", proxy_account="1001")
    for look in ("asked_of_kernel", "read_from_table"):
        monkeypatch.setattr(peers, look, lambda _, __: os.geteuid())
    users = [found._user for one in (alone, proxied) if (found := _peers(one, said.append)) is not None]
    assert (users, said) == ([os.geteuid(), 1001], [])
    for look in ("asked_of_kernel", "read_from_table"):
        monkeypatch.setattr(peers, look, blind)
    assert _peers(alone, said.append) is None and "cannot tell which user opens a connection" in said[0]
    with refused(UsageError, "system-unsupported", what="--behind-proxy"):
        _peers(proxied, said.append)


ASKED = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1]).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A server that has opened a browser, which notes what it was asked for and shows nothing."""
    folder = tmp_path_factory.mktemp("web")
    browser = folder / "browser"
    browser.write_text(f'#!/bin/sh\necho "$@" > {folder}/half\nmv {folder}/half {folder}/asked\n')
    browser.chmod(0o700)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("BROWSER", f"{browser} %s")
        with served(folder / "projects", browse=True) as found:
            yield found


@pytest.mark.skipif(is_wsl(), reason="in WSL it opens no browser")
def test_no_argument_of_a_process_has_the_token(server: Served) -> None:
    asked = server.log.with_name("asked")
    until(asked.exists)
    address = asked.read_text().strip()
    assert address.startswith("file://") and "token" not in address
    page = Path(address.removeprefix("file://"))
    assert (page.stat().st_mode & 0o777, f'url={server.opened}"' in page.read_text()) == (0o600, True)


@on_linux
@as_root
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="another user needs a Python that he can run")
def test_another_user_with_the_address_gets_nothing(server: Served) -> None:
    address = server.opened
    asked = ["/usr/bin/python3", "-c", ASKED, address]
    stranger = subprocess.run(asked, capture_output=True, text=True, user=NOBODY, cwd="/", check=True)
    assert stranger.stdout.startswith("403 This server is for the user of this machine who has started it")
    # he has not even used the token up
    assert [status_of(address), status_of(address)] == [200, 403]
    assert status_of(server.opened) == 200


def status_of(address: str) -> int:
    try:
        with urllib.request.urlopen(address) as answer:  # noqa: S310 -- the address of our server
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


PROXIED = """
import sys, urllib.request
asked = urllib.request.Request(sys.argv[1], headers={"X-User": sys.argv[2]})
try:
    print(urllib.request.urlopen(asked).status)
except urllib.error.HTTPError as error:
    print(error.code, error.read().decode())
"""


@on_linux
@as_root
@pytest.mark.skipif(not Path("/usr/bin/python3").exists(), reason="another user needs a Python that he can run")
def test_the_account_of_the_proxy_gets_in_with_the_one_name(tmp_path: Path) -> None:
    proxy = ("--behind-proxy", "--proxy-header", "X-User: ann", "--proxy-account", NOBODY)
    with served(tmp_path / "projects", *proxy) as found:

        def heard(user: int, name: str) -> str:
            asked = ["/usr/bin/python3", "-c", PROXIED, f"{found.address}/", name]
            return subprocess.run(asked, capture_output=True, text=True, user=user, cwd="/", check=True).stdout

        assert heard(NOBODY, "ann") == "200\n"
        assert heard(NOBODY, "bob") == "403 The proxy does not name the owner of this server.\n"
        assert heard(NOBODY - 1, "ann").startswith("403 This server is for the user of this machine")
