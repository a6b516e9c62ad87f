"""Export and import of state over channels: any number of items, in little memory."""

from __future__ import annotations

import concurrent.futures
from collections.abc import AsyncIterable, AsyncIterator, Iterable
from typing import Any, Literal, cast

from .call_client import CallClient, module_request
from .channel_writer import ChannelWriter
from .codec import NotJson, decode_json
from .errors import CallError
from .ndjson import Pieces, Record, lines_of, pieces_of
from .state_types import StateImportResult, StateRecord

OnExisting = Literal["overwrite", "skip", "fail"]

#: Default deadline of an import, which returns after its last item is written.
IMPORT_TIMEOUT_MS = 3_600_000


async def export_lines(calls: CallClient, scope: str | None, prefix: str | None) -> AsyncIterator[str]:
    result = await calls.call(module_request("state::export", scope=scope, prefix=prefix))
    with calls.reader(result.get("lines") if isinstance(result, dict) else None) as reader:
        async for line in lines_of(aiter(reader)):
            yield line


def record_of(line: str) -> StateRecord:
    """Parses a line of an export. Raises CallError ``invalid_json`` if it is not JSON."""
    try:
        return cast(StateRecord, decode_json(line))
    except NotJson as cause:
        raise CallError("invalid_json", f"a line of the export is not JSON: {cause}") from None


async def import_records(
    calls: CallClient, records: Iterable[Record] | AsyncIterable[Record], on_existing: OnExisting, timeout_ms: int
) -> StateImportResult:
    channel = await calls.create_channel()
    lines = channel.reader
    started = calls.start(module_request("state::import", timeout_ms=timeout_ms, lines=lines, on_existing=on_existing))
    # If the call fails, no reader connects and writes would wait. Abort them; the call's error says why.
    started.result.add_done_callback(lambda result: _abort_after_failure(result, channel.writer))
    try:
        async for piece in _pieces(records):
            await channel.writer.write_async(piece)
        await channel.writer.end_async()
    except BaseException as cause:
        channel.writer.abort()
        if isinstance(cause, CallError) and cause.code == "channel_closed":
            # The reader disconnected; its function's error says why.
            await calls.finish(started)
        else:
            calls.withdraw(started)
        raise
    return cast(StateImportResult, await calls.finish(started))


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


def _abort_after_failure(result: concurrent.futures.Future[Any], writer: ChannelWriter) -> None:
    if result.cancelled() or result.exception() is not None:
        writer.abort()
