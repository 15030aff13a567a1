"""The application: routes of pages, forms, uploads and downloads, behind the gate."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp

from masktron.web.access.answer_headers import AnswerHeaders
from masktron.web.access.gate import Gate
from masktron.web.handlers.project_pages import ProjectPages
from masktron.web.handlers.run_files import RunFiles
from masktron.web.pages.all_pages import PAGES
from masktron.web.plain_answers import nothing_here, problem_page
from masktron.web.request_log import RequestLog
from masktron.web.store.projects import GONE
from masktron.web.store.uploading import remove_halves
from masktron.web.web_parts import WebParts


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
    return problem_page("masktron web has a mistake", "please report it: its log says where", 500)


def _nothing(_: Request, __: Exception) -> Response:
    return nothing_here()
