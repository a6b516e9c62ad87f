from __future__ import annotations

import asyncio
import socket

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.utils import accept_key

from svc.lost_connection import abort, send


class _Lost(asyncio.Protocol):
    def __init__(self) -> None:
        self.event = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.event.set()


def test_a_connection_that_sent_its_last_bytes_after_close_can_be_aborted() -> None:
    async def cut() -> int:
        loop = asyncio.get_running_loop()
        ours, theirs = socket.socketpair()
        theirs.setblocking(False)
        transport, protocol = await loop.create_connection(_Lost, sock=ours)
        transport.write(b"x" * 4_000_000)
        transport.close()
        received = 0
        while not protocol.event.is_set() or received < 4_000_000:
            received += len(await loop.sock_recv(theirs, 1_000_000))
        abort(transport)
        theirs.close()
        return received

    assert asyncio.run(cut()) == 4_000_000


class _HalfClosing:
    """Accepts one WebSocket connection and immediately half-closes it. Reads once ``may_read`` is set."""

    def __init__(self) -> None:
        self.may_read = asyncio.Event()
        self.ended = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = dict(line.split(": ", 1) for line in head.split("\r\n")[1:-2])
        lines = ["HTTP/1.1 101 Switching Protocols", "Upgrade: websocket", "Connection: Upgrade"]
        lines.append(f"Sec-WebSocket-Accept: {accept_key(fields['Sec-WebSocket-Key'])}")
        writer.write("".join(f"{line}\r\n" for line in [*lines, ""]).encode())
        await reader.readexactly(1)
        writer.write_eof()
        await self.may_read.wait()
        while await reader.read(1_000_000):
            pass
        writer.close()
        self.ended.set()


def test_a_connection_that_sent_its_last_bytes_after_it_was_lost_is_closed() -> None:
    async def lose() -> None:
        peer = _HalfClosing()
        server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        connection = await connect(f"ws://127.0.0.1:{port}/", compression=None, close_timeout=None, proxy=None)
        sending = asyncio.ensure_future(send(connection, b"x" * 20_000_000))
        while not connection.transport.is_closing():  # noqa: ASYNC110 - a transport has no event for this
            await asyncio.sleep(0.001)
        peer.may_read.set()
        await sending
        with pytest.raises(ConnectionClosed):
            await send(connection, b"x")
        await peer.ended.wait()
        server.close()

    asyncio.run(lose())
