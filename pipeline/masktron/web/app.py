"""The application: routes of pages, forms, uploads and downloads, behind the gate."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import logging
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masktron.errors import MasktronError
from masktron.resources import packaged_text
from masktron.web.access.answer_headers import DOWNLOAD_POLICY, PICTURE_POLICY, AnswerHeaders, report_policy
from masktron.web.access.gate import Cookie, Door, Gate, PasswordDoor, secret_of, user_of
from masktron.web.access.passwords import Doorkeeper
from masktron.web.access.sessions import Sessions, form_token, is_form_token
from masktron.web.mistakes import note_mistake
from masktron.web.pages import projects_list
from masktron.web.pages.all_pages import PAGES
from masktron.web.runs.one_run import run_of
from masktron.web.runs.run_queue import RunQueue
from masktron.web.store.disk import bytes_of
from masktron.web.store.projects import Project, ProjectStore
from masktron.web.store.uploading import UploadLimits, UploadRefusedError, remove_halves, uploaded
from masktron.web.templating import rendered
from masktron.web.web_page import STEPS, FormFields, PageProblem, Redirect, StepState, Visit, WebPage, problem_of

_LOG = logging.getLogger("masktron.web")
FORM_BYTES = 4 << 20
"""Of a form without a file: a rulebook that is edited is the largest."""
_FORM_SECONDS = 30.0
_PASSING_OVER = 20.0
"""Seconds for which the rest of a refused upload is read."""
_OLD_EVERY = 3600.0
"""Seconds between two looks for projects that nobody keeps any more."""
_STATIC: Mapping[str, tuple[str, str]] = {
    "page.css": ("report/pages/page.css", "text/css"),
    "web.css": ("web/static/web.css", "text/css"),
    "htmx.min.js": ("web/static/htmx.min.js", "text/javascript"),
    "web.js": ("web/static/web.js", "text/javascript"),
    "sort.js": ("report/pages/page.js", "text/javascript"),
}
"""What pages load, by name, with its place in the package and its type."""


@dataclass(frozen=True, slots=True)
class WebParts:
    """What the application is made of.

    Attributes
    ----------
    store : ProjectStore
    queue : RunQueue
    sessions : Sessions
    door : Door
    cookie : Cookie
    hosts : frozenset of str
        The names by which the server may be asked.
    scheme : str
        ``http`` or ``https``, as browsers see it.
    largest_upload : int
        Bytes.
    keeper : Doorkeeper or None
        Who looks at passwords, where users have some.
    is_local : bool
        Whether browser and server are on one machine.
    upload_limits : mapping
        Of `UploadLimits`, where they are not the usual ones.
    """

    store: ProjectStore
    queue: RunQueue
    sessions: Sessions
    door: Door
    cookie: Cookie
    hosts: frozenset[str]
    scheme: str = "http"
    largest_upload: int = 2 << 30
    keeper: Doorkeeper | None = None
    is_local: bool = True
    upload_limits: Mapping[str, float] = field(default_factory=dict)


def web_app(parts: WebParts) -> ASGIApp:
    """Put the application together."""
    handlers = _Handlers(parts)
    routes = [
        Route("/", handlers.projects, methods=["GET", "POST"]),
        Route("/static/{name}", handlers.static),
        Route("/projects/{project}/download/{name}", handlers.document),
        Route("/projects/{project}/runs/{run}/files/{name}", handlers.output),
        Route("/projects/{project}/runs/{run}/report/{name}", handlers.report),
        Route("/projects/{project}/runs/{run}/picture/{name}", handlers.picture),
    ]
    if parts.keeper is not None:
        routes += [Route("/login", handlers.login, methods=["GET", "POST"])]
    routes += [Route("/logout", handlers.logout, methods=["POST"])]
    for page in PAGES:
        path = f"/projects/{{project}}/{page.path}".rstrip("/")
        if page.take is not None:
            routes.append(
                Route(f"{path}/upload", handlers.upload_of(page), methods=["POST"], name=f"{page.name}-upload")
            )
        routes.append(Route(path, handlers.page_of(page), methods=["GET", "POST"], name=page.name))
    app = Starlette(
        routes=routes,
        middleware=[Middleware(_Watched)],
        exception_handlers={404: handlers.nothing, 405: handlers.nothing},
        lifespan=_lifespan(parts),
    )
    gate = Gate(
        app, hosts=parts.hosts, scheme=parts.scheme, sessions=parts.sessions, door=parts.door, cookie=parts.cookie
    )
    return AnswerHeaders(gate, encrypted=parts.scheme == "https")


def _lifespan(parts: WebParts) -> Callable[[Starlette], Any]:
    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(_tidied, parts)
        parts.queue.recover()
        tasks = [asyncio.create_task(parts.queue.work()), asyncio.create_task(_keep_tidy(parts))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
                with suppress(asyncio.CancelledError):
                    await task
            parts.queue.leave()

    return lifespan


def _tidied(parts: WebParts) -> None:
    for project in parts.store.all():
        remove_halves(project.files)


async def _keep_tidy(parts: WebParts) -> None:
    while True:
        try:
            if number := await asyncio.to_thread(parts.store.remove_old, parts.queue.busy()):
                _LOG.info("%d projects deleted after their time", number)
        except Exception as error:  # noqa: BLE001 -- the next look may find it mended
            note_mistake(error)
        await asyncio.sleep(_OLD_EVERY)


class _Watched:
    """Writes a line for each request, without a name of anything; and says of a mistake where it is, and no value."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:
            status = 499
        except Exception as error:  # noqa: BLE001 -- the last place where somebody can answer
            note_mistake(error)
            if status == 0:
                text = _problem_page("masktron web has a mistake", "please report it: its log says where", 500)
                await text(scope, receive, noted)
            status = 500
        finally:
            route = scope.get("route")
            where = getattr(route, "path", "-")
            _LOG.info("%s %s %d %.0f ms", scope["method"], where, status, 1000 * (time.monotonic() - began))


