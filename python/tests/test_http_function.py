from __future__ import annotations

from collections.abc import Callable

import pytest

import svc
from engine import Engine

Connect = Callable[..., svc.Worker]


def test_an_http_function_is_registered_with_its_invocation(engine: Engine, connect: Connect) -> None:
    worker = connect()
    worker.register_function(
        "pay::charge",
        svc.HttpFunction(
            url="https://pay.example/charge",
            timeout_ms=5_000,
            headers={"X-Team": "a"},
            auth={"type": "hmac", "secret_key": "PAY_SECRET"},
            retry={"statuses": [503], "idempotent": True},
        ),
        description="Charges a card",
    )

    frame = engine.peer().heard("registerfunction", id="pay::charge")

    assert frame == {
        "type": "registerfunction",
        "id": "pay::charge",
        "description": "Charges a card",
        "invocation": {
            "url": "https://pay.example/charge",
            "method": "POST",
            "timeout_ms": 5_000,
            "headers": {"X-Team": "a"},
            "auth": {"type": "hmac", "secret_key": "PAY_SECRET"},
            "retry": {"statuses": [503], "idempotent": True},
        },
    }


def test_unset_members_are_omitted(engine: Engine, connect: Connect) -> None:
    connect().register_function("f", svc.HttpFunction(url="https://a.example/"))

    frame = engine.peer().heard("registerfunction", id="f")

    assert frame == {
        "type": "registerfunction",
        "id": "f",
        "invocation": {"url": "https://a.example/", "method": "POST"},
    }


def test_a_call_of_it_inside_the_worker_fails(engine: Engine, connect: Connect) -> None:
    connect().register_function("f", svc.HttpFunction(url="https://a.example/"))
    peer = engine.peer()
    peer.heard("registerfunction", id="f")
    call_id = "6f1c9cfe-0f39-4a51-9b3b-0a3c3cb1d1a7"
    peer.send({"type": "invokefunction", "invocation_id": call_id, "function_id": "f", "data": None})

    answer = peer.heard("invocationresult", invocation_id=call_id)

    assert answer["error"]["code"] == "function_not_invokable"


def test_it_can_be_unregistered_and_registered_again(engine: Engine, connect: Connect) -> None:
    worker = connect()
    registered = worker.register_function("f", svc.HttpFunction(url="https://a.example/"))
    engine.peer().heard("registerfunction", id="f")
    registered.unregister()
    engine.peer().heard("unregisterfunction", id="f")
    worker.register_function("f", lambda: 1)


@pytest.mark.parametrize("url", ["", "a.example", "ftp://a.example/", "https://"])
def test_an_invalid_url_is_rejected(url: str) -> None:
    with pytest.raises(ValueError, match="must begin with https"):
        svc.HttpFunction(url=url)


def test_a_deadline_out_of_range_is_rejected() -> None:
    with pytest.raises(ValueError, match="timeout_ms of an HttpFunction"):
        svc.HttpFunction(url="https://a.example/", timeout_ms=0)
