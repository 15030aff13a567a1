"""The list of projects, and their pages: each is shown, takes its forms, and its uploads."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from masktron.errors import MasktronError, UsageError
from masktron.problems.readers import Reader, reading
from masktron.web.access.gate import secret_of
from masktron.web.access.sessions import form_token, is_form_token
from masktron.web.mistakes import note_mistake
from masktron.web.pages import projects_list
from masktron.web.pages.all_pages import PAGES
from masktron.web.plain_answers import form_refused, nothing_here, problem_page, redirected
from masktron.web.runs.one_run import one_look
from masktron.web.store.projects import Project
from masktron.web.store.uploading import Uploaded, UploadLimits, UploadRefusedError, uploaded
from masktron.web.templating import rendered
from masktron.web.web_page import (
    STEPS,
    FormFields,
    NothingHereError,
    PageProblem,
    Redirect,
    StepState,
    WebPage,
    problem_of,
)
from masktron.web.web_parts import WebParts

FORM_BYTES = 4 << 20
"""Of a form without a file: a rulebook that is edited is the largest."""
_PASSING_OVER = 20.0
"""Seconds for which the rest of a refused upload is read."""


async def read_form(request: Request) -> FormFields | Response:
    """Read a form without files, and refuse one that is not of this session."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return form_refused("this server has no such form", 415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES:
            return form_refused("it is longer than 4 MB; upload a long text as a file", 413)
    try:
        form = FormFields(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000))
    except ValueError:
        return form_refused("this server has no such form", 400)
    if not is_form_token(form.text("csrf"), secret_of(request)):
        return form_refused("it is older than your session", 403)
    return form


