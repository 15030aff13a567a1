"""Connections: whose are accepted, how many in all and from one address, and how slowly a request may arrive."""

from __future__ import annotations

import asyncio
import logging
import socket
import struct
from contextlib import suppress
from time import monotonic
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from masktron.web.access.answer_headers import HEADERS
from masktron.web.access.gate import PEER_USER
from masktron.web.access.peers import NOBODY_KNOWN, End, OwnPeers, PeerUsers, network_of

_LOG = logging.getLogger("masktron.web")
HEADER_SECONDS = 15.0
"""From the first byte of a request to the end of its headers, however busily it sends them."""
MOST_CONNECTIONS = 200
MOST_OF_ADDRESS = 60
"""Of one address, or network of IPv6, unless all come by a proxy: a browser opens six."""

MOST_REFUSED = 50
"""Foreign connections that are refused in one go, before the server does its other work."""
MOST_ANSWERED = 20
"""Foreign connections in a second that get an answer and a line in the log; all others are reset."""
_RESET = struct.pack("ii", 1, 0)
"""The value of SO_LINGER with which closing a socket keeps no port in use."""

_FOREIGN = (
    "This server is for the user of this machine who has started it, and this connection is another user's, or it "
    "does not show whose it is. Connect as that user (ssh -L does), or start masktron web with --auth FILE."
)


class OwnListener(socket.socket):
    """A listening socket that accepts connections of one user of this machine and refuses all others.

    Another user can open connections faster than a server can set them up. So a foreign connection is closed where it
    is accepted: no protocol and no task is made for it, and it counts towards no limit of the user's connections.

    Parameters
    ----------
    family : AddressFamily
    peers : OwnPeers or None
        Recognises the connections of the user; None accepts everybody's.
    """

    def __init__(self, family: socket.AddressFamily, peers: OwnPeers | None) -> None:
        super().__init__(family, socket.SOCK_STREAM)
        self._peers = peers
        self._second, self._refused = 0.0, 0

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection of the user.

        Raises
        ------
        BlockingIOError
            None is waiting, or many foreign ones are: the event loop does its other work and calls again.
        """
        for _ in range(MOST_REFUSED):
            connection, address = super().accept()
            if self._peers is None or self._peers.admit(address[:2], connection.getsockname()[:2]):
                return connection, address
            with connection, suppress(OSError):  # the other end may have closed it already
                self._refuse(connection)
        raise BlockingIOError

    def _refuse(self, connection: socket.socket) -> None:
        """Answer a foreign connection; where there are many, reset it."""
        if (now := monotonic()) >= self._second + 1.0:
            self._second, self._refused = now, 0
        self._refused += 1
        if self._refused > MOST_ANSWERED:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
            return
        _LOG.info("a connection refused: not of the user who has started the server")
        connection.setblocking(False)
        connection.send(_plain(403, _FOREIGN))


class WebConnection(H11Protocol):
    """Speaks HTTP/1.1 as uvicorn does, and ends connections that only take up room."""

    header_seconds = HEADER_SECONDS
    most = MOST_CONNECTIONS
    most_of_address = MOST_OF_ADDRESS
    peer_users: PeerUsers | None = None
    """Says which user of this machine connects, so that a session is worth nothing to another one."""
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Take a connection, unless there are too many."""
        super().connection_made(transport)
        own = sum(_address(one) == _address(self) for one in self.connections)
        if len(self.connections) > self.most or own > self.most_of_address:
            transport.write(_plain(503, "There are too many connections.", retry=True))
            transport.close()
            return
        if self.peer_users is not None:
            ends = self._ends()
            found = NOBODY_KNOWN if ends is None else self.peer_users.user_of(*ends)
            # the state of the application, of which each request gets a copy
            self.app_state = {**self.app_state, PEER_USER: found}
        self._watch()

    def _ends(self) -> tuple[End, End] | None:
        """Return the other end and ours; None where it has gone already."""
        if self.client is None or self.server is None or self.server[1] is None:
            return None
        return self.client, (self.server[0], self.server[1])

    def data_received(self, data: bytes) -> None:
        """Take bytes; those of headers have to end in time."""
        if self.transport.is_closing():
            return
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget it."""
        self._unwatch()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Answer what is no HTTP, with the headers that all answers have."""
        self.transport.write(_plain(400, msg))
        self.transport.close()

    def _watch(self) -> None:
        if self.conn.their_state is not h11.IDLE:
            self._unwatch()
        elif self._deadline is None:
            self._deadline = self.loop.call_later(self.header_seconds, self._late)

    def _unwatch(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _late(self) -> None:
        self._deadline = None
        if not self.transport.is_closing():
            self.transport.write(_plain(408, "The request came too slowly."))
            self.transport.close()


def for_users(users: PeerUsers | None) -> type[WebConnection]:
    """Return connections of which it is noted which user of this machine they come from, if any."""

    class SeenConnection(WebConnection):
        peer_users = users

    return SeenConnection


class ProxiedConnection(WebConnection):
    """The same where all connections come from one proxy."""

    most_of_address = MOST_CONNECTIONS


def _address(connection: object) -> str | None:
    client = getattr(connection, "client", None)
    return None if client is None else network_of(str(client[0]))


def _plain(status: int, text: str, *, retry: bool = False) -> bytes:
    reasons = {400: "Bad Request", 403: "Forbidden", 408: "Request Timeout", 503: "Service Unavailable"}
    headers = {
        "content-type": "text/plain; charset=utf-8",
        "content-length": str(len(text.encode())),
        "connection": "close",
        **HEADERS,
        **({"retry-after": "5"} if retry else {}),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {status} {reasons[status]}\r\n{lines}\r\n{text}".encode()
