"""The gate: names of hosts, origins of forms, and sessions are looked at before any page sees a request."""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masktron.web.access.sessions import Session, Sessions
from masktron.web.templating import rendered

_STATIC = "/static/"


@dataclass(frozen=True, slots=True)
class Cookie:
    """The cookie of a session.

    Attributes
    ----------
    name : str
        With the port, since cookies know none; ``__Host-`` where it is sent by TLS alone.
    secure : bool
    """

    name: str
    secure: bool

    def header(self, secret: str) -> str:
        """Return the header that sets it; it goes when the browser is closed."""
        return f"{self.name}={secret}; Path=/; HttpOnly; SameSite=Strict{'; Secure' if self.secure else ''}"


@dataclass(frozen=True, slots=True)
class Entered:
    """A request may go on, with the secret of its session.

    Attributes
    ----------
    secret : str
        What the tokens of forms are made of.
    is_new : bool
        Whether the browser has to be told its cookie.
    """

    secret: str
    is_new: bool = False


class Door(Protocol):
    """How the owner is known."""

    def enter(self, request: Request, secret: str, session: Session | None) -> Entered | Response:
        """Let a request in, or answer for the pages."""
        ...


class TokenDoor:
    """Whoever has the token, on the machine itself; each opens one browser.

    Parameters
    ----------
    sessions : Sessions
    cookie : Cookie

    Attributes
    ----------
    used : callable or None
        Called with the next token when one has opened a browser.
    """

    def __init__(self, sessions: Sessions, cookie: Cookie) -> None:
        self._sessions = sessions
        self._cookie = cookie
        self.used: Callable[[str], None] | None = None
        self._lock = threading.Lock()
        self._token = secrets.token_urlsafe(32)

    @property
    def token(self) -> str:
        """The token that opens the next browser."""
        return self._token

    def enter(self, request: Request, secret: str, session: Session | None) -> Entered | Response:
        """Take the token once, and then the cookie."""
        given = request.query_params.get("token")
        if given is not None and request.method == "GET":
            if session is not None:  # the same browser, by an address that it has used
                return RedirectResponse(_own_path(request.url.path), 303)
            return self._opened(request) if self._takes(given) else _closed()
        return Entered(secret) if session is not None else _closed()

    def _takes(self, given: str) -> bool:
        with self._lock:
            if not hmac.compare_digest(given.encode(), self._token.encode()):
                return False
            self._token = secrets.token_urlsafe(32)
            if self.used is not None:
                self.used(self._token)
        return True

    def _opened(self, request: Request) -> Response:
        where = _own_path(request.url.path)
        answer: Response
        if request.headers.get("sec-fetch-site") in ("none", "same-origin"):
            # out of the address, and so out of the history of the browser
            answer = RedirectResponse(where, 303)
        else:
            # where a page of a file has led here, a browser would follow a redirect without a strict cookie
            answer = HTMLResponse(rendered("opened.html", where=where))
        answer.headers["set-cookie"] = self._cookie.header(self._sessions.begin())
        return answer


class ProxyDoor:
    """Whoever comes by the office's own proxy, which names the owner of the server in a header.

    Only connections of the proxy's account reach it (`OwnListener`): on any other, the header could be anybody's.

    Parameters
    ----------
    header, name : str
        The header, and the one name that it may carry.
    sessions : Sessions
    """

    def __init__(self, header: str, name: str, sessions: Sessions) -> None:
        self._header = header
        self._name = name
        self._sessions = sessions

    def enter(self, request: Request, secret: str, session: Session | None) -> Entered | Response:
        """Read the header of each request; the session is there for the tokens of forms alone."""
        if request.headers.getlist(self._header) != [self._name]:
            return PlainTextResponse("The proxy does not name the owner of this server.", 403)
        if session is not None:
            return Entered(secret)
        if request.method != "GET" or request.url.path.startswith(_STATIC):
            # nothing with a form: a secret that is kept nowhere
            return Entered(secrets.token_urlsafe(32))
        return Entered(self._sessions.begin(), is_new=True)


class Gate:
    """Refuses what does not come from a page of this server, and gives each its session.

    Parameters
    ----------
    app : ASGIApp
    hosts : frozenset of str
        The names by which the server may be asked, with their ports, in lower case.
    scheme : str
        ``http`` or ``https``, as browsers see it.
    sessions : Sessions
    door : Door
    cookie : Cookie
    """

    def __init__(
        self, app: ASGIApp, *, hosts: frozenset[str], scheme: str, sessions: Sessions, door: Door, cookie: Cookie
    ) -> None:
        self._app = app
        self._hosts = hosts
        self._scheme = scheme
        self._sessions = sessions
        self._door = door
        self._cookie = cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with the secret of its session in ``state``, or answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope, receive)
        entered: Entered | Response | None = self._refused(request)
        if entered is None:
            entered = await run_in_threadpool(self._entered, request)
        if isinstance(entered, Response):
            await entered(scope, receive, send)
            return
        scope.setdefault("state", {}).update(secret=entered.secret)
        told = self._cookie.header(entered.secret) if entered.is_new else None

        async def with_cookie(message: Message) -> None:
            if message["type"] == "http.response.start" and told is not None:
                MutableHeaders(scope=message).append("set-cookie", told)
            await send(message)

        await self._app(scope, receive, with_cookie)

    def _refused(self, request: Request) -> Response | None:
        hosts = request.headers.getlist("host")
        if len(hosts) != 1 or hosts[0].lower() not in self._hosts:
            return PlainTextResponse("This server is not known by this name.", 421)
        if request.method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("There is nothing for this method.", 405)
        if request.method == "POST" and not self._is_own(request.headers, hosts[0]):
            return PlainTextResponse("This form comes from another site.", 403)
        return None

    def _is_own(self, headers: Mapping[str, str], host: str) -> bool:
        own = f"{self._scheme}://{host}".lower()
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return False
        if (origin := headers.get("origin")) is not None:
            return origin.lower() == own
        return headers.get("referer", "").lower().startswith(f"{own}/")

    def _entered(self, request: Request) -> Entered | Response:
        secret = request.cookies.get(self._cookie.name, "")
        # what a page asks for by itself, while nobody is there, keeps no session alive
        polled = "hx-trigger" in request.headers or request.query_params.get("again") is not None
        session = self._sessions.of(secret, touch=not polled) if secret else None
        return self._door.enter(request, secret, session)


def secret_of(connection: HTTPConnection) -> str:
    """Return what the tokens of forms are made of."""
    return str(connection.state.secret)


def _closed() -> Response:
    return PlainTextResponse("Run masktron web again on this machine: it opens a browser that gets in.", 403)


def _own_path(path: str) -> str:
    """Return a path of this server: ``//host`` would be another one."""
    return "/" + path.lstrip("/\\")
