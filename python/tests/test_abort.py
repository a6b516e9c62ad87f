from __future__ import annotations

import asyncio
import socket

from svc.abort import abort


class _Lost(asyncio.Protocol):
    def __init__(self) -> None:
        self.event = asyncio.Event()

    def connection_lost(self, exc: Exception | None) -> None:
        self.event.set()


def test_a_connection_that_wrote_its_last_bytes_after_close_can_be_cut() -> None:
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
