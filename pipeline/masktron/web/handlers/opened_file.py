"""Downloads of files that are open already, so that what is sent is what somebody has looked at."""

from __future__ import annotations

import os
from collections.abc import Iterator
from io import BufferedReader

from starlette.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from masktron.web.plain_answers import download_headers
from masktron.web.runs.one_run import stamp_from

_PIECE = 1 << 18


class OpenedFile(StreamingResponse):
    """Sends a file that is open, and closes it.

    The last piece goes only if nobody has written into the file meanwhile: else the download breaks off.

    Parameters
    ----------
    stream : binary stream
    name : str
        Under which the browser keeps it.
    """

    def __init__(self, stream: BufferedReader, name: str) -> None:
        found = os.fstat(stream.fileno())
        self._stream = stream
        self._stamp = stamp_from(found)
        headers = {**download_headers(name), "content-length": str(found.st_size)}
        super().__init__(self._pieces(found.st_size), headers=headers, media_type="application/octet-stream")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        with self._stream:
            await super().__call__(scope, receive, send)

    def _pieces(self, size: int) -> Iterator[bytes]:
        self._stream.seek(0)
        left = size
        while left:
            piece = self._stream.read(min(_PIECE, left))
            left -= len(piece)
            if not piece or (not left and stamp_from(os.fstat(self._stream.fileno())) != self._stamp):
                raise ConnectionAbortedError("the file was changed while it was sent")
            yield piece
