"""The server: what was asked for is checked, and then uvicorn answers until a signal ends it; runs go on."""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import re
import shutil
import signal
import socket
import sys
import threading
import time
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from html import escape, unescape
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masktron.errors import ResourceError, UsageError
from masktron.problems.problem import Note, Setting
from masktron.supervisor import tell_grace
from masktron.web.access.answer_headers import AnswerHeaders
from masktron.web.access.gate import Cookie, Gate, ProxyDoor, TokenDoor
from masktron.web.access.peers import OwnPeers, is_wsl, own_peers, peer_users
from masktron.web.access.sessions import Lifetime, Sessions
from masktron.web.handlers.project_pages import ProjectPages
from masktron.web.handlers.run_files import RunFiles
from masktron.web.mistakes import note_mistake
from masktron.web.pages.all_pages import PAGES
from masktron.web.plain_answers import mistaken, nothing_here
from masktron.web.runs.run_queue import RunQueue
from masktron.web.store.disk import make_private, write_bytes
from masktron.web.store.projects import GONE, ProjectStore
from masktron.web.store.uploading import remove_halves
from masktron.web.web_connection import OwnListener
from masktron.web.web_parts import WebParts

_SNAPS = Path("/snap")


class OpeningPage:
    """A page with the address that opens the next browser.

    Parameters
    ----------
    folder : Path
        Of the projects; the page is there, if browsers can read it there.
    """

    def __init__(self, folder: Path) -> None:
        home = Path.home()
        hidden = any(part.startswith(".") for part in folder.parts)
        # a browser in a snap sees nothing hidden, and its own /tmp alone
        if hidden and _SNAPS.is_dir() and os.access(home, os.W_OK):
            self.path = home / f"masktron-web-{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}.html"
        else:
            self.path = folder / "open.html"

    def write(self, address: str) -> None:
        """Lead to an address from now on.

        Parameters
        ----------
        address : str
            With the token.

        Raises
        ------
        ResourceError, OSError
            It cannot be written.
        """
        text = (
            f'<!DOCTYPE html>\n<meta charset="utf-8">\n<title>masktron</title>\n'
            f'<meta http-equiv="refresh" content="0; url={escape(address)}">\n'
            f'<p><a href="{escape(address)}">masktron web</a></p>\n'
        )
        write_bytes(self.path, text.encode())

    def address(self) -> str | None:
        """Return the address; None where there is no page, or others could have written or read it."""
        try:
            descriptor = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW)
        except OSError:
            return None
        with os.fdopen(descriptor, encoding="utf-8") as stream:
            found = os.fstat(descriptor)
            if found.st_uid != os.geteuid() or found.st_mode & 0o077:
                return None
            address = re.search(r'href="([^"]*)"', stream.read())
        return None if address is None else unescape(address[1])

    def remove(self) -> None:
        """Remove it, as the server ends."""
        self.path.unlink(missing_ok=True)


_LOG = logging.getLogger("masktron.web")


