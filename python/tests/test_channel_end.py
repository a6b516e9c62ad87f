"""One end of a channel against misbehaving servers."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable

import pytest
from websockets.asyncio.server import ServerConnection

import svc
from engine import Engine
from svc import channel_end
from svc.channel_refs import replace_channel_refs

Connect = Callable[..., svc.Worker]
READ = svc.ChannelRef(channel_id="4f/ü", access_key="k&y", direction="read")
WRITE = svc.ChannelRef(channel_id="4f/ü", access_key="k&y", direction="write")


def test_the_channel_address_keeps_credentials_and_path_but_not_the_query(engine: Engine) -> None:
    async def end_at_once(socket: ServerConnection) -> None:
        await socket.close()

    engine.on_channel = end_at_once
    address = f"{engine.address.replace('ws://', 'ws://svc:pw@')}/below/?token=x"
    worker = svc.connect(address, name="probe")
    try:
        assert worker.channel_reader(READ).read() is None
    finally:
        worker.shutdown()
    request = next(request for request in engine.requests if "channels" in request.path)
    assert request.path == "/below/ws/channels/4f%2F%C3%BC?key=k%26y&dir=read"
    assert request.headers["Authorization"] == "Basic c3ZjOnB3"


@pytest.mark.parametrize("code", [1000, 1005])
def test_a_close_with_a_normal_code_or_none_ends_the_channel(engine: Engine, connect: Connect, code: int) -> None:
    async def say_and_close(socket: ServerConnection) -> None:
        await socket.send("all of it")
        socket.protocol.send_close(None if code == 1005 else code)
        socket.send_data()
        await socket.wait_closed()

    engine.on_channel = say_and_close
    assert connect().channel_reader(READ).text() == "all of it"


@pytest.mark.parametrize("code", [1001, 1008, 1011, 1012, 4000])
def test_other_close_codes_raise_channel_closed(engine: Engine, connect: Connect, code: int) -> None:
    async def say_and_close(socket: ServerConnection) -> None:
        await socket.send("half of it")
        await socket.close(code, "because")

    engine.on_channel = say_and_close
    reader = connect().channel_reader(READ)
    assert reader.read() == "half of it"
    for _ in range(2):
        with pytest.raises(svc.CallError, match="disconnected before the end: because") as torn:
            reader.read()
        assert torn.value.code == "channel_closed"
        assert torn.value.executed == "unknown"
        assert torn.value.details == {
            "channel_id": "4f/ü",
            "direction": "read",
            "reason": "the other end disconnected before the end: because",
        }


def test_an_aborted_socket_raises_channel_closed(engine: Engine, connect: Connect) -> None:
    async def say_and_cut(socket: ServerConnection) -> None:
        await socket.recv()
        socket.transport.abort()

    engine.on_channel = say_and_cut
    worker = connect()
    writer = worker.channel_writer(WRITE)

    def write_on() -> None:
        while True:
            writer.send("half of it")

    for action in (write_on, writer.end, lambda: writer.write(b"more")):
        with pytest.raises(svc.CallError, match="the writer of channel 4f/ü: the other end disconnected") as torn:
            action()
        assert torn.value.code == "channel_closed"


def test_end_waits_until_the_engine_has_received_everything(engine: Engine, connect: Connect) -> None:
    taken: list[str | bytes] = []
    held_back, may_take, took = threading.Event(), threading.Event(), threading.Event()

    async def take_late(socket: ServerConnection) -> None:
        taken.append(await socket.recv())
        socket.transport.pause_reading()
        held_back.set()
        await asyncio.to_thread(may_take.wait, 10)
        socket.transport.resume_reading()
        async for item in socket:
            taken.append(item)
        took.set()

    engine.on_channel = take_late
    writer = connect().channel_writer(WRITE)
    writer.send("one")
    assert held_back.wait(10)
    writer.send("two")
    ended = threading.Thread(target=writer.end)
    ended.start()
    ended.join(0.2)
    assert ended.is_alive()
    may_take.set()
    ended.join(10)
    assert not ended.is_alive()
    assert took.wait(10)
    assert taken == ["one", "two"]


def test_a_stalled_writer_times_out(engine: Engine, connect: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    given_up = threading.Event()

    async def take_nothing(socket: ServerConnection) -> None:
        socket.transport.pause_reading()
        await asyncio.to_thread(given_up.wait, 10)
        socket.transport.abort()

    monkeypatch.setattr(channel_end, "_STALL_LIMIT_S", 0.2)
    engine.on_channel = take_nothing
    writer = connect().channel_writer(WRITE)

    def write_on() -> None:
        while True:
            writer.write(b"x" * 65_536)

    with pytest.raises(svc.CallError, match=r"nothing was received for 0\.2 s") as stalled:
        write_on()
    assert stalled.value.code == "channel_closed"
    given_up.set()


def test_a_rejected_upgrade_is_reported_with_its_status(engine: Engine, connect: Connect) -> None:
    worker = connect()
    engine.refuse_with = 503
    with pytest.raises(svc.CallError, match="the engine refused the connection with HTTP 503") as refused:
        worker.channel_reader(READ).read()
    assert refused.value.code == "channel_closed"
    assert "k&y" not in str(refused.value)


def test_the_first_use_fails_without_an_engine(engine: Engine, connect: Connect) -> None:
    worker = connect()
    engine.go_away()
    reader = worker.channel_reader(READ)
    for _ in range(2):
        with pytest.raises(svc.CallError, match="no connection to the engine") as offline:
            reader.read()
        assert offline.value.code == "channel_closed"


def test_a_slow_handshake_times_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_end, "_HANDSHAKE_TIMEOUT_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        worker = svc.connect(f"ws://127.0.0.1:{silent.getsockname()[1]}", name="probe")
        try:
            with pytest.raises(svc.CallError, match=r"the handshake took longer than 0\.05 s") as late:
                worker.channel_reader(READ).read()
            assert late.value.code == "channel_closed"
        finally:
            worker.shutdown(timeout_s=1)


def test_cancelling_while_the_socket_opens_ends_the_wait() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        hanging = svc.connect(f"ws://127.0.0.1:{silent.getsockname()[1]}", name="probe")
        reader = hanging.channel_reader(READ)
        failed: list[str] = []

        def read() -> None:
            try:
                reader.read()
            except svc.CallError as error:
                failed.append(f"{error.code} {error.message}")

        reading = threading.Thread(target=read)
        reading.start()
        # The worker's own socket and the channel's.
        accepted = [silent.accept()[0] for _ in range(2)]
        reader.cancel()
        reading.join(10)
        hanging.shutdown(timeout_s=1)
        for each in accepted:
            each.close()
    assert failed == ["channel_closed the reader of channel 4f/ü: it was cancelled"]


def test_payloads_without_refs_are_not_searched_and_deep_ones_are() -> None:
    deep: list[object] = []
    inner = deep
    for _ in range(50_000):
        inner.append([])
        inner = inner[0]  # type: ignore[assignment]
    inner.append({**READ, "more": 1})
    seen: list[svc.ChannelRef] = []

    def end_of(ref: svc.ChannelRef) -> str:
        seen.append(ref)
        return "end"

    assert replace_channel_refs(deep, end_of) is deep
    assert inner == ["end"]
    assert seen == [READ]
    for not_a_ref in ({**READ, "access_key": 1}, {**READ, "direction": "both"}, {"channel_id": "c"}, "read", None):
        assert replace_channel_refs({"a": [not_a_ref]}, end_of) == {"a": [not_a_ref]}
    # Freed step by step, because the interpreter's own deallocation would recurse too deeply.
    inner.clear()
    while deep:
        deep = deep.pop()  # type: ignore[assignment]