async def passed_over(body: AsyncIterator[bytes]) -> None:
    """Read the rest of what was refused: a browser hears no answer before it has sent all, or is cut off."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PASSING_OVER):
            async for _ in body:
                pass


class ProjectPages:
    """Answers for pages of projects."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts

    async def projects(self, request: Request) -> Response:
        """Answer for the list of projects, and take its forms."""
        form = await read_form(request) if request.method == "POST" else None
        if isinstance(form, Response):
            return form
        return await run_in_threadpool(self._projects, request, form)

    def _projects(self, request: Request, form: FormFields | None) -> Response:
        visit = self._parts.visit_of(request)
        problems: list[PageProblem] = []
        if form is not None:
            action = projects_list.ACTIONS.get(form.text("action"))
            if action is None:
                return form_refused("this page has no such form", 400)
            try:
                return redirected(action(visit, form))
            except MasktronError as error:
                problems = [problem_of(error, form.names)]
            except NothingHereError:
                return nothing_here()
        text = rendered(
            "projects.html",
            csrf=form_token(secret_of(request)),
            problems=problems,
            given=form,
            **projects_list.show(visit),
        )
        return HTMLResponse(text, 422 if problems else 200)

    def page_of(self, page: WebPage) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers for a page of a project: it shows it, and takes its forms."""

        async def answer(request: Request) -> Response:
            form = await read_form(request) if request.method == "POST" else None
            if isinstance(form, Response):
                return form
            return await run_in_threadpool(self._answered, page, request, form)

        return answer

    def upload_of(self, page: WebPage) -> Callable[[Request], Awaitable[Response]]:
        """Return what takes the uploads of a page."""

        async def answer(request: Request) -> Response:
            project = await run_in_threadpool(self._readable, request)
            if isinstance(project, Response):
                return project
            body = request.stream()
            try:
                name = await self._received(request, project, body)
            except MasktronError as error:
                await passed_over(body)
                status = error.status if isinstance(error, UploadRefusedError) else 422
                problem = problem_of(error, at="file")
                answer = await run_in_threadpool(
                    _unless_gone, project, lambda: self._shown(page, request, project, [problem], None, status)
                )
                # what is left of the body after that is not read
                answer.headers["connection"] = "close"
                return answer
            except Exception:
                if project.is_there:
                    raise
                return nothing_here()
            return await run_in_threadpool(_unless_gone, project, lambda: self._taken(page, request, project, name))

        return answer

    async def _received(self, request: Request, project: Project, body: AsyncIterator[bytes]) -> str:
        length = request.headers.get("content-length", "")
        found = await uploaded(
            body,
            request.headers.get("content-type", ""),
            project.files,
            limits=UploadLimits(self._parts.largest_upload, self._parts.store.left()),
            is_token=lambda given: is_form_token(given, secret_of(request)),
            length=int(length) if length.isascii() and length.isdigit() and len(length) < 20 else None,
        )
        return await run_in_threadpool(_kept, project, found)

    def _taken(self, page: WebPage, request: Request, project: Project, name: str) -> Response:
        if page.take is None:
            raise TypeError("a page without uploads has taken one")
        try:
            return redirected(page.take(self._parts.visit_of(request), project, name))
        except MasktronError as error:
            project.remove_upload(name)
            problem = problem_of(error, at="file")
            return self._shown(page, request, project, [problem], None, 422)

    def _answered(self, page: WebPage, request: Request, form: FormFields | None) -> Response:
        project = self._readable(request)
        if isinstance(project, Response):
            return project
        return _unless_gone(
            project,
            lambda: (
                self._shown(page, request, project, [], None, 200)
                if form is None
                else self._acted(page, request, project, form)
            ),
        )

    def _readable(self, request: Request) -> Project | Response:
        """Return the project of an address, or the answer that there is none, or that nobody can read it."""
        project = self._parts.project_of(request)
        if project is None:
            return nothing_here()
        try:
            _ = project.facts
        except MasktronError as error:
            return problem_page(problem_of(error), 422)
        return project

    @reading(Reader.BROWSER)
    def _acted(self, page: WebPage, request: Request, project: Project, form: FormFields) -> Response:
        action = page.actions.get(form.text("action"))
        if action is None:
            return form_refused("this page has no such form", 400)
        try:
            _require_seen(page, project, form)
            answer = action(self._parts.visit_of(request), project, form)
        except MasktronError as error:
            return self._shown(page, request, project, [problem_of(error, form.names)], form, 422)
        except NothingHereError:
            return nothing_here()
        if isinstance(answer, Redirect):
            return redirected(answer)
        common = {"problems": [], "given": form, **self._common(request, project, page)}
        return HTMLResponse(rendered(answer.template, **{**common, **answer.context}))

    @one_look()
    @reading(Reader.BROWSER)
    def _shown(
        self,
        page: WebPage,
        request: Request,
        project: Project,
        problems: list[PageProblem],
        given: FormFields | None,
        status: int,
    ) -> Response:
        visit = self._parts.visit_of(request)
        try:
            context = page.show(visit, project)
        except NothingHereError:
            return nothing_here()
        except MasktronError as error:
            return HTMLResponse(
                rendered("problem.html", **self._common(request, project, page), problem=problem_of(error)), 422
            )
        text = rendered(
            f"{page.name}.html",
            **self._common(request, project, page),
            given=given,
            visit=visit,
            **{**context, "problems": [*problems, *context.get("problems", ())]},
        )
        return HTMLResponse(text, status)

    def _common(self, request: Request, project: Project, page: WebPage) -> dict[str, Any]:
        return {
            "csrf": form_token(secret_of(request)),
            "project": project,
            "facts": project.facts,
            "page": page,
            "steps": (way := way_of(project)),
            "onward": list(onward(way, page.name)),
            "seen": project.settings.version(page.writes) if page.writes else "",
        }


def _unless_gone(project: Project, answer: Callable[[], Response]) -> Response:
    """Return an answer, or that there is nothing where somebody has deleted the project meanwhile."""
    try:
        found = answer()
    except Exception:
        if project.is_there:
            raise
        return nothing_here()
    return found if project.is_there else nothing_here()


def _require_seen(page: WebPage, project: Project, form: FormFields) -> None:
    """Refuse a form that was loaded before another window has changed the settings that it writes."""
    if "seen" in form.names and form.text("seen") != project.settings.version(page.writes):
        raise UsageError.of("page-outdated", reason="another window has changed these settings since")


def _kept(project: Project, found: Uploaded) -> str:
    """Give an upload its name."""
    try:
        return project.keep_upload(found.half, found.name)
    except BaseException:
        found.half.unlink(missing_ok=True)
        raise


@dataclass(frozen=True, slots=True)
class WayStep:
    """A step of the way, as the pages of a project show it."""

    name: str
    title: str
    page: WebPage | None
    state: StepState
    is_next: bool


def way_of(project: Project) -> list[WayStep]:
    """Return the steps of a project in order: how far each is, and which comes next."""
    pages = {page.step: page for page in PAGES if page.step is not None}
    way, found = [], False
    for name, title in STEPS.items():
        page = pages.get(name)
        state = _state_of(page, project)
        is_next = not found and not state.done and page is not None
        found = found or is_next
        way.append(WayStep(name, title, page, state, is_next))
    return way


def onward(steps: Sequence[WayStep], name: str) -> Iterator[tuple[str, WayStep]]:
    """Yield where to go from the page of a step: to the first open step if it is earlier, and on from a done one."""
    at = next((at for at, one in enumerate(steps) if one.page is not None and one.page.name == name), None)
    if at is None:
        return
    yield from (("Still open", one) for one in steps[:at] if one.is_next)
    if steps[at].state.done:
        later = (one for one in steps[at + 1 :] if one.page is not None and not one.state.done)
        yield from (("Next", one) for one in itertools.islice(later, 1))


def _state_of(page: WebPage | None, project: Project) -> StepState:
    """Return how far a step is; what stands in its way, be it a mistake of ours, closes no other page."""
    if page is None or page.state is None:
        return StepState(False)
    try:
        return page.state(project)
    except MasktronError as error:
        return StepState(False, error.what, problem=True)
    except Exception as error:  # noqa: BLE001 -- every page of the project shows the way
        note_mistake(error)
        return StepState(False, "it cannot be read", problem=True)
