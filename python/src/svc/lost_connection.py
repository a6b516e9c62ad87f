"""Calls on a WebSocket that may be lost at any time.

A transport of CPython that was closed while it had bytes to write, and has written them since, fails with an
AttributeError when it is aborted: it has given up its event loop and does not check whether it is over. We abort
transports, and so does websockets when it finds that a connection is lost.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from websockets.protocol import State

if TYPE_CHECKING:
    from asyncio import WriteTransport

    from websockets.asyncio.client import ClientConnection


def abort(transport: WriteTransport) -> None:
    """Cuts the connection. Does nothing if it is over."""
    with suppress(AttributeError):
        transport.abort()


async def send(connection: ClientConnection, item: str | bytes | memoryview) -> None:
    """Sends a message and returns when there is room for the next one. Raises ConnectionClosed if it is lost."""
    try:
        await connection.send(item)
    except AttributeError:
        if connection.state is not State.CLOSED:
            raise
        raise connection.protocol.close_exc from None
