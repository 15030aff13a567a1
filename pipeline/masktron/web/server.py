"""The server: what was asked for is checked, and then uvicorn answers until a signal ends it; runs go on."""

from __future__ import annotations

import contextlib
import ipaddress
import logging
import re
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType

import uvicorn

from masktron.errors import UsageError
from masktron.supervisor import tell_grace
from masktron.web.access.gate import LOCAL_USER, Cookie, Door, PasswordDoor, ProxyDoor, TokenDoor
from masktron.web.access.passwords import Doorkeeper, users_in
from masktron.web.access.peers import OwnPeers, is_wsl, own_peers, peer_users
from masktron.web.access.sessions import Lifetime, Sessions
from masktron.web.app import web_app
from masktron.web.mistakes import note_mistake
from masktron.web.opening_page import opening_page
from masktron.web.runs.run_limits import RunLimits, is_memory_seen, memory_of_machine
from masktron.web.runs.run_queue import RunQueue
from masktron.web.store.projects import ProjectStore
from masktron.web.store.sole_server import sole_user
from masktron.web.web_connection import OwnListener, ProxiedConnection, WebConnection, for_users
from masktron.web.web_parts import WebParts

_HOUR = 3600.0
_WITH_TOKEN = Lifetime(7 * 24 * _HOUR, 24 * _HOUR)
_WITH_USERS = Lifetime(12 * _HOUR, 0.5 * _HOUR)
"""As ASVS 4.0.3, 3.3.2 asks: twelve hours in all, half an hour without a word."""
_HTTP_PORTS = {"http": 80, "https": 443}
_WITH_PORT = re.compile(r"(\[[^\[\]]+\]|[^:]+):(\d{1,5})")
_CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Of TLS 1.2, all with keys of their own for each connection; TLS 1.3 has no others."""
_ENDING = 3
"""Seconds for answers under way when the server ends."""
_ENDING_SLOWLY = 10
"""Seconds that a busy machine may take for it besides."""
_DAY_OF_MINUTES, _SHARE = 1440.0, 0.8
"""What all runs of a server with users may take: minutes, and the share of the memory of the machine."""
KEPT_FOR_USERS = 30.0
"""Days for which projects are kept on a server with users, where nobody says otherwise."""


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """What the command line says of a server.

    Attributes
    ----------
    projects : Path
        Where the projects are.
    host : str
        The address to listen on.
    port : int
        0 for any that is free.
    folders : tuple of Path
        From which data may be picked.
    auth : Path or None
        The file of users.
    proxy_header : str or None
        The header in which a reverse proxy names the user.
    proxy_from : tuple of str
        The addresses of that proxy.
    behind_proxy : bool
        Whether a reverse proxy sees to TLS.
    host_names : tuple of str
        Other names by which browsers may ask for the server; with a port where they ask for another one than it
        listens on, as those of a container do.
    tls_cert, tls_key : Path or None
    jobs, jobs_each : int
        Runs at once, of all users and of each.
    largest_upload, room : int
        Bytes of a file, and of all projects of a user.
    keep : float or None
        Days; for ever where None.
    run_minutes, run_memory : float or None, int or None
        What a run may take: minutes, and bytes of memory; 0 for no limit. Where None, a day and a fair share of the
        memory on a server with users, and no limit without.
    """

    projects: Path
    host: str = "127.0.0.1"
    port: int = 0
    folders: tuple[Path, ...] = ()
    auth: Path | None = None
    proxy_header: str | None = None
    proxy_from: tuple[str, ...] = ("127.0.0.1", "::1")
    behind_proxy: bool = False
    host_names: tuple[str, ...] = ()
    tls_cert: Path | None = None
    tls_key: Path | None = None
    jobs: int = 1
    jobs_each: int = 1
    largest_upload: int = 2 << 30
    room: int = 20 << 30
    keep: float | None = None
    run_minutes: float | None = None
    run_memory: int | None = None

    @property
    def has_users(self) -> bool:
        """Whether there are several users."""
        return self.auth is not None or self.proxy_header is not None

    @property
    def run_limits(self) -> RunLimits:
        """What a run may take."""
        minutes, memory = self.run_minutes, self.run_memory
        if minutes is None:
            minutes = _DAY_OF_MINUTES if self.has_users else 0.0
        if memory is None:
            memory = int(_SHARE * memory_of_machine()) // self.jobs if self.has_users else 0
        return RunLimits(60.0 * minutes, memory)

    @property
    def scheme(self) -> str:
        """How browsers ask for it."""
        return "https" if self.tls_cert is not None or self.behind_proxy else "http"


def require_safe(options: ServerOptions) -> None:
    """Refuse what would let anybody in, or show to anybody on the way what is said.

    Raises
    ------
    UsageError
        Another address than this machine's own without users, or without TLS; or options that do not go together.
    """
    if options.auth is not None and options.proxy_header is not None:
        raise UsageError("--auth and --proxy-header are both given", hint="keep one of them")
    if (options.tls_cert is None) != (options.tls_key is None):
        raise UsageError("--tls-cert and --tls-key go together", hint="give both")
    if options.tls_cert is not None and options.behind_proxy:
        raise UsageError("--tls-cert and --behind-proxy are both given", hint="keep the one that browsers talk to")
    if options.proxy_header is not None and not options.behind_proxy:
        raise UsageError("--proxy-header needs --behind-proxy", hint="give it where the proxy sees to TLS")
    if not is_loopback(options.host):
        if not options.has_users:
            raise UsageError(
                "anybody on the network could read the data",
                where=f"--host {options.host}",
                hint="give --auth FILE, or --proxy-header NAME of a proxy that knows users",
            )
        if options.scheme == "http":
            raise UsageError(
                "passwords and data would be readable on the way",
                where=f"--host {options.host}",
                hint="give --tls-cert and --tls-key, or --behind-proxy where a proxy sees to TLS",
            )
    _require_there(options)


def _require_there(options: ServerOptions) -> None:
    if min(options.jobs, options.jobs_each) < 1:
        raise UsageError("--jobs and --jobs-each must be at least 1")
    if options.run_memory and not is_memory_seen():
        raise UsageError("--run-memory needs Linux", hint="leave it out")
    if options.auth is not None:
        users_in(options.auth)
    for folder in options.folders:
        if not folder.is_dir():
            raise UsageError("there is no such folder", where=f"--folder {folder}", hint="check the path")
    for path in (options.tls_cert, options.tls_key):
        if path is not None and not path.is_file():
            raise UsageError("there is no such file", where=str(path), hint="check the path")


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
        raise UsageError("masktron web needs Linux or macOS", hint="on Windows, run it in WSL")
    warnings: list[str] = []
    listener = _listener(options, _peers(options, warnings.append))
    with listener, sole_user(options.projects):
        port = listener.getsockname()[1]
        parts = _parts(options, port)
        path = _first_page(parts) if sample else "/"
        opened = f"{_address(options, port)}{path}"
        door = parts.door
        token = f"?token={door.token}" if isinstance(door, TokenDoor) else ""
        say(f"masktron web: {opened}{token}")
        for warning in warnings:
            say(warning)
        say("end it with Ctrl-C; runs that are under way go on")
        config = uvicorn.Config(
            web_app(parts),
            access_log=False,
            server_header=False,
            proxy_headers=False,
            log_config=None,
            ssl_certfile=options.tls_cert,
            ssl_keyfile=options.tls_key,
            timeout_graceful_shutdown=_ENDING,
            ws="none",
            http=_connection(options),
            ssl_ciphers=_CIPHERS,
            loop="asyncio",
        )
        _log_to_stderr()
        tell_grace(_ENDING + _ENDING_SLOWLY)
        with contextlib.ExitStack() as kept:
            ready = page = None
            if browse and not is_wsl():  # the browsers of Windows read no page of ours
                page = kept.enter_context(opening_page(options.projects, f"{opened}{token}"))
                ready = partial(webbrowser.open, page.as_uri())
            if isinstance(door, TokenDoor):
                door.used = partial(_next_address, door, opened, page, say)
            _Server(config, ready).run(sockets=[listener])
        busy = len(parts.queue.busy())
    say(f"ended; {busy} projects have runs that go on or wait" if busy else "ended")


def _peers(options: ServerOptions, warn: Callable[[str], object]) -> OwnPeers | None:
    """Return what recognises the connections of the user; None where everybody's are accepted."""
    if options.behind_proxy or options.has_users:
        return None
    if (peers := own_peers()) is None:
        warn(
            "this system cannot tell which user opens a connection: keep the address from other users of the machine"
        )
    return peers


