"""``worker.state`` against the real engine's svc-state."""

from __future__ import annotations

import asyncio
import queue
from collections.abc import Callable
from typing import Any

import pytest

import svc

Connect = Callable[..., svc.Worker]

#: More digits than a double has, and more than 64 bits.
BIG = 2**70 + 1


@pytest.fixture
def state(connect_keeping: Connect) -> svc.State:
    return connect_keeping().state


def conflict_of(action: Callable[[], object]) -> tuple[object, object]:
    """Returns the expected and the actual version."""
    with pytest.raises(svc.CallError) as refused:
        action()
    assert refused.value.code == "state_conflict"
    assert refused.value.executed == "no"
    details = refused.value.details or {}
    return details["expected"], details["actual"]


def test_items_are_written_read_and_deleted(state: svc.State) -> None:
    scope = "basic"
    assert state.set(scope, "a b/ü", [1, None]) == {
        "old_value": None,
        "new_value": [1, None],
        "version": 1,
        "durability": "memory",
    }
    assert state.set(scope, "a b/ü", 0)["old_value"] == [1, None]
    assert state.get(scope, "a b/ü") == 0
    entry = state.get_entry(scope, "a b/ü")
    assert entry is not None
    assert (entry["key"], entry["value"], entry["version"], entry["bytes"]) == ("a b/ü", 0, 2, 1)
    assert entry["updated_at"].endswith("Z")
    assert state.delete(scope, "a b/ü") == 0
    assert state.get(scope, "a b/ü") is None
    assert state.get_entry(scope, "a b/ü") is None
    assert state.delete(scope, "a b/ü") is None


def test_integers_keep_all_their_digits(state: svc.State) -> None:
    scope = "digits"
    state.set(scope, "n", {"n": BIG, "m": [-BIG]})
    value = {"n": BIG, "m": [-BIG]}
    assert state.get(scope, "n") == value
    assert state.list(scope) == [value]
    assert [entry["value"] for entry in state.entries(scope)] == [value]
    assert [record["value"] for record in state.export(scope)] == [value]
    ops: list[svc.UpdateOp] = [
        {"type": "set", "path": "x", "value": BIG},
        {"type": "merge", "path": ["deep"], "value": {"y": [BIG]}},
        {"type": "append", "path": "m", "value": BIG},
    ]
    changed = {"n": BIG, "m": [-BIG, BIG], "x": BIG, "deep": {"y": [BIG]}}
    assert state.update(scope, "n", ops)["new_value"] == changed
    state.import_([{"scope": "digits-2", "key": "n", "value": value}])
    assert state.get("digits-2", "n") == value


def test_a_version_conflict_reports_both_versions(state: svc.State) -> None:
    scope = "versions"
    state.set(scope, "k", 1, if_version=0)
    assert conflict_of(lambda: state.set(scope, "k", 2, if_version=0)) == (0, 1)
    assert conflict_of(lambda: state.delete(scope, "k", if_version=7)) == (7, 1)
    ops: list[svc.UpdateOp] = [{"type": "set", "path": "", "value": 3}]
    assert conflict_of(lambda: state.update(scope, "k", ops, if_version=9)) == (9, 1)
    assert state.update(scope, "k", ops, if_version=1)["version"] == 2


def test_updates_are_atomic_by_default(state: svc.State) -> None:
    scope = "ops"
    state.set(scope, "o", {"n": 1, "text": "a", "deep": {"list": []}})
    ops: list[svc.UpdateOp] = [
        {"type": "increment", "path": "n", "by": 4},
        {"type": "append", "path": ["deep", "list"], "value": "x"},
        {"type": "merge", "path": ["deep"], "value": {"more": True}},
        {"type": "decrement", "path": ["deep", "left"], "by": 2},
        {"type": "append", "path": "text", "value": "b"},
        {"type": "set", "path": "gone", "value": 1},
        {"type": "remove", "path": "gone"},
    ]
    whole = {"n": 5, "text": "ab", "deep": {"list": ["x"], "more": True, "left": -2}}
    assert state.update(scope, "o", ops)["new_value"] == whole
    bad: list[svc.UpdateOp] = [{"type": "increment", "path": "text", "by": 1}, {"type": "remove", "path": "n"}]
    refused = state.update(scope, "o", bad)
    assert [(error["op_index"], error["code"]) for error in refused["errors"]] == [(0, "increment.not_number")]
    assert state.get(scope, "o") == whole
    assert state.update(scope, "o", bad, atomic=False)["new_value"] == {"text": "ab", "deep": whole["deep"]}


def test_many_items_are_read_written_and_deleted_at_once(state: svc.State) -> None:
    scope = "many"
    written = state.set_many([{"scope": scope, "key": f"k{n}", "value": n} for n in range(3)])
    assert written["items"][2] == {"scope": scope, "key": "k2", "version": 1}
    assert [entry and entry["value"] for entry in state.get_many(scope, ["k2", "no", "k0"])] == [2, None, 0]
    mixed = [
        {"scope": scope, "key": "k9", "value": 9},
        {"scope": scope, "key": "k0", "value": 9, "if_version": 5},
    ]
    conflict_of(lambda: state.set_many(mixed))
    assert state.get(scope, "k9") is None
    assert state.delete_many(scope, keys=["k0", "no"]) == {"deleted": 1}
    assert state.delete_many(scope, prefix="k") == {"deleted": 2}


