"""Functions of HTTP triggers, called in the way of the module svc-http."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import svc
from svc.handlers import read_handler
from svc.http_response import sse_bytes

Connect = Callable[..., svc.Worker]
REQUEST = {
    "method": "GET",
    "path": "/users/:id",
    "path_params": {"id": "7"},
    "headers": {"accept": "*/*"},
    "body": None,
}


def serve(worker: svc.Worker, handler: Callable[..., Any], **members: Any) -> tuple[Any, list[str | bytes], str | None]:
    """Calls the handler with both channels. Returns its result, the written items, and the code of the final error."""
    worker.register_function("http::handler", handler)
    body, answer = worker.create_channel(), worker.create_channel()
    request = {**REQUEST, "request_body": body.reader, "response": answer.writer, **members}
    written: list[str | bytes] = []

    def read() -> str | None:
        try:
            written.extend(answer.reader)
        except svc.CallError as error:
            return error.code
        return None

    with ThreadPoolExecutor(1) as thread:
        reading = thread.submit(read)
        result: Any
        try:
            result = worker.call({"function_id": "http::handler", "payload": request})
        except svc.CallError as error:
            result = error
        # With a result nothing is written, so waiting for items would never end.
        if result is not None and not isinstance(result, svc.CallError):
            answer.reader.cancel()
        return result, written, reading.result(10)


def test_a_sync_handler_streams_its_response(connect_real: Connect) -> None:
    @svc.http
    def handler(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        """Streams."""
        assert request.path_params == {"id": "7"}
        response.status(202)
        response.headers({"Content-Type": "text/plain", "set-cookie": ["a=1", "b=2"]})
        response.headers({"content-type": "text/html"})
        response.write("grü")
        response.write(b"\x00")
        with pytest.raises(RuntimeError, match=r"response\.status\(\) comes too late"):
            response.status(500)

    result, written, problem = serve(connect_real(), handler)
    assert (result, problem) == (None, None)
    assert handler.__doc__ == "Streams."
    assert [json.loads(item) for item in written if isinstance(item, str)] == [
        {"type": "set_status", "status_code": 202},
        {"type": "set_headers", "headers": {"content-type": "text/html", "set-cookie": ["a=1", "b=2"]}},
    ]
    assert written[2:] == ["grü".encode(), b"\x00"]


def test_an_async_handler_reads_its_body_and_sends_events(connect_real: Connect) -> None:
    worker = connect_real()
    seen: list[svc.HandlerContext] = []

    async def handler(request: svc.HttpRequest, response: svc.HttpResponse, context: svc.HandlerContext) -> None:
        seen.append(context)
        async for chunk in request.request_body:
            await response.sse({"bytes": len(chunk)}, event="chunk", id="1", retry=500)
        await response.sse("two\nlines")
        await response.end()
        await response.end()

    upload = worker.create_channel()

    with ThreadPoolExecutor(1) as thread:
        serving = thread.submit(serve, worker, svc.http(handler), request_body=upload.reader)
        with upload.writer as writer:
            writer.write(b"x" * 10)
        result, written, problem = serving.result(10)
    assert (result, problem) == (None, None)
    headers = {"content-type": "text/event-stream", "cache-control": "no-cache"}
    assert json.loads(written[0]) == {"type": "set_headers", "headers": headers}
    assert written[1:] == [
        b'event: chunk\nid: 1\nretry: 500\ndata: {"bytes":10}\n\n',
        b"data: two\ndata: lines\n\n",
    ]
    assert [context.function_id for context in seen] == ["http::handler"]


def test_a_response_that_fails_midway_is_aborted(connect_real: Connect) -> None:
    async def later(request: svc.HttpRequest, response: svc.HttpResponse) -> None:
        await response.write(b"half")
        raise ValueError("no more")

    def sync(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        response.write(b"half")
        raise ValueError("no more")

    for handler in (svc.http(later), svc.http(sync)):
        worker = connect_real()
        result, written, problem = serve(worker, handler)
        assert result.code == "invocation_failed"
        assert written == [b"half"]
        assert problem == "channel_closed"
        worker.shutdown()


def test_a_disconnected_client_fails_writes_and_a_cancelled_call_aborts_the_response(connect_real: Connect) -> None:
    worker, caller = connect_real("callee"), connect_real("caller")
    outcomes: list[str] = []
    ended = threading.Semaphore(0)

    @worker.function("http::endless")
    @svc.http
    async def endless(request: svc.HttpRequest, response: svc.HttpResponse) -> None:
        try:
            while True:
                await response.write(b"x" * 65_536)
        except svc.CallError as error:
            outcomes.append(error.code)
            raise
        except asyncio.CancelledError:
            outcomes.append("cancelled")
            raise
        finally:
            ended.release()

    async def leave() -> None:
        answer = await caller.create_channel_async()
        request = {"function_id": "http::endless", "payload": {**REQUEST, "response": answer.writer}}
        call = asyncio.ensure_future(caller.call_async(request))
        assert await answer.reader.read_async() == b"x" * 65_536
        answer.reader.cancel()
        with pytest.raises(svc.CallError, match="the writer of channel") as gone:
            await call
        assert gone.value.code == "channel_closed"

    async def withdraw() -> None:
        answer = await caller.create_channel_async()
        request = {"function_id": "http::endless", "payload": {**REQUEST, "response": answer.writer}}
        call = asyncio.ensure_future(caller.call_async(request))
        assert await answer.reader.read_async() == b"x" * 65_536
        call.cancel()
        with pytest.raises(svc.CallError) as torn:
            await answer.reader.read_all_async(100_000_000)
        assert torn.value.code == "channel_closed"

    worker.call({"function_id": "engine::info", "payload": {}})  # afterwards the function is registered
    asyncio.run(leave())
    asyncio.run(withdraw())
    assert all(ended.acquire(timeout=10) for _ in range(2))
    assert outcomes == ["channel_closed", "cancelled"]


def test_a_handler_that_writes_nothing_responds_with_its_return_value(connect_real: Connect) -> None:
    def dressed(value: object) -> Callable[[svc.HttpRequest, svc.SyncHttpResponse], object]:
        def handler(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> object:
            response.status(201)
            response.headers({"x-a": "1"})
            return value

        return handler

    def bare(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> object:
        return {"status": "fine"}

    def nothing(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        return None

    text = {"content-type": "text/plain; charset=utf-8"}
    for handler, wanted in (
        (bare, {"status": "fine"}),
        (nothing, {"status_code": 204}),
        (dressed(None), {"status_code": 201, "headers": {"x-a": "1", **text}, "body": ""}),
        (dressed([1]), {"status_code": 201, "headers": {"x-a": "1"}, "body": [1]}),
        (dressed({"id": 1}), {"status_code": 201, "headers": {"x-a": "1"}, "body": {"id": 1}}),
        (
            dressed(svc.json_response(1, status_code=404, headers={"X-B": "2"})),
            {"status_code": 404, "headers": {"x-a": "1", "x-b": "2"}, "body": 1},
        ),
    ):
        worker = connect_real()
        assert serve(worker, svc.http(handler))[:2] == (wanted, [])
        worker.shutdown()


def test_without_a_stream_only_writing_fails(connect_real: Connect) -> None:
    worker = connect_real()

    @worker.function("http::stream")
    @svc.http
    def stream(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        if request.body is None:
            response.write(b"x")
        if request.body == "read":
            request.request_body.read()

    with pytest.raises(svc.CallError, match="there is no stream to write to") as refused:
        worker.call({"function_id": "http::stream", "payload": REQUEST})
    assert refused.value.code == "invalid_input"
    with pytest.raises(svc.CallError, match="there is no body to read"):
        worker.call({"function_id": "http::stream", "payload": {**REQUEST, "body": "read"}})
    assert worker.call({"function_id": "http::stream", "payload": {**REQUEST, "body": 1}})["status_code"] == 204
    odds: tuple[object, ...] = ([], {**REQUEST, "response": 1}, {**REQUEST, "headers": []}, {**REQUEST, "files": [{}]})
    for odd in odds:
        with pytest.raises(svc.CallError) as misfit:
            worker.call({"function_id": "http::stream", "payload": odd})
        assert misfit.value.code == "invalid_input", odd


def test_a_plain_handler_gets_a_request_by_its_hint_without_a_format(connect_real: Connect) -> None:
    worker = connect_real()

    @worker.function("http::plain")
    def plain(request: svc.HttpRequest) -> Any:
        file = request.files[0]
        facts = [request.method, request.query, request.headers_all, request.url, request.cookies, request.context]
        return [*facts, file.name, file.filename, file.content_type, file.body.text()]

    file = worker.create_channel()
    with file.writer as writer:
        writer.send("content")
    files = [{"name": "a", "filename": None, "content_type": "text/plain", "body": file.reader}]
    payload = {**REQUEST, "query_params": {"q": "1"}, "cookies": None, "files": files, "context": {"user": 1}}
    assert worker.call({"function_id": "http::plain", "payload": payload}) == [
        "GET",
        {"q": ["1"]},
        {"accept": ["*/*"]},
        "/users/:id",
        {},
        {"user": 1},
        "a",
        None,
        "text/plain",
        "content",
    ]
    assert read_handler(plain, "it").request_format is None
    wrapped = read_handler(svc.http(lambda request, response: None), "it")
    assert (wrapped.request_format, wrapped.response_format, wrapped.converts) == (None, None, False)


def test_responses_are_validated_when_created() -> None:
    assert svc.http_response("hi", headers={"Content-Type": "text/html"}) == {
        "status_code": 200,
        "headers": {"Content-Type": "text/html"},
        "body": "hi",
    }
    assert svc.http_response({"a": 1}, status_code=201) == {"status_code": 201, "headers": {}, "body": {"a": 1}}
    assert svc.json_response("text") == {"status_code": 200, "headers": {}, "body": "text"}
    redirect = svc.redirect_response("/there")
    assert (redirect["status_code"], redirect["headers"]["location"]) == (302, "/there")
    for status in (99, 199, 600, True, "200"):
        with pytest.raises(ValueError, match="a status is a whole number from 200 to 599"):
            svc.http_response(status_code=status)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="contains a line break"):
        svc.redirect_response("/there\r\nset-cookie: a=1")
    with pytest.raises(ValueError, match="a redirect has status"):
        svc.redirect_response("/there", status_code=200)
    with pytest.raises(TypeError, match="header 'x-n' must be a string"):
        svc.json_response(1, headers={"x-n": 1})  # type: ignore[dict-item]


def test_server_sent_events_reject_line_breaks_in_fields() -> None:
    assert sse_bytes("a\r\nb\rc\n", None, None, None) == b"data: a\ndata: b\ndata: c\ndata: \n\n"
    assert sse_bytes("", "e", None, 0) == b"event: e\nretry: 0\ndata: \n\n"
    for event, id in (("a\nb", None), (None, "a\rb"), (None, "\0")):
        with pytest.raises(ValueError, match="contains a line break or NUL"):
            sse_bytes("x", event, id, None)
    with pytest.raises(ValueError, match="retry must be"):
        sse_bytes("x", None, None, -1)
    with pytest.raises(svc.CallError, match="cannot be written as JSON"):
        sse_bytes({1, 2}, None, None, None)


def test_http_rejects_handlers_with_a_wrong_signature() -> None:
    odds: tuple[Any, ...] = (lambda: 1, lambda request: 1, lambda a, b, c, d: 1, lambda a, b, *, c: 1, 7)
    for odd in odds:
        with pytest.raises(TypeError):
            svc.http(odd)
    assert svc.http(lambda *both: None) is not None
