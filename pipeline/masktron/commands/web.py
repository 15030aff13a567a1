"""``masktron web``."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path

import click

from masktron.commands.base import Plain
from masktron.declared import HOW, LIMITS, require, setting
from masktron.errors import UsageError
from masktron.progress import Progress, no_progress

_NEEDED = ("starlette", "uvicorn", "python_multipart", "jinja2")
_MB = 1_000_000


def _port(given: int) -> int:
    require(0 <= given <= 65535, "a number from 0 to 65535", given)
    return given


class Web(Plain):
    """Do all this in a browser on your own machine."""

    name = "web"
    hides = ("json",)
    shows_progress = False

    port: int = setting(
        "Port to listen on; 0 for any that is free.", HOW, converter=_port, default=0, metavar="N", page="web"
    )
    no_browser: bool = setting(
        "Only print the address. It opens one browser; run this again for the next one.", HOW, default=False
    )
    projects: Path | None = setting(
        "Where the projects are.", HOW, default=None, metavar="FOLDER", shown="masktron in your data folder"
    )
    behind_proxy: bool = setting("Answer a reverse proxy of the office, which sees to TLS.", HOW, default=False)
    proxy_header: str | None = setting(
        "Header that the proxy sets, and the one name that it may carry: yours.",
        HOW, default=None, metavar="'HEADER: NAME'", variable="MASKTRON_PROXY_HEADER",
    )  # fmt: skip
    proxy_account: str | None = setting(
        "Account of this machine, or its number, from which the proxy connects.",
        HOW, default=None, metavar="ACCOUNT", variable="MASKTRON_PROXY_ACCOUNT",
    )  # fmt: skip
    host_name: tuple[str, ...] = setting(
        "A name by which browsers ask for it, as NAME:443 where the port is another one.",
        HOW, converter=tuple, default=(), metavar="NAME", variable="MASKTRON_HOST_NAMES",
    )  # fmt: skip
    jobs: int = setting("Runs at the same time.", LIMITS, default=1, metavar="N")
    max_upload: int = setting("Largest upload.", LIMITS, default=2000, metavar="MB", least=1)

    def run(self, progress: Progress = no_progress) -> None:
        """Serve until it is ended."""
        del progress
        if missing := [name for name in _NEEDED if find_spec(name) is None]:
            raise UsageError.of("package-missing", what="masktron web", package=missing, extra="web")
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
