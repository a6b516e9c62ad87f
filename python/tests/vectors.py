"""Runs the session scenarios that all SDKs share. See packages/sdk/vectors/session/README.md."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from svc.codec import decode_json
from svc.effects import (
    Bind,
    CallAnswered,
    CallFailed,
    CallWritten,
    Cancel,
    Effect,
    Notice,
    Registered,
    Run,
    TriggerResult,
    Unbind,
)
from svc.errors import CallError
from svc.outgoing import Outgoing
from svc.session import Session

FOLDER = Path(__file__).resolve().parents[2] / "packages" / "sdk" / "vectors" / "session"


class Player:
    """Runs the steps of a scenario in one session and converts the results to the scenario's format."""

    def __init__(self) -> None:
        self.now_ms = 0.0
        self._ids = 0
        self.session = Session({"name": "probe"}, now_ms=lambda: self.now_ms, new_id=self._new_id)
        self._call_keys: dict[str, int] = {}
        self._binds: dict[str, Bind] = {}

    def _new_id(self) -> str:
        self._ids += 1
        return f"00000000-0000-4000-8000-{self._ids:012d}"

    def play(self, step: dict[str, Any]) -> tuple[list[str], list[dict[str, Any]]]:
        """Returns frames as text, and effects."""
        arguments = {key: value for key, value in step.items() if key not in ("do", "frames", "effects")}
        action: Callable[..., list[Effect] | None] = getattr(self, f"_{step['do']}")
        effects = action(**arguments) or []
        return self.session.take_frames(), [self._tell(effect) for effect in effects if not isinstance(effect, Notice)]

    def _open(self) -> list[Effect]:
        return self.session.opened()

    def _close(self) -> list[Effect]:
        return self.session.closed()

    def _receive(self, frame: object = None, text: str | None = None) -> list[Effect]:
        return self.session.receive(json.dumps(frame) if text is None else text)

    def _advance_ms(self, ms: float) -> list[Effect]:
        self.now_ms += ms
        return self.session.tick()

    def _register_function(self, id: str, **options: object) -> None:
        self.session.register_function(id, **options)

    def _unregister_function(self, id: str) -> None:
        self.session.unregister_function(id)

    def _register_trigger_type(self, id: str, description: str, **options: object) -> None:
        self.session.register_trigger_type(id, description, **options)

    def _unregister_trigger_type(self, id: str) -> None:
        self.session.unregister_trigger_type(id)

    def _register_trigger(self, type: str, function_id: str, config: object, metadata: object = None) -> None:
        self.session.register_trigger(type, function_id, config, metadata)

    def _unregister_trigger(self, id: str) -> None:
        self.session.unregister_trigger(id)

    def _make_call(self, name: str, outgoing: Outgoing) -> list[Effect]:
        key, effects = self.session.call(outgoing)
        self._call_keys[name] = key
        return effects

    def _call(self, payload: object = None, **arguments: Any) -> list[Effect]:
        name = arguments.pop("as")
        return self._make_call(name, Outgoing(payload=json.dumps(payload), **arguments))

    def _call_void(self, **arguments: Any) -> list[Effect]:
        return self._call(mode="void", **arguments)

    def _enqueue(self, **arguments: Any) -> list[Effect]:
        return self._call(mode="enqueue", **arguments)

    def _abort_call(self, call: str) -> list[Effect]:
        return self.session.withdraw(self._call_keys[call])

    def _answer(self, invocation_id: str, **outcome: Any) -> list[Effect]:
        if "error" in outcome:
            return self.session.fail(invocation_id, CallError(**outcome["error"]))
        return self.session.answer(invocation_id, json.dumps(outcome["result"]) if "result" in outcome else None)

    def _answer_binding(self, id: str, error: dict[str, Any] | None = None) -> None:
        self.session.answer_binding(self._binds[id], None if error is None else CallError(**error))

    def _name_of(self, key: int) -> str:
        return next(name for name, known in self._call_keys.items() if known == key)

    def _tell(self, effect: Effect) -> dict[str, Any]:
        match effect:
            case Registered():
                members = {"worker_id": effect.worker_id, "takes_telemetry": effect.takes_telemetry}
                return {"effect": "registered", **members}
            case CallAnswered():
                return _known("call_answered", call=self._name_of(effect.call), result=effect.result)
            case CallFailed():
                error = effect.error
                members = {
                    "code": error.code,
                    "message": error.message,
                    "executed": error.executed,
                    "details": error.details,
                }
                return _known("call_failed", call=self._name_of(effect.call), **members)
            case CallWritten():
                return {"effect": "call_written", "call": self._name_of(effect.call)}
            case Run():
                caller = (
                    None
                    if effect.caller is None
                    else {"worker_id": effect.caller.worker_id, "name": effect.caller.name}
                )
                job = effect.job and {"queue": effect.job.queue, "id": effect.job.id, "attempt": effect.job.attempt}
                return {
                    **_known(
                        "run",
                        invocation_id=effect.invocation_id,
                        function_id=effect.function_id,
                        metadata=effect.metadata,
                        caller=caller,
                        job=job,
                        traceparent=effect.traceparent,
                        baggage=effect.baggage,
                    ),
                    "payload": effect.payload,
                }
            case Cancel():
                return {"effect": "cancel", "invocation_id": effect.invocation_id, "reason": effect.reason}
            case Bind() | Unbind():
                if isinstance(effect, Bind):
                    self._binds[effect.id] = effect
                names = ("id", "trigger_type", "function_id")
                members = {name: getattr(effect, name) for name in names}
                kind = "bind" if isinstance(effect, Bind) else "unbind"
                return {**_known(kind, metadata=effect.metadata, **members), "config": effect.config}
            case TriggerResult():
                return _known("trigger_result", id=effect.id, status=effect.status, reason=effect.reason)
            case _:
                raise AssertionError(f"no name for {effect}")


def _known(effect: str, **members: object) -> dict[str, Any]:
    return {"effect": effect, **{name: value for name, value in members.items() if value is not None}}


def last_member(frame: str) -> str:
    members = decode_json(frame)
    assert isinstance(members, dict)
    return str(list(members)[-1])
