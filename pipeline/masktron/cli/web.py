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
            "--no-browser", help="Only print the address. It opens one browser; run this again for the next one."
        ),
    ] = False,
    projects: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Where the projects are.", show_default="masktron in your data folder"),
    ] = None,
    behind_proxy: Annotated[
        bool, typer.Option("--behind-proxy", help="Answer a reverse proxy of the office, which sees to TLS.")
    ] = False,
    proxy_header: Annotated[
        str | None,
        typer.Option(
            "--proxy-header",
            metavar="'HEADER: NAME'",
            envvar="MASKTRON_PROXY_HEADER",
            help="Header that the proxy sets, and the one name that it may carry: yours.",
        ),
    ] = None,
    proxy_account: Annotated[
        str | None,
        typer.Option(
            "--proxy-account",
            metavar="ACCOUNT",
            envvar="MASKTRON_PROXY_ACCOUNT",
            help="Account of this machine, or its number, from which the proxy connects.",
        ),
    ] = None,
    host_name: Annotated[
        list[str] | None,
        typer.Option(
            "--host-name",
            metavar="NAME",
            envvar="MASKTRON_HOST_NAMES",
            help="A name by which browsers ask for it, as NAME:443 where the port is another one; repeatable.",
        ),
    ] = None,
    jobs: Annotated[int, typer.Option(parser=options.integer, metavar="N", help="Runs at the same time.")] = 1,
    max_upload: Annotated[int, typer.Option(parser=options.integer, metavar="MB", help="Largest upload.")] = 2000,
) -> None:
    """Do all this in a browser on your own machine; again, to open it once more."""
    from masktron.errors import UsageError
    from masktron.extras import installing

    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        raise UsageError(f"masktron web needs {', '.join(missing)}", hint=installing("web"))
    from masktron.web.server import ServerOptions, serve

    if max_upload < 1:
        raise UsageError(f"--max-upload must be at least 1 (MB), not {max_upload}")
    if not 0 <= port <= 65535:
        raise UsageError(f"--port must be a number from 0 to 65535, not {port}")
    asked = ServerOptions(
        projects=(projects or _data_folder()).resolve(),
        port=port,
        behind_proxy=behind_proxy,
        proxy_header=proxy_header,
        proxy_account=proxy_account,
        host_names=tuple(host_name or ()),
        jobs=jobs,
        largest_upload=max_upload * _MB,
    )
    serve(asked, say=_say, browse=not (no_browser or behind_proxy), sample=not behind_proxy)


def _say(line: str) -> None:
    typer.echo(line)
    sys.stdout.flush()


def _data_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "masktron"
