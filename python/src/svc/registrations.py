"""Registrations of this worker, stored as the frames that are replayed on each connection. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from .codec import encode_frame, name_problem
from .effects import Bind, Unbind
from .errors import CallError


class Registrations:
    """Invalid or taken names raise ValueError (TypeError if they are not strings), before anything changes."""

    def __init__(self) -> None:
        self._functions: dict[str, str] = {}
        self._trigger_types: dict[str, str] = {}
        self._triggers: dict[str, tuple[str, str]] = {}
        #: Triggers that this worker binds as the provider of their type.
        self._bindings: dict[str, Bind] = {}

    def has_function(self, function_id: str) -> bool:
        return function_id in self._functions

    def has_trigger_type(self, type_id: str) -> bool:
        return type_id in self._trigger_types

    def has_trigger(self, trigger_id: str) -> bool:
        return trigger_id in self._triggers

    def functions(self) -> Iterator[str]:
        return iter(list(self._functions))

    def replay(self) -> Iterator[str]:
        """Yields every frame to send on a new connection, in the required order."""
        yield from self._trigger_types.values()
        yield from self._functions.values()
        for _, frame in self._triggers.values():
            yield frame

    def add_function(self, function_id: str, options: Mapping[str, object]) -> str:
        _require_name(function_id, "the function id")
        if function_id in self._functions:
            raise ValueError(f"function id {function_id} is already registered by this worker; unregister it first")
        self._functions[function_id] = _registration({"type": "registerfunction", "id": function_id, **_given(options)})
        return self._functions[function_id]

    def remove_function(self, function_id: str) -> str | None:
        if self._functions.pop(function_id, None) is None:
            return None
        return encode_frame({"type": "unregisterfunction", "id": function_id})

    def add_trigger_type(self, type_id: str, description: str, options: Mapping[str, object]) -> str:
        _require_name(type_id, "the trigger type")
        if type_id in self._trigger_types:
            raise ValueError(f"trigger type {type_id} is already registered by this worker; unregister it first")
        members = {"type": "registertriggertype", "id": type_id, "description": description, **_given(options)}
        self._trigger_types[type_id] = _registration(members)
        return self._trigger_types[type_id]

    def remove_trigger_type(self, type_id: str) -> str | None:
        if self._trigger_types.pop(type_id, None) is None:
            return None
        return encode_frame({"type": "unregistertriggertype", "id": type_id})

    def add_trigger(
        self, trigger_id: str, trigger_type: str, function_id: str, config: object, metadata: object
    ) -> str:
        _require_name(trigger_type, "the trigger's type")
        _require_name(function_id, "the trigger's function id")
        members = {
            "type": "registertrigger",
            "id": trigger_id,
            "trigger_type": trigger_type,
            "function_id": function_id,
            "config": config,
            **_given({"metadata": metadata}),
        }
        frame = _registration(members)
        self._triggers[trigger_id] = (trigger_type, frame)
        return frame

    def remove_trigger(self, trigger_id: str) -> str | None:
        trigger = self._triggers.pop(trigger_id, None)
        if trigger is None:
            return None
        return encode_frame({"type": "unregistertrigger", "id": trigger_id, "trigger_type": trigger[0]})

    def hold(self, bind: Bind) -> None:
        self._bindings[bind.id] = bind

    def holds(self, bind: Bind) -> bool:
        """Returns False if the engine has removed or replaced the trigger since this ``Bind``."""
        return self._bindings.get(bind.id) is bind

    def release(self, trigger_id: str) -> Unbind | None:
        """Removes a binding. Returns None if it was not bound here."""
        bind = self._bindings.pop(trigger_id, None)
        return None if bind is None else _unbind(bind)

    def release_all(self) -> list[Unbind]:
        """Removes all bindings. The connection ended, and the engine sends those that still exist again."""
        released = [_unbind(bind) for bind in self._bindings.values()]
        self._bindings.clear()
        return released


def _unbind(bind: Bind) -> Unbind:
    return Unbind(bind.id, bind.trigger_type, bind.function_id, bind.config, bind.metadata)


def _given(options: Mapping[str, object]) -> dict[str, object]:
    """Returns the options that are set. On the wire, other options are absent, not null."""
    return {name: value for name, value in options.items() if value is not None}


def _require_name(name: object, what: str) -> None:
    problem = name_problem(name, what)
    if problem is not None:
        raise (ValueError if isinstance(name, str) else TypeError)(problem)


def _registration(members: Mapping[str, object]) -> str:
    try:
        return encode_frame(members)
    except CallError as cause:
        raise ValueError(f"the registration of {members['id']} cannot be sent: {cause.message}") from cause
