"""``masktron web``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import attrs
import click
from attrs import field

from masktron.commands.base import Line, Plain
from masktron.declared import HOW, LIMITS, Shape, WrongValue, checked, declared, integer
from masktron.errors import UsageError
from masktron.extras import installing
from masktron.progress import Progress, no_progress

_NEEDED = ("starlette", "uvicorn", "python_multipart", "jinja2")
_MB = 1_000_000


def _port(given: int) -> int:
    if not 0 <= given <= 65535:
        raise WrongValue(f" must be a number from 0 to 65535, not {given}")
    return given


@attrs.define(frozen=True, slots=False, eq=False, repr=False, kw_only=True, field_transformer=checked)
class Web(Plain):
    """Do all this in a browser on your own machine."""

    name = "web"
    line = Line
    shows_progress = False

    port: int = field(
        default=0,
        converter=_port,
        metadata=declared("Port to listen on; 0 for any that is free.", HOW, metavar="N", read=integer, page="web"),
    )
    no_browser: bool = field(
        default=False,
        metadata=declared(
            "Only print the address. It opens one browser; run this again for the next one.",
            HOW,
            form=Shape.SWITCH,
        ),
    )
    projects: Path | None = field(
        default=None,
        metadata=declared(
            "Where the projects are.", HOW, metavar="FOLDER", shown="masktron in your data folder", read=Path
        ),
    )
    behind_proxy: bool = field(
        default=False,
        metadata=declared("Answer a reverse proxy of the office, which sees to TLS.", HOW, form=Shape.SWITCH),
    )
    proxy_header: str | None = field(
        default=None,
        metadata=declared(
            "Header that the proxy sets, and the one name that it may carry: yours.", HOW,
            metavar="'HEADER: NAME'", variable="MASKTRON_PROXY_HEADER",
        ),
    )  # fmt: skip
    proxy_account: str | None = field(
        default=None,
        metadata=declared(
            "Account of this machine, or its number, from which the proxy connects.", HOW, metavar="ACCOUNT",
            variable="MASKTRON_PROXY_ACCOUNT",
        ),
    )  # fmt: skip
    host_name: tuple[str, ...] = field(
        default=(),
        converter=tuple,
        metadata=declared(
            "A name by which browsers ask for it, as NAME:443 where the port is another one; repeatable.",
            HOW, metavar="NAME", form=Shape.LIST, variable="MASKTRON_HOST_NAMES",
        ),
    )  # fmt: skip
    jobs: int = field(default=1, metadata=declared("Runs at the same time.", LIMITS, metavar="N", read=integer))
    max_upload: int = field(
        default=2000, metadata=declared("Largest upload.", LIMITS, metavar="MB", read=integer, least=1)
    )

    def run(self, progress: Progress = no_progress) -> None:
        """Serve until it is ended."""
        del progress
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise UsageError(f"masktron web needs {', '.join(missing)}", hint=installing("web"))
        from masktron.web.server import ServerOptions, serve

        asked = ServerOptions(
            projects=(self.projects or _data_folder()).resolve(),
            port=self.port,
            behind_proxy=self.behind_proxy,
            proxy_header=self.proxy_header,
            proxy_account=self.proxy_account,
            host_names=self.host_name,
            jobs=self.jobs,
            largest_upload=self.max_upload * _MB,
        )
        browse = not (self.no_browser or self.behind_proxy)
        serve(asked, say=_say, browse=browse, sample=not self.behind_proxy)


def _say(line: str) -> None:
    click.echo(line)
    sys.stdout.flush()


def _data_folder() -> Path:
    base = os.environ.get("XDG_DATA_HOME")
    return (Path(base) if base else Path.home() / ".local" / "share") / "masktron"
