"""Channels over the real engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import svc

Connect = Callable[..., svc.Worker]


def in_effect(worker: svc.Worker) -> None:
    """Returns when the engine has processed all earlier frames of the worker."""
    worker.call({"function_id": "engine::info", "payload": {}})


def code_of(action: Callable[[], object]) -> str:
    with pytest.raises(svc.CallError) as raised:
        action()
    return raised.value.code


def test_items_arrive_in_order_as_they_were_written(connect_real: Connect) -> None:
    channel = connect_real().create_channel()
    with channel.writer as writer:
        writer.send("grüße")
        writer.write(b"")
        writer.write(bytearray(b"\x00\x01"))
        writer.send("")
    assert list(channel.reader) == ["grüße", b"", b"\x00\x01", ""]
    assert channel.reader.read() is None
    writer.end()
    assert code_of(lambda: writer.write(b"x")) == "channel_closed"


def test_bytes_are_split_at_65536(connect_real: Connect) -> None:
    channel = connect_real().create_channel(buffer_items=1)
    with ThreadPoolExecutor(1) as thread:
        writing = thread.submit(channel.writer.write, memoryview(b"x" * 150_000))
        writing.add_done_callback(lambda _: channel.writer.end())
        assert [len(item) for item in channel.reader] == [65_536, 65_536, 18_928]
        writing.result(10)


def test_other_event_loops_use_the_async_forms(connect_real: Connect) -> None:
    worker = connect_real()

    async def talk() -> list[str | bytes]:
        channel = await worker.create_channel_async()
        async with channel.writer as writer:
            await writer.write_async(b"one")
            await writer.send_async("two")
        return [item async for item in channel.reader]

    assert asyncio.run(talk()) == [b"one", "two"]


def test_refs_at_any_depth_become_readers_and_writers(connect_real: Connect) -> None:
    worker, caller = connect_real("callee"), connect_real("caller")

    @worker.function("depth::sync")
    def sync(input: dict[str, Any]) -> str:
        assert input["other"] == {"channel_id": "c", "access_key": "k", "direction": "sideways"}
        text = input["deep"][0]["reader"].text()
        with input["writer"] as writer:
            writer.send(text.upper())
        return "done"

    @worker.function("depth::async")
    async def root(reader: svc.ChannelReader) -> Any:
        return await reader.json_async()

    in_effect(worker)
    there, back = caller.create_channel(), caller.create_channel()
    with ThreadPoolExecutor(1) as thread:
        odd = {"channel_id": "c", "access_key": "k", "direction": "sideways"}
        payload = {"deep": [{"reader": there.reader}], "writer": back.writer_ref, "other": odd}
        call = thread.submit(caller.call, {"function_id": "depth::sync", "payload": payload})
        with there.writer as writer:
            writer.write("grü".encode())
            writer.send("ße")
        assert back.reader.read_all().decode() == "GRÜSSE"
        assert call.result(10) == "done"

        at_root = caller.create_channel()
        call = thread.submit(caller.call, {"function_id": "depth::async", "payload": at_root.reader})
        with at_root.writer as writer:
            writer.write(b'{"a": ')
            writer.write(b"1}")
        assert call.result(10) == {"a": 1}


def test_refs_in_results_stay_refs_and_can_be_opened(connect_real: Connect) -> None:
    worker = connect_real()
    channel = worker.create_channel()
    worker.register_function("refs::give", lambda _: {"reader": channel.reader, "writer": channel.writer})
    result = worker.call({"function_id": "refs::give"})
    assert result == {"reader": channel.reader_ref, "writer": channel.writer_ref}
    with worker.channel_writer(result["writer"]) as writer:
        writer.send("hello")
    assert worker.channel_reader(result["reader"]).text() == "hello"
    assert code_of(lambda: worker.channel_reader(result["writer"])) == "invalid_input"
    assert code_of(lambda: worker.channel_reader(None)) == "invalid_input"  # type: ignore[arg-type]


def test_a_slow_reader_applies_backpressure(connect_real: Connect) -> None:
    worker = connect_real()
    channel = worker.create_channel()
    chunk = b"x" * 65_536
    written = 0

    async def write_much() -> None:
        nonlocal written
        for _ in range(1_024):
            await channel.writer.write_async(chunk)
            written += len(chunk)

    async def first_item_then_write() -> None:
        await channel.writer.send_async("first")
        assert await channel.reader.read_async() == "first"
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(write_much(), 1)

    asyncio.run(first_item_then_write())
    assert written < 48 * 1_024 * 1_024
    # No item was lost, and the writer continues where it was blocked.
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(channel.writer.end)
        assert len(channel.reader.read_all(100_000_000)) >= written
        ended.result(10)


def test_an_aborted_writer_fails_its_reader(connect_real: Connect) -> None:
    worker = connect_real()
    channel = worker.create_channel()
    with pytest.raises(ValueError, match="thought better"), channel.writer as writer:  # noqa: PT012
        writer.send("half of it")
        assert channel.reader.read() == "half of it"
        raise ValueError("thought better of it")
    assert code_of(channel.reader.read) == "channel_closed"
    assert code_of(channel.reader.read_all) == "channel_closed"
    assert code_of(lambda: writer.write(b"x")) == "channel_closed"


def test_a_cancelled_reader_fails_its_writer(connect_real: Connect) -> None:
    channel = connect_real().create_channel()
    channel.writer.send("first")
    with channel.reader as reader:
        assert reader.read() == "first"

    def write_on() -> None:
        while True:
            channel.writer.write(b"x" * 65_536)

    assert code_of(write_on) == "channel_closed"
    assert code_of(channel.writer.end) == "channel_closed"
    assert code_of(reader.read) == "channel_closed"


def test_dropping_an_unused_end_notifies_the_other_end(connect_real: Connect) -> None:
    worker = connect_real()
    aborted, cancelled, ended = (worker.create_channel() for _ in range(3))
    aborted.writer.abort()
    assert code_of(aborted.reader.read) == "channel_closed"
    cancelled.reader.cancel()

    def write_on() -> None:
        while True:
            cancelled.writer.write(b"x" * 65_536)

    assert code_of(write_on) == "channel_closed"
    ended.writer.end()
    assert ended.reader.read() is None


def test_an_end_can_be_used_once_and_only_with_its_key(connect_real: Connect) -> None:
    worker = connect_real()
    channel = worker.create_channel()
    channel.writer.send("hello")
    assert channel.reader.read() == "hello"
    with pytest.raises(svc.CallError, match="taken") as second:
        worker.channel_reader(channel.reader_ref).read()
    assert second.value.code == "channel_closed"
    forged = svc.ChannelRef(channel_id=channel.reader_ref["channel_id"], access_key="guess", direction="read")
    with pytest.raises(svc.CallError, match="not found") as refused:
        worker.channel_reader(forged).read()
    assert refused.value.code == "channel_closed"
    assert "guess" not in refused.value.message
    assert channel.reader_ref["access_key"] not in repr(channel.reader)
    channel.writer.end()
    assert channel.reader.read() is None


def test_read_all_is_limited(connect_real: Connect) -> None:
    worker = connect_real()
    channel = worker.create_channel()
    channel.writer.write(b"x" * 2_000)
    with pytest.raises(svc.CallError, match="over 1999 bytes") as too_much:
        channel.reader.read_all(1_999)
    assert too_much.value.code == "payload_too_large"

    for content, read, code in (
        (b"\xff", svc.ChannelReader.text, "invalid_input"),
        (b"{", svc.ChannelReader.json, "invalid_json"),
        (b"[" * 200_000, svc.ChannelReader.json, "invalid_json"),
    ):
        channel = worker.create_channel()
        with channel.writer as writer:
            writer.write(content)
        assert code_of(lambda read=read, reader=channel.reader: read(reader)) == code  # type: ignore[misc]


def test_a_read_that_timed_out_loses_no_item(connect_real: Connect) -> None:
    channel = connect_real().create_channel()
    channel.writer.send("first")
    assert channel.reader.read(10) == "first"
    assert code_of(lambda: channel.reader.read(0.01)) == "call_timeout"
    channel.writer.send("second")
    assert channel.reader.read(10) == "second"


def test_invalid_items_are_rejected_immediately(connect_real: Connect) -> None:
    worker = connect_real()
    writer = worker.create_channel().writer
    with pytest.raises(TypeError, match=r"send\(\.\.\.\) takes texts"):
        writer.write("text")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"write\(\.\.\.\) takes bytes"):
        writer.send(b"bytes")  # type: ignore[arg-type]
    assert code_of(lambda: writer.send("half \ud83d pair")) == "invalid_input"
    assert code_of(lambda: writer.send("ä" * 9_000_000)) == "payload_too_large"
    for size in (0, 1_025, True, 1.5):
        assert code_of(lambda size=size: worker.create_channel(size)) == "invalid_input"  # type: ignore[misc]


def test_blocking_reads_raise_in_async_handlers(connect_real: Connect) -> None:
    worker = connect_real()

    @worker.function("forms::sync")
    async def sync(reader: svc.ChannelReader) -> None:
        reader.read()

    with pytest.raises(svc.CallError, match=r"reader\.read\(\) would block .* use await reader\.read_async\(\)"):
        worker.call({"function_id": "forms::sync", "payload": worker.create_channel().reader})


def test_handlers_that_wait_for_a_channel_release_their_slot(connect_real: Connect) -> None:
    worker = connect_real(max_sync_handlers=1)

    @worker.function("places::write")
    def write(writer: svc.ChannelWriter) -> None:
        with writer:
            for _ in range(100):
                writer.write(b"x" * 65_536)

    @worker.function("places::read")
    def read(input: object) -> int:
        channel = worker.create_channel()
        worker.call_void({"function_id": "places::write", "payload": channel.writer})
        return len(channel.reader.read_all())

    assert worker.call({"function_id": "places::read", "timeout_ms": 20_000}) == 6_553_600


def test_cancelling_a_call_drops_its_channel_ends(connect_real: Connect) -> None:
    worker, caller = connect_real("callee"), connect_real("caller")
    reading = threading.Event()
    outcome: list[str] = []
    ended = threading.Event()

    @worker.function("cancelled::read")
    def read(reader: svc.ChannelReader) -> None:
        try:
            assert reader.read() == "first"
            reading.set()
            reader.read()
        except svc.CallError as error:
            outcome.append(error.code)
        ended.set()

    in_effect(worker)
    channel = caller.create_channel()

    async def give_up() -> None:
        request = {"function_id": "cancelled::read", "payload": channel.reader}
        call = asyncio.ensure_future(caller.call_async(request))
        await channel.writer.send_async("first")
        await asyncio.to_thread(reading.wait, 10)
        call.cancel()
        await asyncio.wait((call,))

    asyncio.run(give_up())
    assert ended.wait(10)
    assert outcome == ["call_cancelled"]

    def write_on() -> None:
        while True:
            channel.writer.write(b"x" * 65_536)

    assert code_of(write_on) == "channel_closed"


def test_a_garbage_collected_end_is_dropped(connect_real: Connect) -> None:
    worker, caller = connect_real("callee"), connect_real("caller")

    @worker.function("left::reader")
    def first_of(input: dict[str, Any]) -> object:
        return input["reader"].read()

    @worker.function("left::writer")
    async def half_of(input: dict[str, Any]) -> None:
        await input["writer"].send_async("half of it")

    in_effect(worker)
    channel = caller.create_channel()
    channel.writer.send("first")
    assert caller.call({"function_id": "left::reader", "payload": {"reader": channel.reader}}) == "first"

    def write_on() -> None:
        while True:
            channel.writer.write(b"x" * 65_536)

    assert code_of(write_on) == "channel_closed"
    channel = caller.create_channel()
    caller.call({"function_id": "left::writer", "payload": {"writer": channel.writer}})
    assert channel.reader.read() == "half of it"
    assert code_of(channel.reader.read) == "channel_closed"


def test_shutdown_lets_open_channels_finish(connect_real: Connect) -> None:
    worker, other = connect_real("one"), connect_real("two")
    goes_on = threading.Event()

    @worker.function("stream::later")
    def later(input: object) -> Any:
        channel = worker.create_channel()

        def write() -> None:
            with channel.writer as writer:
                writer.send("begun")
                goes_on.wait(10)
                writer.send("finished")

        threading.Thread(target=write).start()
        return channel.reader

    in_effect(worker)
    reader = other.channel_reader(other.call({"function_id": "stream::later"}))
    assert reader.read() == "begun"
    with ThreadPoolExecutor(1) as thread:
        ended = thread.submit(worker.shutdown)

        def call_on() -> None:
            while True:
                other.call({"function_id": "stream::later"})

        assert code_of(call_on) in ("function_not_found", "draining")
        goes_on.set()
        assert list(reader) == ["finished"]
        ended.result(10)


def test_shutdown_drops_channels_that_stay_open(connect_real: Connect) -> None:
    worker, other = connect_real("one"), connect_real("two")
    channel = other.create_channel()
    reader, writer = worker.channel_reader(channel.reader_ref), worker.create_channel().writer
    writer.send("half of it")
    channel.writer.send("first")
    assert reader.read() == "first"
    elsewhere = other.channel_reader({**writer.ref, "direction": "read"})
    assert elsewhere.read() == "half of it"
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(reader.read)
        worker.shutdown(timeout_s=0.05)
        with pytest.raises(svc.CallError, match="the worker was shut down before the end") as cut:
            waiting.result(10)
        assert cut.value.code == "channel_closed"
    assert code_of(elsewhere.read) == "channel_closed"
    for late in (reader.read, lambda: writer.write(b"x"), worker.channel_reader(channel.reader_ref).read):
        assert code_of(late) == "draining"
    reader.cancel()
