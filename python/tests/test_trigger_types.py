"""Trigger types that workers provide, over the real engine."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Any

import pytest

import svc

Connect = Callable[..., svc.Worker]


class Webhook:
    def __init__(self) -> None:
        self.bound: queue.SimpleQueue[tuple[str, svc.TriggerBinding]] = queue.SimpleQueue()

    def register_trigger(self, binding: svc.TriggerBinding) -> None:
        if "path" not in binding.config:
            raise svc.CallError("invalid_input", "path is missing")
        self.bound.put(("bind", binding))

    async def unregister_trigger(self, binding: svc.TriggerBinding) -> None:
        self.bound.put(("unbind", binding))


def test_a_trigger_is_inactive_until_its_type_is_provided(connect_real: Connect, lines: list[str]) -> None:
    user = connect_real("user")
    statuses: queue.SimpleQueue[tuple[str, str | None]] = queue.SimpleQueue()
    user.register_function("parked::paid", lambda input: {"got": input})
    trigger = user.register_trigger({"type": "parked", "function_id": "parked::paid", "config": {"path": "/p"}})
    assert trigger.wait_registered(10) == "inactive"

    def broken(_: svc.Trigger) -> None:
        raise RuntimeError("listener broke")

    trigger.on_status(broken)
    unsubscribe = trigger.on_status(lambda trigger: statuses.put((trigger.status, trigger.reason)))

    provider, webhook = connect_real("provider"), Webhook()
    ref = provider.register_trigger_type({"id": "parked", "description": "Calls from outside"}, webhook)
    event, binding = webhook.bound.get(timeout=10)
    assert (event, binding.config, binding.trigger_type) == ("bind", {"path": "/p"}, "parked")
    assert statuses.get(timeout=10)[0] == "active"
    assert provider.call({"function_id": binding.function_id, "payload": 1}) == {"got": 1}
    assert any("listener broke" in line for line in lines)

    unsubscribe()
    ref.unregister()
    assert webhook.bound.get(timeout=10)[0] == "unbind"


def test_a_rejection_by_the_provider_reaches_the_registering_worker(connect_real: Connect, lines: list[str]) -> None:
    provider, user, webhook = connect_real("provider"), connect_real("user"), Webhook()
    provider.register_trigger_type({"id": "refusing", "description": "Calls from outside"}, webhook)
    trigger = user.register_trigger({"type": "refusing", "function_id": "no::matter", "config": {}})
    # The engine first reports that it forwarded the registration, then the provider's result.
    refused = threading.Event()
    trigger.on_status(lambda trigger: refused.set() if trigger.status == "error" else None)
    assert trigger.status == "error" or refused.wait(10)
    with pytest.raises(svc.CallError, match="path is missing"):
        trigger.wait_registered(10)
    assert trigger.reason == "path is missing"
    assert any("the engine rejected a trigger" in line for line in lines)


def test_a_type_registers_its_functions_and_triggers(connect_real: Connect) -> None:
    worker, webhook = connect_real(), Webhook()
    format = {"type": "object", "properties": {"paid": {"type": "boolean"}}}
    ref = worker.register_trigger_type(
        {"id": "own", "description": "Calls from outside", "call_request_format": format}, webhook
    )
    fired = threading.Event()

    def paid(input: dict[str, Any]) -> None:
        """Notes a payment."""
        fired.set()

    ref.register_function("own::paid", paid, metadata={"team": "shop"})
    trigger = ref.register_trigger("own::paid", {"path": "/p"}, metadata={"m": 1})
    assert (trigger.type, trigger.wait_registered(10)) == ("own", "active")
    _, binding = webhook.bound.get(timeout=10)
    assert (binding.function_id, binding.metadata) == ("own::paid", {"m": 1})
    worker.call({"function_id": binding.function_id, "payload": {"paid": True}})
    assert fired.is_set()
    listed = worker.call({"function_id": "engine::functions::list", "payload": {}})["functions"]
    (found,) = [one for one in listed if "own::paid" in (one.get("function_id"), one.get("id"))]
    assert found["description"] == "Notes a payment."
    trigger.unregister()
    assert webhook.bound.get(timeout=10)[0] == "unbind"
