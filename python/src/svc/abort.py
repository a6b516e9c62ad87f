from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from asyncio import WriteTransport


def abort(transport: WriteTransport) -> None:
    """Cuts the connection. Does nothing if it is over."""
    # A transport of CPython that was closed while it had bytes to write, and has written them since, fails with an
    # AttributeError here: it has given up its loop, and does not look whether it is over.
    with suppress(AttributeError):
        transport.abort()
