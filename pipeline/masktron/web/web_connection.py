"""Connections: so many in all and of one address, and a time within which a request has to say what it asks for."""

from __future__ import annotations

import asyncio
import logging

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

_FOREIGN = (
    "This server is for the user of this machine who has started it, and this connection is another user's, or it "
    "does not show whose it is. Connect as that user (ssh -L does), or start masktron web with --auth FILE."
)


class WebConnection(H11Protocol):
    """Speaks HTTP/1.1 as uvicorn does, and ends connections that only take up room."""

    header_seconds = HEADER_SECONDS
    most = MOST_CONNECTIONS
    most_of_address = MOST_OF_ADDRESS
    own_peers: OwnPeers | None = None
    """Whose connections are taken; everybody's where None."""
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
        if not self._is_own():
            _LOG.info("a connection refused: not of the user who has started the server")
            transport.write(_plain(403, _FOREIGN))
            transport.close()
            return
        if self.peer_users is not None:
            ends = self._ends()
            found = NOBODY_KNOWN if ends is None else self.peer_users.user_of(*ends)
            # the state of the application, of which each request gets a copy
            self.app_state = {**self.app_state, PEER_USER: found}
        self._watch()

    def _is_own(self) -> bool:
        if self.own_peers is None:
            return True
        ends = self._ends()
        return ends is not None and self.own_peers.admit(*ends)

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


def for_own_user(peers: OwnPeers | None) -> type[WebConnection]:
    """Return connections of one user of this machine alone."""

    class OwnConnection(WebConnection):
        own_peers = peers

    return OwnConnection


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
