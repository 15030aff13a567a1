"""``masktron web``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from masktron.cli import options

_NEEDED = ("starlette", "uvicorn", "python_multipart", "jinja2")
_MB = 1_000_000


def web(
    port: Annotated[
        int, typer.Option(parser=options.integer, metavar="N", help="Port to listen on; 0 for any that is free.")
    ] = 0,
    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser", help="Only print the address. Each opens one browser; then the next one is printed."
        ),
    ] = False,
    host: Annotated[
        str,
        typer.Option(metavar="ADDRESS", help="Address to listen on; another one than this machine's asks for users."),
    ] = "127.0.0.1",
    projects: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the projects are.", show_default="masktron in your data folder"),
    ] = None,
    folder: Annotated[
        list[Path] | None,
        typer.Option("--folder", metavar="FOLDER", help="Data may be picked (copied) from here; repeatable."),
    ] = None,
    auth: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Users and their hashed passwords, for other addresses.")
    ] = None,
    add_user: Annotated[
        str | None,
        typer.Option("--add-user", metavar="NAME", help="Ask for a password, write it to --auth hashed, and stop."),
    ] = None,
    proxy_header: Annotated[
        str | None,
        typer.Option("--proxy-header", metavar="NAME", help="Header in which a reverse proxy names the user."),
    ] = None,
    proxy_from: Annotated[
        list[str] | None,
        typer.Option(
            "--proxy-from", metavar="ADDRESS", help="Address of that proxy, if not this machine; repeatable."
        ),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="A reverse proxy sees to TLS, and passes the Host header on.")
    ] = False,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            "--host-name",
            metavar="NAME",
            envvar="MASKTRON_HOST_NAMES",
            help="A name by which browsers ask for it, as NAME:443 where the port is another one; repeatable.",
        ),
    ] = None,
    tls_cert: Annotated[Path | None, typer.Option("--tls-cert", metavar="FILE", help="Certificate, in PEM.")] = None,
    tls_key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="Its key, in PEM.")] = None,
    jobs: Annotated[int, typer.Option(parser=options.integer, metavar="N", help="Runs at the same time.")] = 1,
    jobs_each: Annotated[int, typer.Option(parser=options.integer, metavar="N", help="The same of one user.")] = 1,
    max_upload: Annotated[int, typer.Option(parser=options.integer, metavar="MB", help="Largest upload.")] = 2000,
    max_disk: Annotated[
        int, typer.Option(parser=options.integer, metavar="MB", help="What the projects of a user may take.")
    ] = 20_000,
    run_minutes: Annotated[
        float | None,
        typer.Option(
            "--run-minutes",
            parser=options.number,
            metavar="N",
            help="What a run may take of time; 0 for no limit.",
            show_default="a day with users, else no limit",
        ),
    ] = None,
    run_memory: Annotated[
        int | None,
        typer.Option(
            "--run-memory",
            parser=options.integer,
            metavar="MB",
            help="What its processes may take of memory (on Linux); 0 for no limit.",
            show_default="with users 4/5 of the machine's, among --jobs; else no limit",
        ),
    ] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            parser=options.number,
            metavar="DAYS",
            help="Delete projects that nobody has changed for so long; 0 for never.",
            show_default="30 with users, else never",
        ),
    ] = None,
) -> None:
    """Do all this in a browser: on your own machine, or on a server of the office."""
    from masktron.errors import UsageError
    from masktron.extras import installing

    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise UsageError(f"masktron web needs {', '.join(missing)}", hint=installing("web"))
    if add_user is not None:
        _add_user(auth, add_user)
        return
    from masktron.web.server import ServerOptions, serve

    for name, value in (("--max-upload", max_upload), ("--max-disk", max_disk)):
        if value < 1:
            raise UsageError(f"{name} must be at least 1 (MB), not {value}")
    if keep is not None and keep < 0:
        raise UsageError(f"--keep must be a number of days, not {keep:g}")
    for option, limit in (("--run-minutes", run_minutes), ("--run-memory", run_memory)):
        if limit is not None and limit < 0:
            raise UsageError(f"{option} must not be negative, not {limit:g}")
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be a number from 0 to 65535, not {port}")
    asked = ServerOptions(
        projects=(projects or _data_folder()).resolve(),
        host=host,
        port=port,
        folders=tuple(one.resolve() for one in folder or ()),
        auth=auth,
        proxy_header=proxy_header,
        proxy_from=tuple(proxy_from or ("127.0.0.1", "::1")),
        behind_proxy=behind_proxy,
        host_names=tuple(host_name or ()),
        tls_cert=tls_cert,
        tls_key=tls_key,
        jobs=jobs,
        jobs_each=jobs_each,
        largest_upload=max_upload * _MB,
        room=max_disk * _MB,
        keep=keep,
        run_minutes=run_minutes,
        run_memory=None if run_memory is None else run_memory * _MB,
    )
    serve(asked, say=_say, browse=not no_browser and not asked.has_users, sample=not asked.has_users)


def _say(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()


def _data_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "masktron"


def _add_user(auth: Path | None, name: str) -> None:
    import getpass

    from masktron.errors import UsageError
    from masktron.web.access.passwords import add_user

    if auth is None:
        raise UsageError("--add-user needs --auth FILE", hint="the file in which the users are")
    if sys.stdin.isatty():
        password = getpass.getpass("Password: ")
        if getpass.getpass("Once more: ") != password:
            raise UsageError("the two passwords differ", hint="try once more")
    else:
        password = sys.stdin.readline().rstrip("\n")
    add_user(auth, name, password)
    _say(f"{name} may log in")