class _Handlers:
    """One method for each kind of route."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts

    def page_of(self, page: WebPage) -> Callable[[Request], Awaitable[Response]]:
        """Return what answers for a page of a project: it shows it, and takes its forms."""

        async def answer(request: Request) -> Response:
            form = await _form(request) if request.method == "POST" else None
            if isinstance(form, Response):
                return form
            return await run_in_threadpool(self._answered, page, request, form)

        return answer

    def upload_of(self, page: WebPage) -> Callable[[Request], Awaitable[Response]]:
        """Return what takes the uploads of a page."""

        async def answer(request: Request) -> Response:
            project = await run_in_threadpool(self._project, request)
            if project is None:
                return self.nothing(request, None)
            body = request.stream()
            try:
                name = await self._received(request, project, body)
            except MasktronError as error:
                await _passed_over(body)
                status = error.status if isinstance(error, UploadRefusedError) else 422
                problem = PageProblem(error.what, error.where, error.hint, "file")
                answer = await run_in_threadpool(self._shown, page, request, project, [problem], None, status)
                # what is left of the body after that is not read
                answer.headers["connection"] = "close"
                return answer
            return await run_in_threadpool(self._taken, page, request, project, name)

        return answer

    async def _received(self, request: Request, project: Project, body: AsyncIterator[bytes]) -> str:
        room = await run_in_threadpool(self._parts.store.left, project.owner)
        length = request.headers.get("content-length", "")
        found = await uploaded(
            body,
            request.headers.get("content-type", ""),
            project.files,
            limits=UploadLimits(self._parts.largest_upload, room, **self._parts.upload_limits),
            is_token=lambda given: is_form_token(given, secret_of(request)),
            length=int(length) if length.isascii() and length.isdigit() else None,
        )
        return await run_in_threadpool(project.keep_upload, found.half, found.name)

    def _taken(self, page: WebPage, request: Request, project: Project, name: str) -> Response:
        if page.take is None:
            raise TypeError("a page without uploads has taken one")
        try:
            return _redirected(page.take(self._visit(request), project, name))
        except MasktronError as error:
            project.remove_upload(name)
            problem = PageProblem(error.what, error.where, error.hint, "file")
            return self._shown(page, request, project, [problem], None, 422)

    def _answered(self, page: WebPage, request: Request, form: FormFields | None) -> Response:
        project = self._project(request)
        if project is None:
            return self.nothing(request, None)
        return (
            self._shown(page, request, project, [], None, 200)
            if form is None
            else self._acted(page, request, project, form)
        )

    def _acted(self, page: WebPage, request: Request, project: Project, form: FormFields) -> Response:
        action = page.actions.get(form.text("action"))
        if action is None:
            return _problem_page("there is no such form", "reload the page", 400)
        try:
            answer = action(self._visit(request), project, form)
        except MasktronError as error:
            return self._shown(page, request, project, [problem_of(error, form.names)], form, 422)
        except LookupError:
            return self.nothing(request, None)
        if isinstance(answer, Redirect):
            return _redirected(answer)
        common = {"problems": [], "given": form, **self._common(request, project, page)}
        return HTMLResponse(rendered(answer.template, **{**common, **answer.context}))

    def _shown(
        self,
        page: WebPage,
        request: Request,
        project: Project,
        problems: list[PageProblem],
        given: FormFields | None,
        status: int,
    ) -> Response:
        visit = self._visit(request)
        try:
            context = page.show(visit, project)
        except LookupError:
            return self.nothing(request, None)
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
            "user": user_of(request),
            "csrf": form_token(secret_of(request)),
            "has_logout": isinstance(self._parts.door, PasswordDoor),
            "project": project,
            "facts": project.facts,
            "page": page,
            "steps": way_of(project),
        }

    async def projects(self, request: Request) -> Response:
        """Answer for the list of projects, and take its forms."""
        form = await _form(request) if request.method == "POST" else None
        if isinstance(form, Response):
            return form
        return await run_in_threadpool(self._projects, request, form)

    def _projects(self, request: Request, form: FormFields | None) -> Response:
        visit = self._visit(request)
        problems: list[PageProblem] = []
        if form is not None:
            action = projects_list.ACTIONS.get(form.text("action"))
            if action is None:
                return _problem_page("there is no such form", "reload the page", 400)
            try:
                return _redirected(action(visit, form))
            except MasktronError as error:
                problems = [problem_of(error, form.names)]
            except LookupError:
                return self.nothing(request, None)
        text = rendered(
            "projects.html",
            user=visit.user,
            csrf=form_token(secret_of(request)),
            has_logout=isinstance(self._parts.door, PasswordDoor),
            problems=problems,
            given=form,
            keep=self._parts.store.keep,
            **projects_list.show(visit),
        )
        return HTMLResponse(text, 422 if problems else 200)

    async def login(self, request: Request) -> Response:
        """Ask for a name and a password."""
        form = await _form(request) if request.method == "POST" else None
        if isinstance(form, Response):
            return form
        return await run_in_threadpool(self._login, request, form)

    def _login(self, request: Request, form: FormFields | None) -> Response:
        keeper, problems, status = self._parts.keeper, list[PageProblem](), 200
        if form is not None and keeper is not None:
            name, password = form.text("name"), form.raw("password")
            if wait := keeper.wait_of(name):
                problems, status = [PageProblem("too many attempts", hint=f"wait {wait:.0f} seconds")], 429
            elif keeper.admits(name, password):
                self._parts.sessions.end(secret_of(request))
                answer = RedirectResponse("/", 303)
                answer.headers["set-cookie"] = self._parts.cookie.header(self._parts.sessions.begin(name))
                return answer
            else:
                problems, status = [PageProblem("name or password is wrong", hint="try once more")], 401
        text = rendered(
            "login.html",
            csrf=form_token(secret_of(request)),
            problems=problems,
            given=form,
            user=None,
            has_logout=False,
        )
        return HTMLResponse(text, status)

    async def logout(self, request: Request) -> Response:
        """End a session."""
        form = await _form(request)
        if isinstance(form, Response):
            return form
        await run_in_threadpool(self._parts.sessions.end, secret_of(request))
        answer = RedirectResponse("/login", 303)
        answer.headers["set-cookie"] = self._parts.cookie.removal
        answer.headers["clear-site-data"] = '"cache", "storage"'
        return answer

    def static(self, request: Request) -> Response:
        """Answer with a style sheet or a script of ours."""
        if (found := _STATIC.get(request.path_params["name"])) is None:
            return self.nothing(request, None)
        content, tag = _static(found[0])
        headers = {"cache-control": "private, no-cache", "etag": tag}
        if request.headers.get("if-none-match") == tag:
            return Response(status_code=304, headers=headers)
        return Response(content, headers=headers, media_type=found[1])

    def document(self, request: Request) -> Response:
        """Download the settings or the rules of a project."""
        project, name = self._project(request), request.path_params["name"]
        if project is None or not (name == "masktron.toml" or name.endswith(".sch")) or "/" in name:
            return self.nothing(request, None)
        content = bytes_of(project.folder / name)
        return self.nothing(request, None) if content is None else _download(content, name)

    def output(self, request: Request) -> Response:
        """Download a file that a run has written."""
        path = self._output(request)
        if path is None:
            return self.nothing(request, None)
        return FileResponse(
            path, filename=path.name, media_type="application/octet-stream",
            headers={"content-security-policy": DOWNLOAD_POLICY},
        )  # fmt: skip

    def report(self, request: Request) -> Response:
        """Show a page that a run has written: its own script runs, and can reach nothing of this server."""
        path = self._output(request)
        if path is None or path.suffix != ".html":
            return self.nothing(request, None)
        headers = {"content-security-policy": report_policy(_script_hash())}
        return FileResponse(path, media_type="text/html", content_disposition_type="inline", headers=headers)

    def picture(self, request: Request) -> Response:
        """Answer with a picture that a run has drawn."""
        path = self._output(request)
        if path is None or path.suffix != ".svg":
            return self.nothing(request, None)
        headers = {"content-security-policy": PICTURE_POLICY}
        return FileResponse(path, media_type="image/svg+xml", content_disposition_type="inline", headers=headers)

    def nothing(self, request: Request, _: Exception | None) -> Response:
        """Answer that there is nothing: the same where there is none, and where it is another's."""
        del request
        return _problem_page("There is nothing here", "go back to your projects", 404)

    def _output(self, request: Request) -> Path | None:
        project = self._project(request)
        run = None if project is None else run_of(project, request.path_params["run"])
        return None if run is None else run.output(request.path_params["name"])

    def _project(self, request: Request) -> Project | None:
        return self._parts.store.get(user_of(request), request.path_params["project"])

    def _visit(self, request: Request) -> Visit:
        return Visit(
            user_of(request),
            self._parts.store,
            self._parts.queue,
            dict(request.query_params),
            request.path_params,
            self._parts.largest_upload,
            self._parts.is_local,
        )


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
        state = StepState(False) if page is None or page.state is None else page.state(project)
        is_next = not found and not state.done and page is not None
        found = found or is_next
        way.append(WayStep(name, title, page, state, is_next))
    return way


