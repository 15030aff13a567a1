"""Forms without files: read within a limit of size and time, and refused where they are not of the session."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import Response

from masktron.web.access.gate import secret_of
from masktron.web.access.sessions import is_form_token
from masktron.web.plain_answers import problem_page
from masktron.web.web_page import FormFields

FORM_BYTES = 4 << 20
"""Of a form without a file: a rulebook that is edited is the largest."""
SMALL_FORM = 16 << 10
MOST_LARGE = 8
"""Forms larger than that which are read at the same time: they are in memory."""
_FORM_SECONDS = 30.0
_PASSING_OVER = 20.0
"""Seconds for which the rest of a refused upload is read."""


class FormReader:
    """Reads forms, of which the large ones are few at a time."""

    def __init__(self) -> None:
        self._large = 0

    async def read(self, request: Request) -> FormFields | Response:
        """Read a form without files, and refuse one that is not of this session."""
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            return problem_page("this is no form of this server", "reload the page", 415)
        body = bytearray()
        is_large = False
        try:
            async with asyncio.timeout(_FORM_SECONDS):
                async for piece in request.stream():
                    body += piece
                    if len(body) > FORM_BYTES:
                        return problem_page("the form is too long", "upload the text as a file", 413)
                    if len(body) > SMALL_FORM and not is_large:
                        if self._large >= MOST_LARGE:
                            return problem_page("too many large forms come at once", "send it once more", 503)
                        is_large = True
                        self._large += 1
            return _form_of(body, request)
        except TimeoutError:
            return problem_page("the form came too slowly", "send it once more", 408)
        finally:
            if is_large:
                self._large -= 1


def _form_of(body: bytearray, request: Request) -> FormFields | Response:
    try:
        form = FormFields(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=20_000))
    except ValueError:
        return problem_page("this is no form of this server", "reload the page", 400)
    if not is_form_token(form.text("csrf"), secret_of(request)):
        return problem_page(
            "this form is older than your session", "go back, reload the page, and send it once more", 403
        )
    return form


async def passed_over(body: AsyncIterator[bytes]) -> None:
    """Read the rest of what was refused: a browser hears no answer before it has sent all, or is cut off."""
    with suppress(TimeoutError):
        async with asyncio.timeout(_PASSING_OVER):
            async for _ in body:
                pass
