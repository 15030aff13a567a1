"""Answers without a page of a project: what is wrong in a sentence, where to go, a file to keep."""

from __future__ import annotations

from urllib.parse import quote

from starlette.responses import HTMLResponse, RedirectResponse, Response

from masktron.errors import UsageError
from masktron.web.access.answer_headers import DOWNLOAD_POLICY
from masktron.web.templating import rendered
from masktron.web.web_page import PageProblem, Redirect, problem_of


def redirected(where: Redirect) -> Response:
    """Lead to a page of this server, and to no other."""
    if not where.to.startswith("/") or where.to.startswith(("//", "/\\")):
        raise ValueError("a page leads to another server")
    return RedirectResponse(where.to, 303)


def problem_page(error: PageProblem, status: int) -> Response:
    """Return a page that says what is wrong, and what to do."""
    return HTMLResponse(rendered("nothing.html", what=error.what, hint=error.hint, code=error.code), status)


def form_refused(reason: str, status: int) -> Response:
    """Return a page that says why a form is not taken."""
    return problem_page(problem_of(UsageError.of("form-refused", reason=reason)), status)


def nothing_here() -> Response:
    """Return that there is nothing."""
    return problem_page(PageProblem("There is nothing here", hint="go back to your projects"), 404)


def mistaken() -> Response:
    """Return that there is a mistake of ours."""
    hint = "please report it: its log says where"
    return problem_page(PageProblem("masktron web has a mistake", hint=hint), 500)


def download_of(content: bytes, name: str) -> Response:
    """Return a file that no browser shows."""
    return Response(content, headers=download_headers(name), media_type="application/octet-stream")


def download_headers(name: str) -> dict[str, str]:
    """Return the headers of a file that no browser shows."""
    return {
        "content-disposition": f"attachment; filename*=utf-8''{quote(name)}",
        "content-security-policy": DOWNLOAD_POLICY,
    }
