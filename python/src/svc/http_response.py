"""HTTP responses that are sent in parts while the function runs."""

from __future__ import annotations

import json
from collections.abc import Mapping

from .blocking import run
from .channel_writer import ChannelWriter, Chunk
from .codec import encode_json
from .errors import CallError
from .http_result import Headers, checked_headers, checked_status, http_response, is_http_result

_SSE_HEADERS = {"content-type": "text/event-stream", "cache-control": "no-cache"}


class StreamedResponse:
    """Base of ``HttpResponse`` and ``SyncHttpResponse``: status and headers, which are sent with the first chunk."""

    def __init__(self, writer: ChannelWriter | None) -> None:
        self._given_writer = writer
        self._status: int | None = None
        self._headers: dict[str, str | list[str]] = {}
        self._head_sent = False
        self._ended = False

    @property
    def has_begun(self) -> bool:
        """Whether status and headers were sent. They cannot be changed afterwards."""
        return self._head_sent

    def status(self, status_code: int) -> None:
        """Sets the status, 200 to 599. Default 200. Raises RuntimeError once the body has begun."""
        self._refuse_when_begun("status")
        self._status = checked_status(status_code)

    def headers(self, headers: Headers) -> None:
        """Adds headers, replacing those of the same name. Raises RuntimeError once the body has begun."""
        self._refuse_when_begun("headers")
        for name, value in checked_headers(headers).items():
            self._headers[name.lower()] = value

    def abort(self) -> None:
        """Ends the response early: the client sees that it is incomplete. Returns immediately."""
        self._head_sent = self._ended = True
        if self._given_writer is not None:
            self._given_writer.abort()

    def result_with(self, value: object) -> object:
        """Returns the function's result with the status and headers that it set. The result's own take precedence."""
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

    async def _write(self, chunk: Chunk | str) -> None:
        writer = self._writer()
        data = _utf8(chunk) if isinstance(chunk, str) else chunk
        await self._send_head(writer)
        await writer.write_async(data)

    async def _sse(self, data: object, event: str | None, id: str | None, retry: int | None) -> None:
        chunk = sse_bytes(data, event, id, retry)
        if not self._head_sent:
            self._headers = {**_SSE_HEADERS, **self._headers}
        await self._write(chunk)

    async def _end(self) -> None:
        if self._ended:
            return
        writer = self._writer()
        await self._send_head(writer)
        self._ended = True
        await writer.end_async()

    def _writer(self) -> ChannelWriter:
        if self._given_writer is None:
            message = "there is no stream to write to: the route says `streaming: false`, or no route made this call"
            raise CallError("invalid_input", message)
        if self._ended:
            raise CallError("channel_closed", "the response has already ended")
        return self._given_writer

    async def _send_head(self, writer: ChannelWriter) -> None:
        """Sends status and headers before the first chunk."""
        if self._head_sent:
            return
        self._head_sent = True
        if self._status is not None:
            await writer.send_async(json.dumps({"type": "set_status", "status_code": self._status}))
        if self._headers:
            await writer.send_async(json.dumps({"type": "set_headers", "headers": self._headers}))

    def _refuse_when_begun(self, what: str) -> None:
        if self._head_sent:
            raise RuntimeError(f"response.{what}() comes too late: the body has begun")


class HttpResponse(StreamedResponse):
    """The response to an HTTP request, for async handlers (see ``svc.http``), which ends it."""

    async def write(self, chunk: Chunk | str) -> None:
        """Sends a chunk of the body, strings in UTF-8, and waits until there is room for the next.

        An empty first chunk sends status and headers immediately. Raises CallError ``channel_closed`` if the client
        disconnected.
        """
        await self._write(chunk)

    async def sse(
        self, data: object, event: str | None = None, id: str | None = None, retry: int | None = None
    ) -> None:
        """Sends a server-sent event. The first one sets the content type.

        Args:
            data: A ``str`` is sent as it is, other values as JSON.
            event: Name of the event. The client's default is ``message``.
            id: The client sends it as ``last-event-id`` when it reconnects.
            retry: Milliseconds after which the client reconnects.
        """
        await self._sse(data, event, id, retry)

    async def end(self) -> None:
        """Ends the body. Does nothing the second time."""
        await self._end()


class SyncHttpResponse(StreamedResponse):
    """As ``HttpResponse``, for sync handlers."""

    def write(self, chunk: Chunk | str) -> None:
        """As ``HttpResponse.write``."""
        run(self._write(chunk), "response.write")

    def sse(self, data: object, event: str | None = None, id: str | None = None, retry: int | None = None) -> None:
        """As ``HttpResponse.sse``."""
        run(self._sse(data, event, id, retry), "response.sse")

    def end(self) -> None:
        """As ``HttpResponse.end``."""
        run(self._end(), "response.end")


def sse_bytes(data: object, event: str | None, id: str | None, retry: int | None) -> bytes:
    """Returns one event in wire format: https://html.spec.whatwg.org/multipage/server-sent-events.html"""
    lines = []
    for name, value in (("event", event), ("id", id)):
        if value is None:
            continue
        if any(char in value for char in "\r\n\0"):
            raise ValueError(f"the {name} of a server-sent event contains a line break or NUL: {value!r:.100}")
        lines.append(f"{name}: {value}")
    if retry is not None:
        if isinstance(retry, bool) or not isinstance(retry, int) or retry < 0:
            raise ValueError(f"retry must be a whole number of milliseconds, not {retry!r}")
        lines.append(f"retry: {retry}")
    text = data if isinstance(data, str) else encode_json(data, "the data of a server-sent event")
    lines += [f"data: {line}" for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n")]
    return _utf8("\n".join(lines) + "\n\n")


def _utf8(text: str) -> bytes:
    # Half of a surrogate pair has no UTF-8.
    return text.encode("utf-8", "replace")
