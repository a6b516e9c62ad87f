"""Lines of JSON over channels, in pieces of any size."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from typing import Any

from .codec import encode_json, with_escaped_surrogates
from .errors import CallError
from .protocol import MAX_FRAME_BYTES

#: A mapping, or a line of JSON.
Record = Mapping[str, Any] | str
#: What one piece that is written has at least, but for the last one.
PIECE_BYTES = 65_536
# A line is a value that fitted into a frame, with little besides.
_MAX_LINE_BYTES = 2 * MAX_FRAME_BYTES


class Lines:
    """Cuts what comes into lines; empty ones are left out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, item: str | bytes) -> Iterator[str]:
        """The lines that this item completes. CallError ``payload_too_large`` for one over 32 MiB."""
        came = item.encode("utf-8") if isinstance(item, str) else item
        self._rest += came
        whole: list[bytearray] = []
        # A long line comes in many items; only the last of them is worth a search.
        if b"\n" in came:
            *whole, self._rest = self._rest.split(b"\n")
        if len(self._rest) > _MAX_LINE_BYTES:
            details = {"limit_bytes": _MAX_LINE_BYTES}
            raise CallError("payload_too_large", f"a line has over {_MAX_LINE_BYTES} bytes", details)
        for line in whole:
            yield from _text_of(line)

    def end(self) -> Iterator[str]:
        """The last line, where no line feed stood behind it."""
        yield from _text_of(self._rest)


async def lines_of(items: AsyncIterator[str | bytes]) -> AsyncIterator[str]:
    lines = Lines()
    async for item in items:
        for line in lines.feed(item):
            yield line
    for line in lines.end():
        yield line


class Pieces:
    """Joins lines to pieces of a size that is worth writing."""

    def __init__(self) -> None:
        self._waiting = bytearray()

    def add(self, record: Record) -> bytes | None:
        """A piece to write, as soon as there is enough for one."""
        self._waiting += _line_of(record)
        return self.rest() if len(self._waiting) >= PIECE_BYTES else None

    def rest(self) -> bytes:
        piece, self._waiting = bytes(self._waiting), bytearray()
        return piece


def pieces_of(records: Iterable[Record]) -> Iterator[bytes]:
    pieces = Pieces()
    for record in records:
        piece = pieces.add(record)
        if piece is not None:
            yield piece
    yield pieces.rest()


def _text_of(line: bytes | bytearray) -> Iterator[str]:
    text = line.decode("utf-8").rstrip("\r")
    if text != "":
        yield text


def _line_of(record: Record) -> bytes:
    text = record.rstrip("\r\n") if isinstance(record, str) else encode_json(record, "a record", code="invalid_input")
    return (with_escaped_surrogates(text) + "\n").encode("utf-8")
