"""Answers that are written piece by piece while the function runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .channel_writer import ChannelWriter, Chunk
from .codec import encode_json
from .errors import CallError
from .http_result import Headers, checked_headers, checked_status, http_response, is_http_result

_SSE_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


class _Head:
    """Status and headers, which leave with the first piece of the body."""

    def __init__(self, writer: ChannelWriter | None) -> None:
        self._given_writer = writer
        self._status: int | None = None
        self._headers: dict[str, str | list[str]] = {}
        self._head_left = False
        self._ended = False

    @property
    def has_begun(self) -> bool:
        """Status and headers have left, and cannot be changed any more."""
        return self._head_left

    def status(self, status_code: int) -> None:
        """Sets the status, 200 to 599; 200 unless set. RuntimeError once the body has begun."""
        self._refuse_when_begun("status")
        self._status = checked_status(status_code)

    def headers(self, headers: Headers) -> None:
        """Adds headers, each in the place of what its name had. RuntimeError once the body has begun."""
        self._refuse_when_begun("headers")
        for name, value in checked_headers(headers).items():
            self._headers[name.lower()] = value

    def abort(self) -> None:
        """Breaks off: the client sees that the answer is not whole. Returns at once."""
        self._head_left = self._ended = True
        if self._given_writer is not None:
            self._given_writer.abort()

    def result_with(self, value: object) -> object:
        """What the function returned, with the status and headers that it set; what it returned wins."""
        if self._status is None and not self._headers:
            return {"status_code": 204} if value is None else value
        status = 200 if self._status is None else self._status
        if value is None:
            return http_response(status_code=status, headers=self._headers)
        if not isinstance(value, Mapping) or not is_http_result(value):
            return {"status_code": status, "headers": self._headers, "body": value}
        own = value.get("headers") or {}
        if isinstance(own, Mapping):
            own = {**self._headers, **{str(name).lower(): one for name, one in own.items()}}
        return {"status_code": status, **value, "headers": own}

    def _writer(self) -> ChannelWriter:
        if self._given_writer is None:
            message = "there is no stream to write to: the route says `streaming: false`, or no route made this call"
            raise CallError("invalid_input", message)
        if self._ended:
            raise CallError("channel_closed", "the response was ended before")
        return self._given_writer

    def _take_head(self) -> list[str]:
        """The texts that must leave before the first piece; none the second time."""
        if self._head_left:
            return []
        self._head_left = True
        texts = []
        if self._status is not None:
            texts.append(json.dumps({"type": "set_status", "status_code": self._status}))
        if self._headers:
            texts.append(json.dumps({"type": "set_headers", "headers": self._headers}))
        return texts

    def _add_sse_headers(self) -> None:
        if not self._head_left:
            self._headers = {**_SSE_HEADERS, **self._headers}

    def _refuse_when_begun(self, what: str) -> None:
        if self._head_left:
            raise RuntimeError(f"response.{what}() comes too late: the body has begun")


class HttpResponse(_Head):
    """The answer to an HTTP request, for async handlers (see ``svc.http``). The wrapper ends it."""

    async def write(self, chunk: Chunk | str) -> None:
        """Sends a piece of the body, texts in UTF-8, and waits until there is room for the next.

        An empty first piece sends status and headers at once. CallError ``channel_closed`` when the client is gone.
        """
        writer = self._writer()
        piece = _bytes_of(chunk)
        for text in self._take_head():
            await writer.send_async(text)
        await writer.write_async(piece)

    async def sse(
        self, data: object, event: str | None = None, id: str | None = None, retry: int | None = None
    ) -> None:
        """Sends a server-sent event; the first one sets the content type.

        Args:
            data: A ``str`` as it is, all else as JSON.
            event: Name of the event; the client's default is ``message``.
            id: What the client sends as ``last-event-id`` when it comes back.
            retry: After how many milliseconds it shall do so.
        """
        piece = sse_bytes(data, event, id, retry)
        self._add_sse_headers()
        await self.write(piece)

    async def end(self) -> None:
        """The body is whole. A second time does nothing."""
        if self._ended:
            return
        writer = self._writer()
        for text in self._take_head():
            await writer.send_async(text)
        self._ended = True
        await writer.end_async()


class SyncHttpResponse(_Head):
    """As ``HttpResponse``, for sync handlers."""

    def write(self, chunk: Chunk | str) -> None:
        """As ``HttpResponse.write``."""
        writer = self._writer()
        piece = _bytes_of(chunk)
        for text in self._take_head():
            writer.send(text)
        writer.write(piece)

    def sse(self, data: object, event: str | None = None, id: str | None = None, retry: int | None = None) -> None:
        """As ``HttpResponse.sse``."""
        piece = sse_bytes(data, event, id, retry)
        self._add_sse_headers()
        self.write(piece)

    def end(self) -> None:
        """As ``HttpResponse.end``."""
        if self._ended:
            return
        writer = self._writer()
        for text in self._take_head():
            writer.send(text)
        self._ended = True
        writer.end()


def sse_bytes(data: object, event: str | None, id: str | None, retry: int | None) -> bytes:
    """One event as it stands on the wire: https://html.spec.whatwg.org/multipage/server-sent-events.html"""
    lines = []
    for name, value in (("event", event), ("id", id)):
        if value is None:
            continue
        if any(char in value for char in "\r\n\0"):
            raise ValueError(f"the {name} of a server-sent event holds a line break or NUL: {value!r:.100}")
        lines.append(f"{name}: {value}")
    if retry is not None:
        if isinstance(retry, bool) or not isinstance(retry, int) or retry < 0:
            raise ValueError(f"retry must be a whole number of milliseconds, not {retry!r}")
        lines.append(f"retry: {retry}")
    text = data if isinstance(data, str) else encode_json(data, "the data of a server-sent event")
    lines += [f"data: {line}" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return _utf8("\n".join(lines) + "\n\n")


def _bytes_of(chunk: Chunk | str) -> Chunk:
    return _utf8(chunk) if isinstance(chunk, str) else chunk


def _utf8(text: str) -> bytes:
    # Half of a surrogate pair has no UTF-8.
    return text.encode("utf-8", "replace")
