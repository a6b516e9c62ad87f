"""Operations on a WebSocket that may be lost at any time.

In CPython, aborting a transport raises AttributeError if it was closed with unsent bytes and has sent them since: it no
longer has an event loop and does not check for that. This SDK aborts transports, and so does websockets when a
connection is lost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from websockets.protocol import State

if TYPE_CHECKING:
    from asyncio import WriteTransport

    from websockets.asyncio.client import ClientConnection


def abort(transport: WriteTransport) -> None:
    """Aborts the connection. Does nothing if it has ended."""
    with suppress(AttributeError):
        transport.abort()


async def send(connection: ClientConnection, item: str | bytes | memoryview) -> None:
    """Sends a message. Returns when there is room for the next one. Raises ConnectionClosed if it is lost."""
    try:
        await connection.send(item)
    except AttributeError:
        if connection.state is not State.CLOSED:
            raise
        raise connection.protocol.close_exc from None
