"""The headers of every answer: what a browser may do with it."""

from __future__ import annotations

from collections.abc import Mapping

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; form-action 'self'; "
    "connect-src 'self'; frame-ancestors 'none'; base-uri 'none'"
)
DOWNLOAD_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"
PICTURE_POLICY = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""Of a picture that masktron has drawn: its colours, and nothing else."""
HEADERS: Mapping[str, str] = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # no-referrer would have browsers send forms with the origin null
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    "Cache-Control": "no-store",
}
_TRANSPORT = "max-age=31536000"


class AnswerHeaders:
    """Adds them, where an answer has no other of its own.

    Parameters
    ----------
    app : ASGIApp
    encrypted : bool
        Whether the server is asked by TLS.
    """

    def __init__(self, app: ASGIApp, *, encrypted: bool) -> None:
        self._app = app
        self._headers = {**HEADERS, **({"Strict-Transport-Security": _TRANSPORT} if encrypted else {})}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, with_headers)


def report_policy(script_hash: str) -> str:
    """Return the policy of a report: its own script, by its hash, and no access to anything of the server.

    Parameters
    ----------
    script_hash : str
        SHA-256 in base64 of the script that comes with masktron, not of what a file says.
    """
    return (
        f"sandbox allow-scripts allow-popups; default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{script_hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
