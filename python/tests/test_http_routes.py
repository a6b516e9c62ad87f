"""HTTP routes of the real engine whose functions stream."""

from __future__ import annotations

import asyncio
import http.client
import json
from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import svc
from svc.testing import TestEngine

Connect = Callable[..., svc.Worker]


@pytest.fixture
def client(real_engine: TestEngine) -> Iterator[http.client.HTTPConnection]:
    address = urlsplit(real_engine.http_url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=20)
    yield connection
    connection.close()


def route(worker: svc.Worker, method: str, path: str, handler: Callable[..., Any]) -> None:
    worker.register_function(f"routes{path}", handler)
    config = {"api_path": path, "http_method": method}
    trigger = worker.register_trigger({"type": "http", "function_id": f"routes{path}", "config": config})
    assert trigger.wait_registered(10) == "active"


def test_a_download_is_complete_with_status_and_headers(
    connect_real: Connect, client: http.client.HTTPConnection
) -> None:
    async def download(request: svc.HttpRequest, response: svc.HttpResponse) -> None:
        response.status(202)
        response.headers({"content-type": "application/octet-stream", "set-cookie": ["a=1", "b=2"]})
        for number in range(100):
            await response.write(bytes([number]) * 100_000)

    def sync_download(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        response.status(202)
        response.headers({"content-type": "application/octet-stream", "set-cookie": ["a=1", "b=2"]})
        for number in range(100):
            response.write(bytes([number]) * 100_000)

    worker = connect_real()
    route(worker, "GET", "/py/download", svc.http(download))
    route(worker, "GET", "/py/sync-download", svc.http(sync_download))
    for path in ("/py/download", "/py/sync-download"):
        client.request("GET", path)
        answer = client.getresponse()
        assert (answer.status, answer.getheader("content-type")) == (202, "application/octet-stream")
        assert answer.headers.get_all("set-cookie") == ["a=1", "b=2"]
        assert answer.read() == b"".join(bytes([number]) * 100_000 for number in range(100))


def test_an_upload_is_read_as_a_stream(connect_real: Connect, client: http.client.HTTPConnection) -> None:
    @svc.http
    async def upload(request: svc.HttpRequest, response: svc.HttpResponse) -> dict[str, int]:
        size = 0
        async for chunk in request.request_body:
            size += len(chunk)
        response.status(201)
        return {"bytes": size}

    def plain(request: svc.HttpRequest) -> Any:
        return svc.http_response(f"{len(request.request_body.read_all(20_000_000))} bytes")

    worker = connect_real()
    route(worker, "POST", "/py/upload", upload)
    route(worker, "POST", "/py/plain-upload", plain)
    client.request("POST", "/py/upload", b"x" * 10_000_000, {"content-type": "application/octet-stream"})
    answer = client.getresponse()
    assert (answer.status, json.loads(answer.read())) == (201, {"bytes": 10_000_000})
    client.request("POST", "/py/plain-upload", b"x" * 5_000_000, {"content-type": "application/octet-stream"})
    answer = client.getresponse()
    assert (answer.getheader("content-type"), answer.read()) == ("text/plain; charset=utf-8", b"5000000 bytes")


def test_server_sent_events_arrive_one_by_one(connect_real: Connect, client: http.client.HTTPConnection) -> None:
    steps = connect_real("steps").create_channel()

    @svc.http
    def watch(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        for step in steps.reader:
            response.sse({"step": step})

    route(connect_real(), "GET", "/py/watch", watch)
    steps.writer.send("one")
    client.request("GET", "/py/watch")
    answer = client.getresponse()
    assert answer.getheader("content-type") == "text/event-stream"
    assert [answer.readline(), answer.readline()] == [b'data: {"step":"one"}\n', b"\n"]
    steps.writer.send("two")
    assert [answer.readline(), answer.readline()] == [b'data: {"step":"two"}\n', b"\n"]
    steps.writer.end()
    assert answer.read() == b""


def test_an_aborted_response_is_visible_to_the_client(
    connect_real: Connect, client: http.client.HTTPConnection
) -> None:
    @svc.http
    def half(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        response.write(b"half of it")
        raise ValueError("no more")

    @svc.http
    def early(request: svc.HttpRequest, response: svc.SyncHttpResponse) -> None:
        response.status(201)
        raise svc.CallError("invalid_input", "no such thing")

    worker = connect_real()
    route(worker, "GET", "/py/half", half)
    route(worker, "GET", "/py/early", early)
    client.request("GET", "/py/half")
    answer = client.getresponse()
    with pytest.raises((http.client.IncompleteRead, ConnectionError)):
        answer.read()
    client.close()
    client.request("GET", "/py/early")
    answer = client.getresponse()
    assert (answer.status, json.loads(answer.read())["error"]["message"]) == (400, "no such thing")


def test_files_of_a_form_are_readers(connect_real: Connect, client: http.client.HTTPConnection) -> None:
    def form(request: svc.HttpRequest) -> Any:
        (file,) = request.files
        return [request.body, file.name, file.filename, file.content_type, len(file.body.read_all())]

    route(connect_real(), "POST", "/py/form", form)
    boundary = "----b"
    body = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="title"\r\n\r\nhello\r\n'
        f'--{boundary}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n'
        f"Content-Type: application/x-a\r\n\r\n{'x' * 1_000_000}\r\n--{boundary}--\r\n"
    )
    client.request("POST", "/py/form", body, {"content-type": f"multipart/form-data; boundary={boundary}"})
    answer = json.loads(client.getresponse().read())
    assert answer == [{"title": "hello"}, "file", "a.bin", "application/x-a", 1_000_000]


def test_a_plain_handler_that_returns_nothing_sends_a_response(
    connect_real: Connect, client: http.client.HTTPConnection
) -> None:
    def nothing(request: svc.HttpRequest) -> None:
        return None

    async def nothing_async(request: dict[str, Any]) -> None:
        return None

    worker = connect_real()
    for path, handler in (("/py/nothing", nothing), ("/py/nothing-async", nothing_async)):
        route(worker, "GET", path, handler)
        client.request("GET", path)
        answer = client.getresponse()
        assert (answer.status, answer.read()) == (200, b"null")


def test_a_plain_handler_that_returns_before_its_writes_end_responds_with_them(
    connect_real: Connect, client: http.client.HTTPConnection
) -> None:
    writing: list[asyncio.Task[None]] = []

    async def write(response: svc.ChannelWriter) -> None:
        async with response:
            await response.write_async(b"in ")
            await response.write_async(b"pieces")

    async def background(request: dict[str, Any]) -> None:
        writing.append(asyncio.ensure_future(write(request["response"])))
        await asyncio.sleep(0)

    route(connect_real(), "GET", "/py/background", background)
    client.request("GET", "/py/background")
    answer = client.getresponse()
    assert (answer.status, answer.read()) == (200, b"in pieces")


def test_text_on_the_channel_of_a_response_is_an_error_that_names_write(
    connect_real: Connect, client: http.client.HTTPConnection
) -> None:
    problems: list[str] = []

    def text(request: dict[str, Any]) -> None:
        try:
            request["response"].send("hello")
        except TypeError as problem:
            problems.append(str(problem))
            raise

    def controls(request: dict[str, Any]) -> None:
        with request["response"] as response:
            response.send(json.dumps({"type": "set_status", "status_code": 201}))
            response.write(b"hello")

    worker = connect_real()
    route(worker, "GET", "/py/text", text)
    route(worker, "GET", "/py/controls", controls)
    client.request("GET", "/py/text")
    answer = client.getresponse()
    assert answer.status == 500
    answer.read()
    assert problems == [
        "the body of an HTTP response is bytes: use write(text.encode()) in place of send(text); "
        "send takes the messages set_status and set_headers"
    ]
    client.request("GET", "/py/controls")
    answer = client.getresponse()
    assert (answer.status, answer.read()) == (201, b"hello")