def _connection(options: ServerOptions) -> type[WebConnection]:
    """Return the protocol of connections."""
    if options.behind_proxy:
        return ProxiedConnection
    return for_users(peer_users()) if options.has_users else WebConnection


def _next_address(door: TokenDoor, opened: str, page: Path | None, say: Callable[[str], None]) -> None:
    """Say how another browser is opened, as the token of before is worth nothing any more."""
    try:
        if page is not None:
            page.unlink(missing_ok=True)
        say(f"opened; for another browser: {opened}?token={door.token}")
    except OSError as error:  # nobody reads what is printed any more
        note_mistake(error)


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
    keep = KEPT_FOR_USERS if options.keep is None and options.has_users else options.keep
    store = ProjectStore(options.projects, pickable=options.folders, room=options.room, keep=keep or None)
    secure = options.scheme == "https"
    cookie = Cookie("__Host-masktron" if secure else f"masktron-{port}", secure)
    sessions = Sessions(options.projects / "sessions.json", _WITH_USERS if options.has_users else _WITH_TOKEN)
    keeper = None
    if options.auth is not None:
        keeper = Doorkeeper(options.auth)
        door: Door = PasswordDoor(keeper)
    elif options.proxy_header is not None:
        door = ProxyDoor(options.proxy_header, frozenset(options.proxy_from), sessions)
    else:
        door = TokenDoor(sessions, cookie)
    return WebParts(
        store=store,
        queue=RunQueue(store, options.jobs, options.jobs_each, options.run_limits),
        sessions=sessions,
        door=door,
        cookie=cookie,
        hosts=_hosts(options, port),
        scheme=options.scheme,
        largest_upload=options.largest_upload,
        keeper=keeper,
        is_local=not options.has_users,
        is_proxied=options.behind_proxy,
    )