class RequestLog:
    """Writes a line for each request, without a name of anything; and says of a mistake where it is, and no value."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            status = 499
        except Exception as error:  # noqa: BLE001 -- the last place where somebody can answer
            note_mistake(error)
            if status == 0:
                await mistaken()(scope, receive, noted)
            status = 500
        finally:
            route = scope.get("route")
            where = getattr(route, "path", "-")
            _LOG.info("%s %s %d %.0f ms", scope["method"], where, status, 1000 * (time.monotonic() - began))


def web_app(parts: WebParts) -> ASGIApp:
    """Put the application together."""
    pages, files = ProjectPages(parts), RunFiles(parts)
    routes = [
        Route("/", pages.projects, methods=["GET", "POST"]),
        Route("/static/{name}", files.static),
        Route("/projects/{project}/download/{name}", files.document),
        Route("/projects/{project}/runs/{run}/files/{name}", files.output),
        Route("/projects/{project}/runs/{run}/report/{name}", files.report),
        Route("/projects/{project}/runs/{run}/picture/{name}", files.picture),
    ]
    for page in PAGES:
        path = f"/projects/{{project}}/{page.path}".rstrip("/")
        if page.take is not None:
            routes.append(
                Route(f"{path}/upload", pages.upload_of(page), methods=["POST"], name=f"{page.name}-upload")
            )
        routes.append(Route(path, pages.page_of(page), methods=["GET", "POST"], name=page.name))
    app = Starlette(
        routes=routes,
        exception_handlers={404: _nothing, 405: _nothing, Exception: _mistaken},
        lifespan=_lifespan(parts),
    )
    gate = Gate(
        app, hosts=parts.hosts, scheme=parts.scheme, sessions=parts.sessions, door=parts.door, cookie=parts.cookie
    )
    return AnswerHeaders(RequestLog(gate), encrypted=parts.scheme == "https")


def _lifespan(parts: WebParts) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(_tidied, parts)
        parts.queue.recover()
        task = asyncio.create_task(parts.queue.work())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            parts.queue.leave()

    return lifespan


def _tidied(parts: WebParts) -> None:
    parts.store.tidy()
    for project in parts.store.all():
        remove_halves(project.files)
        for gone in project.runs.glob(f"{GONE}*"):
            shutil.rmtree(gone)


def _mistaken(_: Request, __: Exception) -> Response:
    return mistaken()


def _nothing(_: Request, __: Exception) -> Response:
    return nothing_here()


_HOUR = 3600.0
_LIFETIME = Lifetime(7 * 24 * _HOUR, 24 * _HOUR)
_OWN_ADDRESS = "127.0.0.1"
_HTTP_PORTS = {"http": 80, "https": 443}
_WITH_PORT = re.compile(r"(\[[^\[\]]+\]|[^:]+):(\d{1,5})")
_HEADER = re.compile(r"([\w-]+):\s*(\S|\S.*\S)")
_ENDING = 3
"""Seconds for answers under way when the server ends."""
_ENDING_SLOWLY = 10
"""Seconds that a busy machine may take for it besides."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the command line says of a server.

    Attributes
    ----------
    projects : Path
        Where the projects are.
    port : int
        0 for any that is free.
    behind_proxy : bool
        Whether connections come from a reverse proxy of the office, which sees to TLS.
    proxy_header : str or None
        The header by which the proxy names the owner, with the one name that it may carry: ``X-Remote-User: ann``.
    proxy_account : str or None
        The account of this machine, or its number, from which the proxy connects.
    host_names : tuple of str
        Other names by which browsers may ask for the server; with a port where they ask for another one than it
        listens on, as those of a container do.
    jobs : int
        Runs at once.
    largest_upload : int
        Bytes of a file.
    """

    projects: Path
    port: int = 0
    behind_proxy: bool = False
    proxy_header: str | None = None
    proxy_account: str | None = None
    host_names: tuple[str, ...] = ()
    jobs: int = 1
    largest_upload: int = 2 << 30

    @property
    def scheme(self) -> str:
        """How browsers ask for it."""
        return "https" if self.behind_proxy else "http"


def require_safe(options: ServerOptions) -> None:
    """Refuse options that do not go together, or ask for what cannot be.

    Raises
    ------
    UsageError
    """
    proxied = {options.behind_proxy, options.proxy_header is not None, options.proxy_account is not None}
    if len(proxied) > 1:
        needed = Note("[[--behind-proxy]], [[--proxy-header]] and [[--proxy-account]] together")
        example = Note("[[--behind-proxy]] [[--proxy-header X-Remote-User: ann]] [[--proxy-account www-data]]")
        raise UsageError.of("needs-setting", name="a proxy", needed=needed, setting=example)
    if options.behind_proxy:
        _header_of(options)
        _account_of(options)
    if options.jobs < 1:
        raise _bad_option("--jobs", "at least 1", options.jobs)


def _header_of(options: ServerOptions) -> tuple[str, str]:
    """Return the header of the proxy, and the name that it carries."""
    found = _HEADER.fullmatch(options.proxy_header or "")
    if found is None:
        expected = "a header and the one name that it may carry, such as 'X-Remote-User: ann'"
        raise _bad_option("--proxy-header", expected, options.proxy_header)
    return found[1], found[2]


def _account_of(options: ServerOptions) -> int:
    """Return the number of the account from which the proxy connects."""
    import pwd  # noqa: PLC0415 -- not on Windows

    name = options.proxy_account or ""
    if name.isascii() and name.isdigit():
        return int(name)
    try:
        return pwd.getpwnam(name).pw_uid
    except KeyError:
        raise _bad_option("--proxy-account", "an account of this machine, or its number", name) from None


def _bad_option(option: str, expected: str, given: object) -> UsageError:
    return UsageError.of("bad-value", name=Setting(option), expected=expected, given=repr(given))


def serve(options: ServerOptions, *, say: Callable[[str], None], browse: bool = False, sample: bool = False) -> None:
    """Answer until a signal comes.

    Parameters
    ----------
    options : ServerOptions
    say : callable
        Takes a line for whoever has started it.
    browse : bool
        Whether to open a browser.
    sample : bool
        Whether it opens on the sample, which is made where there is no project yet.

    Raises
    ------
    UsageError
        What was asked for is not safe, the port is taken, or another server has the folder.
    """
    require_safe(options)
    if sys.platform == "win32":
        raise UsageError.of("system-unsupported", what="masktron web", system="Linux or macOS")
    page = OpeningPage(options.projects)
    with contextlib.ExitStack() as kept:
        if not kept.enter_context(sole_server(options.projects)):
            say(f"masktron web is running: {_running(options, page)}")
            if (opening := _opening(page, browse)) is not None:
                opening()
            return
        warnings: list[str] = []
        listener = kept.enter_context(_listener(options, _peers(options, warnings.append)))
        port = listener.getsockname()[1]
        parts = _parts(options, port)
        address, ready = _address(options, port), None
        first = f"{address}{_first_page(parts) if sample else '/'}"
        page.remove()  # of a server that was killed
        if isinstance(parts.door, TokenDoor):
            kept.callback(page.remove)
            parts.door.used = partial(_lead_to_next, page, address)
            first += f"?token={parts.door.token}"
            page.write(first)
            ready = _opening(page, browse)
        asks = f" (the proxy asks http://{_OWN_ADDRESS}:{port}/)" if options.behind_proxy else ""
        say(f"masktron web: {first}{asks}")
        for warning in warnings:
            say(warning)
        say("end it with Ctrl-C; runs that are under way go on")
        config = uvicorn.Config(
            web_app(parts),
            access_log=False,
            server_header=False,
            proxy_headers=False,
            log_config=None,
            timeout_graceful_shutdown=_ENDING,
            ws="none",
            http="h11",
            loop="asyncio",
        )
        _log_to_stderr()
        tell_grace(_ENDING + _ENDING_SLOWLY)
        _Server(config, ready).run(sockets=[listener])
        busy = len(parts.queue.busy())
    say(f"ended; {busy} projects have runs that go on or wait" if busy else "ended")


def _opening(page: OpeningPage, browse: bool) -> Callable[[], object] | None:
    """Return what opens a browser; None where nobody wants one, or it could not read the page: those of Windows."""
    return partial(webbrowser.open, page.path.as_uri()) if browse and not is_wsl() else None


def _running(options: ServerOptions, page: OpeningPage) -> str:
    """Return the address of the server that has the folder already, from the page that it keeps for its owner."""
    if (address := page.address()) is None:
        reason = "another one has it, and does not say how to open it"
        raise UsageError.of("projects-folder-unusable", options.projects, reason=reason)
    return address


def _lead_to_next(page: OpeningPage, address: str, token: str) -> None:
    """Keep the token for the next browser, as the one before is worth nothing any more."""
    try:
        page.write(f"{address}/?token={token}")
    except (OSError, ResourceError) as error:  # a full disk closes no page that is open
        note_mistake(error)


def _peers(options: ServerOptions, warn: Callable[[str], None]) -> OwnPeers | None:
    """Return what recognises the connections that are accepted; None where the system does not say whose they are."""
    if options.behind_proxy:
        if (users := peer_users()) is None:
            needed = "Linux, which tells which account opens a connection"
            raise UsageError.of("system-unsupported", what=Setting("--behind-proxy"), system=needed)
        return OwnPeers(users.user_of, _account_of(options))
    if (peers := own_peers()) is None:
        warn(
            "this system cannot tell which user opens a connection: keep the address from other users of the machine"
        )
    return peers


class _Server(uvicorn.Server):
    """Ends without passing the signal on, which would say that nothing was written."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], object] | None) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to answer, and only then have the browser ask."""
        await super().startup(sockets)
        if self._ready is not None:
            threading.Thread(target=self._ready, daemon=True).start()

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """End on the signals that end any run."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
        former = {number: signal.signal(number, self._end) for number in numbers}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def _end(self, _number: int, _frame: FrameType | None) -> None:
        self.should_exit = True


def _parts(options: ServerOptions, port: int) -> WebParts:
    """Return what the application is made of."""
    secure = options.scheme == "https"
    store = ProjectStore(options.projects)
    cookie = Cookie("__Host-masktron" if secure else f"masktron-{port}", secure)
    sessions = Sessions(options.projects / "sessions.json", _LIFETIME)
    return WebParts(
        store=store,
        queue=RunQueue(store, options.jobs),
        sessions=sessions,
        door=ProxyDoor(*_header_of(options), sessions) if options.behind_proxy else TokenDoor(sessions, cookie),
        cookie=cookie,
        hosts=_hosts(options, port),
        scheme=options.scheme,
        largest_upload=options.largest_upload,
        is_local=not options.behind_proxy,
    )


def _hosts(options: ServerOptions, port: int) -> frozenset[str]:
    hosts = set[str]()
    for name in (*options.host_names, _OWN_ADDRESS, "localhost"):
        own = _WITH_PORT.fullmatch(name)
        hosts.add(name if own else f"{name}:{port}")
        if own is None and options.behind_proxy:
            hosts.add(name)
        if int(own[2] if own else port) == _HTTP_PORTS[options.scheme]:  # browsers leave it out
            hosts.add(own[1] if own else name)
    return frozenset(host.lower() for host in hosts)


def _address(options: ServerOptions, port: int) -> str:
    name = options.host_names[0] if options.host_names else _OWN_ADDRESS
    told = options.behind_proxy or _WITH_PORT.fullmatch(name)
    return f"{options.scheme}://{name}" if told else f"{options.scheme}://{name}:{port}"


def _first_page(parts: WebParts) -> str:
    """Return the path of the newest project, or of the sample where there is none."""
    projects = parts.store.newest()
    project = next((one for one in projects if one.facts.sample), None) or parts.store.make_sample()
    return f"/projects/{project.identity}"


def _listener(options: ServerOptions, peers: OwnPeers | None) -> OwnListener:
    listener = OwnListener(socket.AF_INET, peers)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((_OWN_ADDRESS, options.port))
    except OSError as error:
        listener.close()
        place = f"{_OWN_ADDRESS}:{options.port}"
        raise UsageError.of("address-taken", place, reason=error.strerror) from error
    return listener


def _log_to_stderr() -> None:
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s", "%Y-%m-%dT%H:%M:%S%z"))
    log = logging.getLogger("masktron.web")
    log.handlers = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
    # what uvicorn says of a mistake may quote a request
    quiet = logging.getLogger("uvicorn")
    quiet.handlers = [logging.NullHandler()]
    quiet.propagate = False


@contextmanager
def sole_server(root: Path) -> Iterator[bool]:
    """Hold the folder of all projects for this server; gives False where another one has it.

    Raises
    ------
    UsageError
        Files there cannot be locked.
    """
    import fcntl  # noqa: PLC0415 -- not on Windows

    make_private(root)
    descriptor = os.open(root / "server.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            is_sole = False
        except OSError as error:
            reason = f"its files cannot be locked: {error.strerror}"
            raise UsageError.of("projects-folder-unusable", root, reason=reason) from error
        else:
            is_sole = True
        yield is_sole
    finally:
        os.close(descriptor)
