"""Answers without a page of a project: what is wrong in a sentence, where to go, a file to keep."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import HTMLResponse, RedirectResponse, Response

from masktron.web.access.answer_headers import DOWNLOAD_POLICY
from masktron.web.templating import rendered
from masktron.web.web_page import Redirect


def redirected(where: Redirect) -> Response:
    """Lead to a page of this server, and to no other."""
    if not where.to.startswith("/") or where.to.startswith(("//", "/\\")):
        raise ValueError("a page leads to another server")
    return RedirectResponse(where.to, 303)


def problem_page(what: str, hint: str, status: int) -> Response:
    """Return a page that says what is wrong, and what to do."""
    return HTMLResponse(rendered("nothing.html", what=what, hint=hint), status)


def nothing_here() -> Response:
    """Return that there is nothing."""
    return problem_page("There is nothing here", "go back to your projects", 404)


def download_of(content: bytes, name: str) -> Response:
    """Return a file that no browser shows."""
    return Response(content, headers=download_headers(name), media_type="application/octet-stream")


def download_headers(name: str) -> dict[str, str]:
    """Return the headers of a file that no browser shows."""
    return {
        "content-disposition": f"attachment; filename*=utf-8''{quote(name)}",
        "content-security-policy": DOWNLOAD_POLICY,
    }