def _hosts(options: ServerOptions, port: int) -> frozenset[str]:
    names = {*options.host_names}
    if is_loopback(options.host):
        names |= {"127.0.0.1", "localhost", "[::1]"}
    elif not _is_any(options.host):
        names.add(_bracketed(options.host))
    hosts = set[str]()
    for name in names:
        own = _WITH_PORT.fullmatch(name)
        hosts.add(name if own else f"{name}:{port}")
        if own is None and options.behind_proxy:
            hosts.add(name)
        if int(own[2] if own else port) == _HTTP_PORTS[options.scheme]:  # browsers leave it out
            hosts.add(own[1] if own else name)
    return frozenset(host.lower() for host in hosts)


def _address(options: ServerOptions, port: int) -> str:
    name = options.host_names[0] if options.host_names else _bracketed(options.host)
    told = options.behind_proxy or _WITH_PORT.fullmatch(name)
    return f"{options.scheme}://{name}" if told else f"{options.scheme}://{name}:{port}"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _is_any(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def _first_page(parts: WebParts) -> str:
    """Return the path of the newest project, or of the sample where there is none."""
    projects = parts.store.of(LOCAL_USER)
    project = next((one for one in projects if one.facts.sample), None) or parts.store.make_sample(LOCAL_USER)
    return f"/projects/{project.identity}"


def _listener(options: ServerOptions, peers: OwnPeers | None) -> OwnListener:
    try:
        family = socket.getaddrinfo(options.host, options.port, type=socket.SOCK_STREAM)[0][0]
        listener = OwnListener(family, peers)
    except OSError as error:
        raise UsageError(f"cannot listen there: {error.strerror}", where=f"--host {options.host}") from error
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((options.host, options.port))
    except OSError as error:
        listener.close()
        raise UsageError(
            f"cannot listen there: {error.strerror}",
            where=f"{options.host}:{options.port}",
            hint="name another port: --port 0 takes any that is free",
        ) from error
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
