"""Export and import of state, over channels: as many items as there are, in little memory."""

from __future__ import annotations

import concurrent.futures
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any, cast

from . import state_requests as requests
from .channel_writer import ChannelWriter
from .codec import NotJson, decode_json
from .errors import CallError
from .helper_calls import HelperCalls
from .ndjson import Pieces, Record, lines_of, pieces_of
from .state_requests import OnExisting
from .state_types import StateImportResult, StateRecord

#: An import is answered when its last item is written.
IMPORT_TIMEOUT_MS = 3_600_000


async def export_lines(calls: HelperCalls, scope: str | None, prefix: str | None) -> AsyncIterator[str]:
    answer = await calls.call(requests.export(scope, prefix))
    reader = calls.reader(answer.get("lines") if isinstance(answer, dict) else None)
    with reader:
        async for line in lines_of(calls.items(reader)):
            yield line


def record_of(line: str) -> StateRecord:
    """A line of an export, read. CallError ``invalid_json`` when it is none."""
    try:
        return cast(StateRecord, decode_json(line))
    except NotJson as cause:
        raise CallError("invalid_json", f"a line of the export cannot be read: {cause}") from None


async def import_records(
    calls: HelperCalls, records: Iterable[Record] | AsyncIterable[Record], on_existing: OnExisting, timeout_ms: int
) -> StateImportResult:
    channel = await calls.channel()
    begun = calls.begin(requests.import_(channel.reader, on_existing, timeout_ms))
    # Without a reader a write would wait for one; the call says why there is none.
    begun.answer.add_done_callback(lambda answer: _abort_after_failure(answer, channel.writer))
    try:
        async for piece in _pieces(records):
            await calls.write(channel.writer, piece)
        await calls.end(channel.writer)
    except BaseException as cause:
        channel.writer.abort()
        if _is_refused_write(cause):
            await calls.finish(begun)
        else:
            calls.withdraw(begun)
        raise
    return cast(StateImportResult, await calls.finish(begun))


async def _pieces(records: Iterable[Record] | AsyncIterable[Record]) -> AsyncIterator[bytes]:
    if isinstance(records, AsyncIterable):
        pieces = Pieces()
        async for record in records:
            piece = pieces.add(record)
            if piece is not None:
                yield piece
        yield pieces.rest()
    else:
        for piece in pieces_of(records):
            yield piece


def _abort_after_failure(answer: concurrent.futures.Future[Any], writer: ChannelWriter) -> None:
    if answer.cancelled() or answer.exception() is not None:
        writer.abort()


def _is_refused_write(cause: BaseException) -> bool:
    """The reader went away; its function says why."""
    return isinstance(cause, CallError) and cause.code == "channel_closed"
