"""Forms without files: read up to a limit of size, and refused where they are not of the session."""

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
_PASSING_OVER = 20.0
"""Seconds for which the rest of a refused upload is read."""


async def read_form(request: Request) -> FormFields | Response:
    """Read a form without files, and refuse one that is not of this session."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        return problem_page("this is no form of this server", "reload the page", 415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > FORM_BYTES:
            return problem_page("the form is too long", "upload the text as a file", 413)
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
