"""Exports and imports over the real engine's channels, with a misbehaving worker in the place of svc-state."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

import svc
from svc.ndjson import PIECE_BYTES, Lines, pieces_of

Connect = Callable[..., svc.Worker]


def in_effect(worker: svc.Worker) -> None:
    worker.call({"function_id": "engine::info", "payload": {}})


@pytest.fixture
def peers(connect_real: Connect) -> tuple[svc.Worker, svc.Worker]:
    """A providing and a calling worker."""
    return connect_real("provider"), connect_real("asker")


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_lines_are_joined_across_chunks(size: int) -> None:
    text = 'grüße 💡\r\n\n{"a":1}\nlast'.encode()
    lines = Lines()
    seen = [line for at in range(0, len(text), size) for line in lines.feed(text[at : at + size])]
    assert [*seen, *lines.end()] == ["grüße 💡", '{"a":1}', "last"]


def test_a_line_that_is_too_long_is_rejected() -> None:
    lines = Lines()
    for _ in range(32):
        assert list(lines.feed(b"x" * 1024 * 1024)) == []
    with pytest.raises(svc.CallError) as refused:
        list(lines.feed(b"x"))
    assert refused.value.code == "payload_too_large"


def test_records_are_joined_into_pieces() -> None:
    record = {"scope": "s", "key": "\ud800", "value": "x" * 1000}
    pieces = list(pieces_of([record] * 200 + ['{"a":1.10}\n']))
    assert len(pieces) == 4
    assert all(len(piece) >= PIECE_BYTES for piece in pieces[:-1])
    whole = b"".join(pieces).decode()
    assert whole.count("\n") == 201
    assert '"key":"\\ud800"' in whole
    assert whole.endswith('\n{"a":1.10}\n')


def offer_export(provider: svc.Worker, *, torn: bool = False) -> threading.Event:
    """Exports 3 records in pieces that end within lines. Returns an event that is set if the writer fails early."""
    cut_off = threading.Event()
    text = "".join(f'{{"scope":"s","key":"k{n}","value":{2**60 + n},"version":1}}\n' for n in range(3)).encode()

    def export(input: Any) -> Any:
        channel = provider.create_channel()

        def write() -> None:
            try:
                for at in range(0, len(text), 50):
                    channel.writer.write(text[at : at + 50])
                while input.get("scope") == "endless":
                    channel.writer.write(text)
                if torn:
                    channel.writer.abort()
                else:
                    channel.writer.end()
            except svc.CallError:
                cut_off.set()

        threading.Thread(target=write).start()
        return {"lines": channel.reader}

    provider.register_function("state::export", export)
    in_effect(provider)
    return cut_off


def test_an_export_yields_items_and_lines(peers: tuple[svc.Worker, svc.Worker]) -> None:
    provider, asker = peers
    offer_export(provider)

    async def of_async_form() -> list[Any]:
        return [record async for record in asker.state.export_async("s")]

    records = [{"scope": "s", "key": f"k{n}", "value": 2**60 + n, "version": 1} for n in range(3)]
    assert list(asker.state.export("s")) == records
    assert asyncio.run(of_async_form()) == records
    lines = [f'{{"scope":"s","key":"k{n}","value":{2**60 + n},"version":1}}' for n in range(3)]
    assert list(asker.state.export_lines()) == lines


def test_ending_an_export_early_stops_its_writer(peers: tuple[svc.Worker, svc.Worker]) -> None:
    provider, asker = peers
    cut_off = offer_export(provider)
    for record in asker.state.export("endless"):
        assert record["key"] == "k0"
        break
    assert cut_off.wait(20)


def test_an_export_that_ends_early_raises(peers: tuple[svc.Worker, svc.Worker]) -> None:
    provider, asker = peers
    offer_export(provider, torn=True)
    with pytest.raises(svc.CallError) as broken:
        list(asker.state.export())
    assert broken.value.code == "channel_closed"


def offer_import(provider: svc.Worker, answer: Callable[[svc.ChannelReader], Any]) -> None:
    provider.register_function("state::import", lambda input: answer(input["lines"]))
    in_effect(provider)


def records(count: int) -> Iterator[dict[str, Any]]:
    return ({"scope": "s", "key": str(n), "value": "x" * 100} for n in range(count))


async def records_async(count: int) -> AsyncIterator[dict[str, Any]]:
    for record in records(count):
        yield record


def test_an_import_accepts_iterables_of_any_length(peers: tuple[svc.Worker, svc.Worker]) -> None:
    provider, asker = peers
    offer_import(provider, lambda reader: {"imported": len(reader.text().splitlines()), "skipped": 0})
    whole = {"imported": 50_000, "skipped": 0}
    assert asker.state.import_(records(50_000)) == whole
    assert asyncio.run(asker.state.import_async(records(50_000))) == whole
    assert asyncio.run(asker.state.import_async(records_async(50_000))) == whole
    assert asker.state.import_([]) == {"imported": 0, "skipped": 0}


def refuse_after_one(reader: svc.ChannelReader) -> Any:
    reader.read()
    raise svc.CallError("invalid_input", "line 7 is no JSON")


def refuse_at_once(_reader: svc.ChannelReader) -> Any:
    raise svc.CallError("invalid_input", "line 7 is no JSON")


@pytest.mark.parametrize("refusal", [refuse_at_once, refuse_after_one])
def test_a_rejected_import_raises_the_error_even_while_writing(
    peers: tuple[svc.Worker, svc.Worker], refusal: Callable[[svc.ChannelReader], Any]
) -> None:
    provider, asker = peers
    offer_import(provider, refusal)
    runs: list[Callable[[], object]] = [
        lambda: asker.state.import_(records(1_000_000)),
        lambda: asyncio.run(asker.state.import_async(records(1_000_000))),
    ]
    for run in runs:
        with pytest.raises(svc.CallError) as refused:
            run()
        assert (refused.value.code, refused.value.message) == ("invalid_input", "line 7 is no JSON")


def test_an_import_without_the_module_fails(peers: tuple[svc.Worker, svc.Worker]) -> None:
    with pytest.raises(svc.CallError) as refused:
        peers[1].state.import_(records(1_000_000))
    assert refused.value.code == "function_not_found"


def test_an_exception_of_the_iterable_aborts_the_import(
    peers: tuple[svc.Worker, svc.Worker],
) -> None:
    provider, asker = peers
    codes: list[str] = []
    ended = threading.Semaphore(0)

    def read(reader: svc.ChannelReader) -> None:
        try:
            reader.read_all()
        except svc.CallError as broken:
            codes.append(broken.code)
        finally:
            ended.release()

    offer_import(provider, read)

    def failing() -> Iterator[dict[str, Any]]:
        yield from records(2_000)
        raise KeyError("no more")

    runs: list[Callable[[], object]] = [
        lambda: asker.state.import_(failing()),
        lambda: asyncio.run(asker.state.import_async(failing())),
    ]
    for run in runs:
        with pytest.raises(KeyError, match="no more"):
            run()
        assert ended.acquire(timeout=20)
    assert set(codes) <= {"channel_closed", "call_cancelled"}
    assert len(codes) == 2
