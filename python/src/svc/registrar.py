"""Registers functions, triggers and trigger types: validates on the caller's thread, registers on the loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .engine_link import EngineLink
from .errors import CallError
from .handlers import read_handler
from .http_function import HttpFunction, refusing_handler
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_thread import LoopThread
from .outgoing import timeout_option
from .providers import TriggerHandler
from .requests import checked_members
from .schema import schema_of
from .triggers import Trigger


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A registered function. ``unregister()`` removes it; running calls finish."""

    id: str
    _unregister: Callable[[], None]

    def unregister(self) -> None:
        self._unregister()


@dataclass(frozen=True, slots=True)
class FunctionOptions:
    """Options of a function's registration."""

    description: str | None = None
    request_format: object = None
    response_format: object = None
    metadata: object = None
    timeout_ms: int | None = None
    validate: bool | None = None


@dataclass(frozen=True, slots=True)
class TriggerTypeRef:
    """A provided trigger type. ``unregister()`` removes it."""

    id: str
    _registrar: Registrar
    _call_request_format: object
    _unregister: Callable[[], None]

    def unregister(self) -> None:
        self._unregister()

    def register_trigger(self, function_id: str, config: Any = None, metadata: Any = None) -> Trigger:
        """Binds a function to this type, as ``worker.register_trigger`` does."""
        trigger = {"type": self.id, "function_id": function_id, "config": config, "metadata": metadata}
        return self._registrar.trigger(trigger)

    def register_function(
        self,
        function_id: str,
        handler: Callable[..., Any],
        *,
        description: str | None = None,
        metadata: object = None,
        timeout_ms: int | None = None,
    ) -> FunctionRef:
        """Registers a function that this type can fire: its ``request_format`` is the type's ``call_request_format``.

        It is not bound to anything by that; ``register_trigger`` does it.
        """
        options = FunctionOptions(description, self._call_request_format, None, metadata, timeout_ms)
        return self._registrar.function(function_id, handler, options)


class Registrar:
    def __init__(
        self, loop: LoopThread, link: EngineLink, log: Logger, *, bridge: LoopBridge, is_ending: Callable[[], bool]
    ) -> None:
        self._loop = loop
        self._bridge = bridge
        self._link = link
        self._log = log
        self._is_ending = is_ending
        #: Functions and trigger types that this worker provides.
        self._provided: set[tuple[str, str]] = set()

    @property
    def provides(self) -> bool:
        return bool(self._provided)

    def function(self, id: str, handler: Callable[..., Any] | HttpFunction, options: FunctionOptions) -> FunctionRef:
        self._refuse_while_ending()
        elsewhere = handler if isinstance(handler, HttpFunction) else None
        function = refusing_handler(id) if isinstance(handler, HttpFunction) else handler
        read = read_handler(function, f"function {id}")
        if read.hints_problem is not None:
            facts = {"function_id": id, "reason": read.hints_problem}
            self._log.warn("failed to read a handler's type hints; its input is not converted", **facts)
        members: dict[str, object] = {
            "description": _first_line(function) if options.description is None else options.description,
            "request_format": _format(options.request_format, read.request_format, id),
            "response_format": _format(options.response_format, read.response_format, id),
            "metadata": options.metadata,
            "timeout_ms": None
            if options.timeout_ms is None
            else timeout_option(options.timeout_ms, f"timeout_ms of function {id}"),
            "validate": options.validate,
            "invocation": None if elsewhere is None else elsewhere.to_wire(),
        }

        def register() -> None:
            self._link.session.register_function(id, **members)
            self._link.runner.add(id, read)
            self._provided.add(("function", id))
            self._link.flush()

        registered = True

        def unregister() -> None:
            nonlocal registered
            if not registered:
                return
            registered = False
            self._provided.discard(("function", id))
            self._link.session.unregister_function(id)
            self._link.runner.remove(id)
            self._link.flush()

        self._loop.do(register)
        return FunctionRef(id, lambda: self._if_alive(unregister))

    def trigger(self, trigger: Mapping[str, Any]) -> Trigger:
        self._refuse_while_ending()
        checked_members(trigger, "register_trigger", ("type", "function_id"), ("config", "metadata"))
        return self._loop.do(lambda: self._register_trigger(trigger))

    def _register_trigger(self, input: Mapping[str, Any]) -> Trigger:
        trigger_id = self._link.session.register_trigger(
            input["type"], input["function_id"], input.get("config"), input.get("metadata")
        )
        trigger = Trigger(
            trigger_id,
            input["type"],
            input["function_id"],
            unregister=lambda trigger: self._if_alive(lambda: self._unregister_trigger(trigger)),
            bridge=self._bridge,
        )
        self._link.triggers.add(trigger)
        self._link.flush()
        return trigger

    def _unregister_trigger(self, trigger: Trigger) -> None:
        if self._link.triggers.remove(trigger):
            self._link.session.unregister_trigger(trigger.id)
            self._link.flush()

    def trigger_type(self, type: Mapping[str, Any], handler: TriggerHandler) -> TriggerTypeRef:
        self._refuse_while_ending()
        formats = ("trigger_request_format", "call_request_format")
        checked_members(type, "register_trigger_type", ("id", "description"), (*formats, "validate"))
        for method in ("register_trigger", "unregister_trigger"):
            if not callable(getattr(handler, method, None)):
                raise TypeError(f"the handler of trigger type {type['id']} has no method {method}(binding)")
        type_id = type["id"]
        options: dict[str, object] = {name: _format(type.get(name), None, type_id) for name in formats}
        options["validate"] = type.get("validate")

        def register() -> None:
            self._link.session.register_trigger_type(type_id, type["description"], **options)
            self._link.providers.add(type_id, handler)
            self._provided.add(("trigger type", type_id))
            self._link.flush()

        def unregister() -> None:
            self._provided.discard(("trigger type", type_id))
            self._link.session.unregister_trigger_type(type_id)
            self._link.providers.remove(type_id)
            self._link.flush()

        self._loop.do(register)
        call_request_format = options.get("call_request_format")
        return TriggerTypeRef(type_id, self, call_request_format, lambda: self._if_alive(unregister))

    def _refuse_while_ending(self) -> None:
        if self._is_ending():
            message = "the worker is shutting down or was shut down; nothing can be registered"
            raise CallError("draining", message)

    def _if_alive(self, action: Callable[[], None]) -> None:
        """Runs the action unless the worker was shut down, which removes all registrations."""
        if self._loop.is_running():
            self._loop.do(action)


def _format(given: object, hinted: object, id: str) -> object:
    """Returns the given format, or the one from the type hints. A type is converted to JSON Schema."""
    if given is None:
        return hinted
    if isinstance(given, (Mapping, bool)):
        return given
    schema = schema_of(given)
    if schema is None:
        raise TypeError(f"a format of {id} is neither JSON Schema (a dict) nor a supported type: {given!r:.100}")
    return schema


def _first_line(handler: Callable[..., Any]) -> str | None:
    lines = (getattr(handler, "__doc__", None) or "").strip().splitlines()
    return lines[0].strip() if lines else None