def test_listings_fetch_all_pages(state: svc.State) -> None:
    keys = [f"k{n:03}" for n in range(250)]
    state.set_many({"scope": "pages", "key": key, "value": 1} for key in keys)
    assert [entry["key"] for entry in state.entries("pages")] == keys
    assert [entry["key"] for entry in state.entries("pages", prefix="k1", page_size=7)] == keys[100:200]
    page = state.entries_page("pages", limit=2)
    assert ([entry["key"] for entry in page["items"]], page["total"]) == (keys[:2], 250)
    assert state.entries_page("pages", cursor=page["cursor"], limit=1)["items"][0]["key"] == keys[2]
    for name in ("pages-a", "pages-b"):
        state.set(name, "k", "12345")
    assert {"pages", "pages-a", "pages-b"} <= set(state.list_groups())
    groups = [{"scope": name, "items": 1, "bytes": 7} for name in ("pages-a", "pages-b")]
    assert list(state.groups(prefix="pages-", page_size=1)) == groups


def test_an_export_can_be_imported_again(state: svc.State) -> None:
    keys = [f"k {n:04}" for n in range(1_500)]
    for at in range(0, 1_500, 500):
        state.set_many({"scope": "moved", "key": key, "value": "é" * 100} for key in keys[at : at + 500])
    lines = list(state.export_lines("moved"))
    assert len(lines) == 1_500
    assert len(list(state.export("moved", "k 00"))) == 100
    state.delete_many("moved", prefix="k 0")
    assert state.import_(lines, on_existing="skip") == {"imported": 1_000, "skipped": 500}
    assert [entry["key"] for entry in state.entries("moved", page_size=1_000)] == keys
    with pytest.raises(svc.CallError, match="line 2"):
        state.import_([lines[0], "no json"])


def test_a_snapshot_is_a_file_of_the_engine(state: svc.State) -> None:
    state.set("snapshot", "k", 1)
    snapshot = state.snapshot("before")
    with open(snapshot["file"], "rb") as file:
        assert len(file.read()) == snapshot["bytes"] > 0


def test_async_handlers_and_other_loops_use_the_async_forms(connect_keeping: Connect) -> None:
    worker = connect_keeping()

    @worker.function("state-async::all")
    async def use(_input: Any) -> Any:
        state = worker.state
        await state.set_async("async", "a", {"n": BIG})
        await state.update_async("async", "a", [{"type": "increment", "path": "m", "by": 1}])
        assert await state.import_async(state.export_async("async"), on_existing="skip") == {
            "imported": 0,
            "skipped": 1,
        }
        return [entry async for entry in state.entries_async("async")]

    entries = worker.call({"function_id": "state-async::all"})
    assert [entry["value"] for entry in entries] == [{"n": BIG, "m": 1}]
    assert asyncio.run(worker.state.get_async("async", "a")) == {"n": BIG, "m": 1}


def test_contended_increments_of_handlers_all_count(connect_keeping: Connect) -> None:
    worker = connect_keeping()

    @worker.function("count::sync")
    def count(_input: Any) -> None:
        worker.state.update("contended", "n", [{"type": "increment", "path": "", "by": 1}])

    @worker.function("count::async")
    async def count_async(_input: Any) -> None:
        await worker.state.update_async("contended", "n", [{"type": "increment", "path": "", "by": 1}])

    async def call_all() -> None:
        calls = ({"function_id": f"count::{kind}"} for kind in ("sync", "async") for _ in range(200))
        await asyncio.gather(*(worker.call_async(call) for call in calls))

    asyncio.run(call_all())
    assert worker.state.get("contended", "n") == 400


def test_a_state_trigger_reports_each_change_with_both_values(connect_keeping: Connect) -> None:
    worker = connect_keeping()
    events: queue.SimpleQueue[svc.StateEvent] = queue.SimpleQueue()

    @worker.function("state-trigger::note")
    def note(event: svc.StateEvent) -> None:
        events.put(event)

    config: svc.StateTriggerConfig = {"scope": "watched", "prefix": "k"}
    trigger = worker.register_trigger({"type": "state", "function_id": "state-trigger::note", "config": config})
    assert trigger.wait_registered() == "active"
    worker.state.set("watched", "other", 1)
    worker.state.set("watched", "k", {"n": BIG})
    worker.state.set("watched", "k", {"n": BIG})  # changes nothing
    worker.state.update("watched", "k", [{"type": "set", "path": "n", "value": 1}])
    worker.state.delete("watched", "k")
    seen = [events.get(timeout=20) for _ in range(3)]
    assert [(event["event_type"], event["old_value"], event["new_value"], event["version"]) for event in seen] == [
        ("state:created", None, {"n": BIG}, 1),
        ("state:updated", {"n": BIG}, {"n": 1}, 2),
        ("state:deleted", {"n": 1}, None, 3),
    ]
    assert {(event["type"], event["scope"], event["key"]) for event in seen} == {("state", "watched", "k")}


def test_an_expired_item_is_deleted_with_an_event(connect_keeping: Connect) -> None:
    worker = connect_keeping()
    events: queue.SimpleQueue[svc.StateEvent] = queue.SimpleQueue()
    worker.register_function("state-expiry::note", lambda event: events.put(event))
    config: svc.StateTriggerConfig = {"scope": "expiring"}
    worker.register_trigger(
        {"type": "state:deleted", "function_id": "state-expiry::note", "config": config}
    ).wait_registered()
    worker.state.set("expiring", "k", "v", expires_in_ms=50)
    event = events.get(timeout=20)
    assert (event["key"], event["old_value"], event["new_value"]) == ("k", "v", None)
    assert worker.state.get("expiring", "k") is None
