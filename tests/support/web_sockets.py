"""Connections to a server in memory, by sockets of this machine: what is said on each, and how slowly."""

from __future__ import annotations

import asyncio
import socket

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

HEAD = b"GET / HTTP/1.1\r\nhost: x\r\n"
LAST = HEAD + b"connection: close\r\n\r\n"


async def _app(scope: dict[str, object], receive: object, send: object) -> None:
    assert callable(send)
    if scope["type"] == "http":
        headers = [(b"content-length", b"2")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b"ok"})


async def conversations(
    protocol: type[H11Protocol], *said: list[bytes | float], listener: socket.socket | None = None
) -> list[bytes]:
    """Talk to a server by several connections at once: bytes are sent, and seconds are waited.

    Of a connection that is reset, nothing is heard.
    """
    config = uvicorn.Config(_app, port=0, http=protocol, ws="none", lifespan="off", log_config=None)
    config.load()
    server = uvicorn.Server(config)
    server.lifespan = config.lifespan_class(config)
    await server.startup(None if listener is None else [listener])
    port = server.servers[0].sockets[0].getsockname()[1]

    async def talk(parts: list[bytes | float]) -> bytes:
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
        except ConnectionResetError:
            return b""
        heard = asyncio.create_task(reader.read())
        for part in parts:
            if isinstance(part, float):
                await asyncio.sleep(part)
            elif not writer.is_closing():
                writer.write(part)
        try:
            return await asyncio.wait_for(heard, 10)
        except ConnectionResetError:
            return b""
        finally:
            writer.close()

    found = await asyncio.gather(*map(talk, said))
    await server.shutdown(None if listener is None else [listener])
    return list(found)
