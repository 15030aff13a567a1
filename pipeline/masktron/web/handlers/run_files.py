"""Files: style sheets and scripts of ours, settings and rules to keep, what runs have written."""

from __future__ import annotations

import base64
import hashlib
import os
from collections.abc import Iterator, Mapping
from functools import cache
from io import BufferedReader
from pathlib import Path

from starlette.requests import Request
from starlette.responses import FileResponse, Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from masktron.errors import MasktronError
from masktron.resources import packaged_text
from masktron.web.access.answer_headers import DOWNLOAD_POLICY, PICTURE_POLICY, report_policy
from masktron.web.plain_answers import download_headers, download_of, nothing_here, redirected
from masktron.web.runs.checked_files import may_leave
from masktron.web.runs.one_run import CommandRun, RunOutput, run_of, stamp_from
from masktron.web.store.disk import bytes_of, plain_files
from masktron.web.store.project_files import project_file
from masktron.web.web_page import Redirect, Visit
from masktron.web.web_parts import WebParts

_STATIC: Mapping[str, tuple[str, str]] = {
    "page.css": ("report/pages/page.css", "text/css"),
    "web.css": ("web/static/web.css", "text/css"),
    "htmx.min.js": ("web/static/htmx.min.js", "text/javascript"),
    "web.js": ("web/static/web.js", "text/javascript"),
    "sort.js": ("report/pages/page.js", "text/javascript"),
}
"""What pages load, by name, with its place in the package and its type."""


class RunFiles:
    """Answers with files."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts

    def static(self, request: Request) -> Response:
        """Answer with a style sheet or a script of ours."""
        if (found := _STATIC.get(request.path_params["name"])) is None:
            return nothing_here()
        content, tag = _static(found[0])
        headers = {"cache-control": "private, no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=found[1])

    def document(self, request: Request) -> Response:
        """Download the settings or the rules of a project."""
        project, name = self._parts.project_of(request), request.path_params["name"]
        kind = project_file(name)
        if project is None or kind is None or not kind.downloaded:
            return nothing_here()
        there = {one.name for one in plain_files(project.folder)}
        content = bytes_of(project.folder / name) if name in there else None
        return nothing_here() if content is None else download_of(content, name)

    def output(self, request: Request) -> Response:
        """Download a file that a run has written: what is for outside once a check has passed, else Release is next.

        What is for inside the agency alone goes as it is.
        """
        run, path = self._run(request), self._output(request)
        if run is None or path is None:
            return nothing_here()
        if path.name not in run.copies and not RunOutput(path.name, 0).confidential:
            return _leaving(run, path)
        return FileResponse(
            path, filename=path.name, media_type="application/octet-stream",
            headers={"content-security-policy": DOWNLOAD_POLICY},
        )  # fmt: skip

    def picture(self, request: Request) -> Response:
        """Answer with a picture that a run has drawn."""
        path = self._output(request)
        if path is None or path.suffix != ".svg":
            return nothing_here()
        headers = {"content-security-policy": PICTURE_POLICY}
        return FileResponse(path, media_type="image/svg+xml", content_disposition_type="inline", headers=headers)

    def report(self, request: Request) -> Response:
        """Show a page that a run has written: its own script runs, and can reach nothing of this server."""
        path = self._output(request)
        if path is None or path.suffix != ".html":
            return nothing_here()
        headers = {"content-security-policy": report_policy(_script_hash())}
        return FileResponse(path, media_type="text/html", content_disposition_type="inline", headers=headers)

    def _output(self, request: Request) -> Path | None:
        run = self._run(request)
        return None if run is None else run.output(request.path_params["name"])

    def _run(self, request: Request) -> CommandRun | None:
        project = self._parts.project_of(request)
        return None if project is None else run_of(project, request.path_params["run"])


def _leaving(run: CommandRun, path: Path) -> Response:
    """Answer with a file for outside the agency, or lead to where it is checked."""
    stream = path.open("rb")
    try:
        leaves = may_leave(run, path.name, stream)
    except MasktronError:  # the page says it
        leaves = False
    except BaseException:
        stream.close()
        raise
    if leaves:
        return OpenedFile(stream, path.name)
    stream.close()
    return redirected(Redirect(Visit.path(run.project, "release")))


@cache
def _static(place: str) -> tuple[bytes, str]:
    content = packaged_text(place).encode()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'


@cache
def _script_hash() -> str:
    return base64.b64encode(hashlib.sha256(packaged_text("report/pages/page.js").encode()).digest()).decode()


_PIECE = 1 << 18


class OpenedFile(StreamingResponse):
    """Sends a file that is open, and closes it.

    The last piece goes only if nobody has written into the file meanwhile: else the download breaks off.

    Parameters
    ----------
    stream : binary stream
    name : str
        Under which the browser keeps it.
    """

    def __init__(self, stream: BufferedReader, name: str) -> None:
        found = os.fstat(stream.fileno())
        self._stream = stream
        self._stamp = stamp_from(found)
        headers = {**download_headers(name), "content-length": str(found.st_size)}
        super().__init__(self._pieces(found.st_size), headers=headers, media_type="application/octet-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._stream:
            await super().__call__(scope, receive, send)

    def _pieces(self, size: int) -> Iterator[bytes]:
        self._stream.seek(0)
        left = size
        while left:
            piece = self._stream.read(min(_PIECE, left))
            left -= len(piece)
            if not piece or (not left and stamp_from(os.fstat(self._stream.fileno())) != self._stamp):
                raise ConnectionAbortedError("the file was changed while it was sent")
            yield piece
