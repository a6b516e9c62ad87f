"""Unknown options, which are refused with the nearest known name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import svc
from svc.options import nearest_name, unknown_names

Connect = Callable[..., svc.Worker]


def test_the_nearest_name_ignores_case_and_separators() -> None:
    known = ("timeout_ms", "payload", "function_id", "delay_ms", "if_version")
    wanted = {
        "timeout": "timeout_ms",
        "timeoutMs": "timeout_ms",
        "functionId": "function_id",
        "payloads": "payload",
        "delay": "delay_ms",
        "ifVersion": "if_version",
        "queue": None,
        "x" * 100: None,
    }
    assert {name: nearest_name(name, known) for name in wanted} == wanted


def test_unknown_names_are_listed_with_what_is_known_if_none_is_near() -> None:
    assert unknown_names({"payload": 1}, ("payload",)) is None
    assert unknown_names({"timeout": 1, "payloads": 1}, ("timeout_ms", "payload"), "option") == (
        "no option timeout; did you mean timeout_ms?, no option payloads; did you mean payload?"
    )
    assert unknown_names({"what": 1, "payloads": 1}, ("timeout_ms", "payload")) == (
        "no member what, payloads; it may have timeout_ms, payload"
    )


def _meant(name: str, nearest: str) -> str:
    return rf"{name}; did you mean {nearest}\?"


def test_dicts_with_unknown_members_are_refused_before_anything_is_sent(connect: Connect) -> None:
    worker = connect()
    job = {"queue": "q", "function_id": "f"}
    write = {"scope": "s", "key": "k", "value": 1}
    calls: dict[str, tuple[type[Exception], Any]] = {
        _meant("timeout", "timeout_ms"): (svc.CallError, lambda: worker.call({"function_id": "f", "timeout": 5})),
        _meant("queueName", "queue"): (svc.CallError, lambda: worker.enqueue({**job, "queueName": "q"})),
        _meant("delay", "delay_ms"): (svc.CallError, lambda: worker.queue.enqueue_many([{**job, "delay": 5}])),
        _meant("if_verson", "if_version"): (svc.CallError, lambda: worker.state.set_many([{**write, "if_verson": 0}])),
        _meant("functionId", "function_id"): (
            TypeError,
            lambda: worker.register_trigger({"type": "http", "function_id": "f", "functionId": "f"}),
        ),
        _meant("trigger_format", "trigger_request_format"): (
            TypeError,
            lambda: worker.register_trigger_type({"id": "t", "description": "d", "trigger_format": {}}, _Handler()),
        ),
        _meant("attempt", "attempts"): (ValueError, lambda: svc.HttpFunction(url="https://a.b", retry={"attempt": 2})),
        _meant("tokenKey", "token_key"): (
            ValueError,
            lambda: svc.HttpFunction(url="https://a.b", auth={"type": "bearer", "tokenKey": "A"}),
        ),
    }
    for problem, (kind, call) in calls.items():
        with pytest.raises(kind, match=problem):
            call()


def test_keyword_arguments_that_a_blocking_method_does_not_have_are_refused(connect: Connect) -> None:
    worker = connect()
    unknown: dict[str, Any] = {"if_vers": 0}
    with pytest.raises(TypeError, match=r"worker\.state\.set\(\) has no option if_vers; did you mean if_version\?"):
        worker.state.set("s", "k", 1, **unknown)
    with pytest.raises(TypeError, match=r"worker\.state\.entries\(\) has no option what; it may have scope, prefix"):
        worker.state.entries("s", what=5)  # type: ignore[call-arg]


class _Handler:
    def register_trigger(self, binding: svc.TriggerBinding) -> None: ...

    def unregister_trigger(self, binding: svc.TriggerBinding) -> None: ...
