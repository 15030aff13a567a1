"""The list of projects, and who comes in and goes out."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from masktron.errors import MasktronError
from masktron.web.access.gate import peer_of, secret_of
from masktron.web.access.peers import network_of
from masktron.web.access.sessions import form_token
from masktron.web.form_reading import SMALL_FORM
from masktron.web.handlers.login_queue import LoginQueue
from masktron.web.pages import projects_list
from masktron.web.plain_answers import nothing_here, problem_page, redirected
from masktron.web.templating import rendered
from masktron.web.web_page import FormFields, NothingHereError, PageProblem, problem_of
from masktron.web.web_parts import WebParts


class Entrance:
    """Answers for the list of projects, and for logging in and out."""

    def __init__(self, parts: WebParts) -> None:
        self._parts = parts
        self._logins = LoginQueue()

    async def projects(self, request: Request) -> Response:
        """Answer for the list of projects, and take its forms."""
        form = await self._parts.forms.read(request) if request.method == "POST" else None
        if isinstance(form, Response):
            return form
        return await run_in_threadpool(self._projects, request, form)

    def _projects(self, request: Request, form: FormFields | None) -> Response:
        visit = self._parts.visit_of(request)
        problems: list[PageProblem] = []
        if form is not None:
            action = projects_list.ACTIONS.get(form.text("action"))
            if action is None:
                return problem_page("there is no such form", "reload the page", 400)
            try:
                return redirected(action(visit, form))
            except MasktronError as error:
                problems = [problem_of(error, form.names)]
            except NothingHereError:
                return nothing_here()
        text = rendered(
            "projects.html",
            user=visit.user,
            csrf=form_token(secret_of(request)),
            has_logout=self._parts.has_logout,
            problems=problems,
            given=form,
            keep=self._parts.store.keep,
            **projects_list.show(visit),
        )
        return HTMLResponse(text, 422 if problems else 200)

    async def login(self, request: Request) -> Response:
        """Ask for a name and a password."""
        form = await self._parts.forms.read(request, most=SMALL_FORM) if request.method == "POST" else None
        if isinstance(form, Response):
            return form
        if form is None:
            return await run_in_threadpool(self._login, request, None, None)
        # behind a proxy all come from one address
        client = None if self._parts.is_proxied else request.client
        address = None if client is None else network_of(client.host)
        name, keeper = form.text("name"), self._parts.keeper
        user = name if keeper is not None and keeper.stamp_of(name) else None
        async with self._logins.turn(address, user) as has_turn:
            if not has_turn:
                answer = problem_page("too many log in at once", "wait some seconds, and try once more", 503)
                answer.headers["retry-after"] = "5"
                return answer
            return await run_in_threadpool(self._login, request, form, address)

    def _login(self, request: Request, form: FormFields | None, address: str | None) -> Response:
        keeper, problems, status = self._parts.keeper, list[PageProblem](), 200
        if form is not None and keeper is not None:
            name, password = form.text("name"), form.raw("password")
            if wait := keeper.wait_of(name, address):
                problems, status = [PageProblem("too many attempts", hint=f"wait {wait:.0f} seconds")], 429
            elif keeper.admits(name, password, address):
                self._parts.sessions.end(secret_of(request))
                answer = RedirectResponse("/", 303)
                answer.headers["set-cookie"] = self._parts.cookie.header(
                    self._parts.sessions.begin(name, keeper.stamp_of(name), peer_of(request))
                )
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
        form = await self._parts.forms.read(request, most=SMALL_FORM)
        if isinstance(form, Response):
            return form
        await run_in_threadpool(self._parts.sessions.end, secret_of(request))
        answer = RedirectResponse("/login", 303)
        answer.headers["set-cookie"] = self._parts.cookie.removal
        answer.headers["clear-site-data"] = '"cache", "storage"'
        return answer
