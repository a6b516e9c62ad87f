from __future__ import annotations

import json

import pytest

from svc.effects import Bind, CallFailed, Drained, Notice, Run
from svc.errors import CallError
from svc.outbound import MAX_WAITING_CHARS
from svc.outgoing import Outgoing
from svc.session import Session
from vectors import Player

ID = "11111111-1111-4111-8111-111111111111"


def opened(*functions: str) -> Player:
    player = Player()
    for function_id in functions:
        player.session.register_function(function_id)
    player.session.opened()
    player.session.take_frames()
    return player


def invoke(function_id: str, invocation_id: str | None = ID, **members: object) -> str:
    frame = {"type": "invokefunction", "function_id": function_id, "data": None, **members}
    return json.dumps(frame if invocation_id is None else {**frame, "invocation_id": invocation_id})


def test_a_call_without_an_id_runs_without_a_result() -> None:
    player = opened("audit::note")
    (run,) = player.session.receive(invoke("audit::note", None))
    assert isinstance(run, Run)
    assert player.session.answer(run.invocation_id, '"done"') == []
    assert player.session.take_frames() == []


def test_a_duplicate_call_runs_once() -> None:
    player = opened("math::add")
    assert len(player.session.receive(invoke("math::add"))) == 1
    (notice,) = player.session.receive(invoke("math::add"))
    assert isinstance(notice, Notice)


def test_calls_still_run_while_draining() -> None:
    player = opened("math::add")
    assert player.session.drain()
    player.session.drain()
    (run,) = player.session.receive(invoke("math::add"))
    assert isinstance(run, Run)
    assert player.session.receive('{"type":"pong"}') == [Drained()]
    other = "22222222-2222-4222-8222-222222222222"
    player.session.receive(invoke("math::add", other))
    player.session.answer(ID, "1")
    frames = [json.loads(frame) for frame in player.session.take_frames()]
    assert [frame["type"] for frame in frames] == [
        "unregisterfunction",
        "ping",
        "invocationresult",
        "invocationresult",
    ]
    assert frames[2]["error"]["code"] == "draining"
    assert frames[3]["result"] == 1


def test_a_lost_connection_ends_draining() -> None:
    player = opened("math::add")
    assert player.session.drain()
    assert Drained() in player.session.closed()
    assert not opened().session.drain()


def test_registrations_are_not_replayed_once_draining_began() -> None:
    player = opened("math::add")
    player.session.drain()
    player.session.closed()
    player.session.take_frames()
    player.session.opened()
    types = [json.loads(frame)["type"] for frame in player.session.take_frames()]
    assert types == ["invokefunction"]


def test_error_details_that_are_not_json_are_dropped() -> None:
    player = opened("math::add")
    player.session.receive(invoke("math::add"))
    (notice,) = player.session.fail(ID, CallError("own", "message", {"what": object()}))
    assert isinstance(notice, Notice)
    (frame,) = player.session.take_frames()
    assert json.loads(frame)["error"] == {
        "code": "own",
        "message": "message",
        "details": {"executed": "yes"},
    }


def test_a_very_long_error_still_fits_a_frame() -> None:
    player = opened("math::add")
    player.session.receive(invoke("math::add"))
    player.session.fail(ID, CallError("own", "m" * 20_000_000, stacktrace="s" * 20_000_000))
    (frame,) = player.session.take_frames()
    assert len(frame) < 30_000


def test_calls_are_rejected_while_too_much_is_unsent() -> None:
    player = opened()
    big = json.dumps("x" * 15_000_000)
    for _ in range(MAX_WAITING_CHARS // 15_000_000):
        player.session.call(Outgoing(function_id="x::y", payload=big))
    with pytest.raises(CallError) as refused:
        player.session.call(Outgoing(function_id="x::y", payload=big))
    assert refused.value.code == "overloaded"
    assert refused.value.executed == "no"
    player.session.take_frames()
    player.session.call(Outgoing(function_id="x::y", payload=big))


def test_at_most_a_thousand_calls_wait_for_the_socket() -> None:
    session = Player().session
    keys = [session.call(Outgoing(function_id="x::y"))[0] for _ in range(1_000)]
    with pytest.raises(CallError, match="1000 calls already wait to be sent; x::y was not called") as refused:
        session.call(Outgoing(function_id="x::y"))
    assert refused.value.code == "disconnected"
    assert refused.value.details == {"function_id": "x::y", "executed": "no", "max_queued_calls": 1_000}
    session.withdraw(keys[0])
    session.call(Outgoing(function_id="x::y"))


def test_a_call_of_a_handler_to_its_own_worker_is_nested() -> None:
    player = opened("math::add")
    player.session.call(Outgoing(function_id="math::add", within_handler=True))
    player.session.call(Outgoing(function_id="math::add"))
    ids = [json.loads(frame)["invocation_id"] for frame in player.session.take_frames()]
    runs = [player.session.receive(invoke("math::add", id))[0] for id in ids]
    assert [run.nested for run in runs if isinstance(run, Run)] == [True, False]


def test_an_error_without_code_or_message_becomes_unknown() -> None:
    for error in ("boom", {"code": 7, "message": "x"}, [1]):
        player = opened()
        player.session.call(Outgoing(function_id="x::y"))
        id = "00000000-0000-4000-8000-000000000001"
        result = {"type": "invocationresult", "invocation_id": id, "function_id": "x::y", "error": error}
        (failed,) = player.session.receive(json.dumps(result))
        assert isinstance(failed, CallFailed)
        assert failed.error.code == "UNKNOWN"


def test_a_repeated_binding_replaces_the_first() -> None:
    player = Player()
    player.session.register_trigger_type("webhook", "Calls from outside")
    player.session.opened()
    player.session.take_frames()
    bind = {"type": "registertrigger", "id": "t1", "trigger_type": "webhook", "function_id": "a::b", "config": 1}
    (first,) = player.session.receive(json.dumps(bind))
    assert isinstance(first, Bind)
    kinds = [type(effect).__name__ for effect in player.session.receive(json.dumps({**bind, "config": 2}))]
    assert kinds == ["Unbind", "Bind"]
    player.session.answer_binding(first)
    assert player.session.take_frames() == []


def test_deadlines_of_finished_calls_do_not_accumulate() -> None:
    player = opened()
    for number in range(20_000):
        player.session.call(Outgoing(function_id="x::y"))
        player.session.take_frames()
        id = f"00000000-0000-4000-8000-{number + 1:012d}"
        player.session.receive(json.dumps({"type": "invocationresult", "invocation_id": id, "function_id": "x::y"}))
    assert player.session.next_deadline_ms() is None


def test_malformed_calls_with_an_id_get_an_error() -> None:
    player = opened("math::add")
    effects = player.session.receive(json.dumps({"type": "invokefunction", "invocation_id": ID, "function_id": 7}))
    assert [type(effect) for effect in effects] == [Notice]
    (frame,) = player.session.take_frames()
    error = json.loads(frame)["error"]
    assert error == {
        "code": "invalid_message",
        "message": "invokefunction: `function_id` is not a string",
        "details": {"executed": "no"},
    }


def test_the_introduction_must_be_json() -> None:
    with pytest.raises(CallError, match="the worker's introduction cannot be written as JSON"):
        Session({"name": object()}, now_ms=lambda: 0, new_id=lambda: ID)
