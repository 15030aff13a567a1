"""The log: a line for each request, and none of what it was about."""

from __future__ import annotations

import logging
import time

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from masktron.web.mistakes import note_mistake
from masktron.web.plain_answers import problem_page

_LOG = logging.getLogger("masktron.web")


class RequestLog:
    """Writes a line for each request, without a name of anything; and says of a mistake where it is, and no value."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
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
                text = problem_page("masktron web has a mistake", "please report it: its log says where", 500)
                await text(scope, receive, noted)
            status = 500
        finally:
            route = scope.get("route")
            where = getattr(route, "path", "-")
            _LOG.info("%s %s %d %.0f ms", scope["method"], where, status, 1000 * (time.monotonic() - began))