async def _form(request: Request) -> FormFields | Response:
    """Read a form without files, and refuse one that is not of this session."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return _problem_page("this is no form of this server", "reload the page", 415)
    body = bytearray()
    try:
        async with asyncio.timeout(_FORM_SECONDS):
            async for piece in request.stream():
                body += piece
                if len(body) > FORM_BYTES:
                    return _problem_page("the form is too long", "upload the text as a file", 413)
    except TimeoutError:
        return _problem_page("the form came too slowly", "send it once more", 408)
    try:
        form = FormFields(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000))
    except ValueError:
        return _problem_page("this is no form of this server", "reload the page", 400)
    if not is_form_token(form.text("csrf"), secret_of(request)):
        return _problem_page(
            "this form is older than your session", "go back, reload the page, and send it once more", 403
        )
    return form


async def _passed_over(body: AsyncIterator[bytes]) -> None:
    """Read the rest of what was refused: a browser hears no answer before it has sent all, or is cut off."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PASSING_OVER):
            async for _ in body:
                pass


def _redirected(where: Redirect) -> Response:
    """Go to a page of this server, and to no other."""
    if not where.to.startswith("/") or where.to.startswith(("//", "/\\")):
        raise ValueError("a page leads to another server")
    return RedirectResponse(where.to, 303)


def _problem_page(what: str, hint: str, status: int) -> Response:
    return HTMLResponse(rendered("nothing.html", what=what, hint=hint, user=None, has_logout=False), status)


def _download(content: bytes, name: str) -> Response:
    headers = {
        "content-disposition": f"attachment; filename*=utf-8''{quote(name)}",
        "content-security-policy": DOWNLOAD_POLICY,
    }
    return Response(content, headers=headers, media_type="application/octet-stream")


@cache
def _static(place: str) -> tuple[bytes, str]:
    content = packaged_text(place).encode()
    return content, f'"{hashlib.sha256(content).hexdigest()[:16]}"'


@cache
def _script_hash() -> str:
    return base64.b64encode(hashlib.sha256(packaged_text("report/pages/page.js").encode()).digest()).decode()
