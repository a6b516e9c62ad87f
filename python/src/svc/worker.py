"""A worker: what users of this SDK hold in their hands."""

from __future__ import annotations

import atexit
import concurrent.futures
import queue
import signal
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Literal, TypeVar

from .address import without_credentials
from .backoff import ReconnectOptions
from .calling import Calling, refuse_on_loop
from .connection import ConnectionState
from .context import HandlerContext, current_context
from .engine_link import EngineLink
from .errors import CallError
from .handlers import read_handler
from .logger import Logger
from .loop_thread import LoopThread
from .options import first_line, format_of, timeout_option
from .outgoing import Outgoing
from .pool import HandlerPool
from .providers import TriggerHandler
from .requests import CallRequest, EnqueueRequest, TriggerInput, TriggerTypeInput, checked_members, outgoing_of
from .triggers import Trigger

Function = TypeVar("Function", bound=Callable[..., Any])
# A call ends by its own deadline; this is only for a loop that died.
_GRACE_S = 10.0
_SETTLED: tuple[ConnectionState, ...] = ("connected", "failed", "closed")


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A registered function. ``unregister()`` takes it back; calls in hand finish."""

    id: str
    _unregister: Callable[[], None]

    def unregister(self) -> None:
        self._unregister()


@dataclass(frozen=True, slots=True)
class TriggerTypeRef:
    """A provided trigger type. ``unregister()`` takes it back."""

    id: str
    _unregister: Callable[[], None]

    def unregister(self) -> None:
        self._unregister()


class Worker:
    """A worker's connection to the engine. Made by ``connect``. All methods may be called from any thread."""

    def __init__(
        self,
        address: str,
        *,
        name: str,
        introduction: Mapping[str, object],
        call_timeout_ms: int | None,
        max_sync_handlers: int,
        reconnect: ReconnectOptions,
        headers: Mapping[str, str],
        logger: Logger,
    ) -> None:
        self.name = name
        self._address = address
        self._call_timeout_ms = call_timeout_ms
        self._log = logger.with_fields(worker=name)
        self._pool = HandlerPool(max_sync_handlers, name=name)
        self._provides: set[str] = set()
        self._state: ConnectionState = "disconnected"
        self._state_changed = threading.Condition()
        self._listeners: list[Callable[[ConnectionState], object]] = []
        self._shutdown_begun = threading.Lock()
        self._shutdown_done = threading.Event()
        self._wake_run: queue.SimpleQueue[str] = queue.SimpleQueue()
        self._loop = LoopThread(f"svc-{name}")
        self._link = self._loop.do(
            lambda: EngineLink(
                address,
                introduction,
                reconnect=reconnect,
                headers=headers,
                pool=self._pool,
                calls=self,
                log=self._log,
                state_changed=self._on_state,
            )
        )
        self._calling = Calling(self._loop, self._link, self._pool)
        atexit.register(self._at_exit)

    # ---- the connection

    @property
    def id(self) -> str | None:
        """Id that the engine gave the present connection, or the last one; None before the first."""
        return self._link.session.worker_id

    @property
    def connection_state(self) -> ConnectionState:
        return self._state

    @property
    def log(self) -> Logger:
        """Its lines carry the worker's name. In handlers use ``context.log``."""
        return self._log

    def on_connection_state(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        """Tells of each change of the connection's state from now on. Returns how to stop that.

        The listener runs on the worker's event loop: it must not block. What it raises is logged.
        """

        def entry(state: ConnectionState) -> None:
            listener(state)

        with self._state_changed:
            self._listeners = [*self._listeners, entry]

        def unsubscribe() -> None:
            with self._state_changed:
                self._listeners = [each for each in self._listeners if each is not entry]

        return unsubscribe

    def wait_connected(self, timeout_s: float = 30.0) -> None:
        """Waits until the engine has greeted this worker. Calls and registrations need not wait for it.

        Raises:
            CallError: ``disconnected`` after ``timeout_s`` seconds, and when the worker gave up or was shut down.
        """
        refuse_on_loop(self._loop, "wait_connected", "on_connection_state(...)")
        with self._state_changed:
            self._state_changed.wait_for(lambda: self._state in _SETTLED, timeout_s)
            state = self._state
        if state == "connected":
            return
        why = {
            "failed": "gave up connecting to the engine at",
            "closed": "the worker was shut down; its engine was at",
        }.get(state, f"not connected within {timeout_s:g} s to the engine at")
        problem = self._link.connection.last_problem
        address = without_credentials(self._address)
        message = f"{why} {address}: {problem}" if problem else f"{why} {address}"
        raise CallError("disconnected", message, {"address": address, "sent": False})

    # ---- functions

    def function(
        self,
        id: str,
        *,
        description: str | None = None,
        request_format: object = None,
        response_format: object = None,
        metadata: object = None,
        timeout_ms: int | None = None,
        validate: bool | None = None,
    ) -> Callable[[Function], Function]:
        """Decorator form of ``register_function``; the function itself stays as it is."""

        def register(handler: Function) -> Function:
            self.register_function(
                id,
                handler,
                description=description,
                request_format=request_format,
                response_format=response_format,
                metadata=metadata,
                timeout_ms=timeout_ms,
                validate=validate,
            )
            return handler

        return register

    def register_function(
        self,
        id: str,
        handler: Callable[..., Any],
        *,
        description: str | None = None,
        request_format: object = None,
        response_format: object = None,
        metadata: object = None,
        timeout_ms: int | None = None,
        validate: bool | None = None,
    ) -> FunctionRef:
        """Makes ``handler`` callable as ``id``, now and after every reconnect.

        Args:
            id: 1 to 256 bytes without control characters, e.g. ``math::add``.
            handler: ``handler(input)`` or ``handler(input, context)``, sync or async. Where the hint of ``input`` is a
                dataclass (or pydantic model) it gets an instance; payloads that do not fit fail with ``invalid_input``
                before it runs. It returns what JSON can hold (dataclasses and pydantic models too), or None.
            description: Default: the first line of the handler's docstring.
            request_format: JSON Schema or type of the input. Default: from the type hint.
            response_format: Likewise of the result.
            metadata: JSON, shown in listings.
            timeout_ms: Deadline of calls that name none, 1 to 86,400,000.
            validate: Whether the engine refuses payloads that do not fit ``request_format``, before they travel here.
                Default: what the engine's config says, usually not.

        Raises:
            ValueError: a bad or taken id, metadata that JSON cannot hold, a deadline out of range.
            TypeError: a handler that cannot be called with an input, and a format that is neither schema nor type.
        """
        self._refuse_after_shutdown()
        read = read_handler(handler, f"function {id}")
        if read.hints_problem is not None:
            facts = {"function_id": id, "problem": read.hints_problem}
            self._log.warn("the type hints of a handler cannot be read; it gets its input as plain JSON", **facts)
        options: dict[str, object] = {
            "description": first_line(handler) if description is None else description,
            "request_format": read.request_format if request_format is None else format_of(request_format, id),
            "response_format": read.response_format if response_format is None else format_of(response_format, id),
            "metadata": metadata,
            "timeout_ms": None if timeout_ms is None else timeout_option(timeout_ms, f"timeout_ms of function {id}"),
            "validate": validate,
        }

        def register() -> None:
            self._link.session.register_function(id, **options)
            self._link.runner.add(id, read)
            self._provides.add(id)
            self._link.flush()

        registered = True

        def unregister() -> None:
            nonlocal registered
            if not registered:
                return
            registered = False
            self._provides.discard(id)
            self._link.session.unregister_function(id)
            self._link.runner.remove(id)
            self._link.flush()

        self._loop.do(register)
        return FunctionRef(id, lambda: self._if_alive(unregister))

    # ---- triggers

    def register_trigger(self, trigger: TriggerInput | Mapping[str, Any]) -> Trigger:
        """Binds a function to an occasion, now and after every reconnect.

        Args:
            trigger: ``{"type", "function_id", "config", "metadata"?}``, e.g. type ``http`` with config
                ``{"api_path": "/add", "http_method": "POST"}``.

        Returns:
            A ``Trigger``; its ``wait_registered()`` tells what the engine made of it.
        """
        self._refuse_after_shutdown()
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
            refuse_wait=lambda: refuse_on_loop(self._loop, "wait_registered", "asyncio.to_thread(...)"),
        )
        self._link.triggers.add(trigger)
        self._link.flush()
        return trigger

    def _unregister_trigger(self, trigger: Trigger) -> None:
        if self._link.triggers.remove(trigger):
            self._link.session.unregister_trigger(trigger.id)
            self._link.flush()

    def register_trigger_type(
        self, type: TriggerTypeInput | Mapping[str, Any], handler: TriggerHandler
    ) -> TriggerTypeRef:
        """Provides a trigger type: ``{"id", "description"}`` and an object that binds.

        With ``"validate": True`` the engine refuses triggers whose config does not fit ``trigger_request_format``.

        The handler's ``register_trigger(binding)`` and ``unregister_trigger(binding)``, sync or async, start and stop
        firing; to fire, call ``binding.function_id``.
        """
        self._refuse_after_shutdown()
        formats = ("trigger_request_format", "call_request_format")
        checked_members(type, "register_trigger_type", ("id", "description"), (*formats, "validate"))
        for method in ("register_trigger", "unregister_trigger"):
            if not callable(getattr(handler, method, None)):
                raise TypeError(f"the handler of trigger type {type['id']} has no method {method}(binding)")
        type_id = type["id"]
        given: Mapping[str, Any] = type
        options: dict[str, object] = {
            name: format_of(given[name], type_id) for name in formats if given.get(name) is not None
        }
        options["validate"] = given.get("validate")

        def register() -> None:
            self._link.session.register_trigger_type(type_id, type["description"], **options)
            self._link.providers.add(type_id, handler)
            self._provides.add(f"trigger type {type_id}")
            self._link.flush()

        def unregister() -> None:
            self._provides.discard(f"trigger type {type_id}")
            self._link.session.unregister_trigger_type(type_id)
            self._link.providers.remove(type_id)
            self._link.flush()

        self._loop.do(register)
        return TriggerTypeRef(type_id, lambda: self._if_alive(unregister))

    # ---- calls

    def call(self, request: CallRequest | Mapping[str, Any]) -> Any:
        """Calls a function and returns its result.

        While there is no connection the call waits for it (1,000 at most). A call that was sent is never sent again.

        Args:
            request: ``{"function_id", "payload"?, "timeout_ms"?, "metadata"?}``.

        Raises:
            CallError: the function's or the engine's error, always by the deadline. ``error.retryable`` and
                ``error.executed`` say whether to try again.
            RuntimeError: called on the worker's event loop (inside an async handler): use ``await call_async``.
        """
        return self._calling.wait(self._outgoing(request, "call"), "call")

    async def call_async(self, request: CallRequest | Mapping[str, Any]) -> Any:
        """As ``call``, for async handlers and for any other event loop. Cancelling it withdraws the call."""
        return await self._calling.await_(self._outgoing(request, "call"))

    def call_void(self, request: CallRequest | Mapping[str, Any]) -> None:
        """Calls a function and wants no answer.

        Returns when the call was handed to the socket; whether it arrives and how it ends is not told.
        """
        self._calling.wait(self._outgoing(request, "void"), "call_void")

    async def call_void_async(self, request: CallRequest | Mapping[str, Any]) -> None:
        """As ``call_void``, for event loops."""
        await self._calling.await_(self._outgoing(request, "void"))

    def enqueue(self, request: EnqueueRequest | Mapping[str, Any]) -> Any:
        """Puts a call on a queue: ``{"queue", "function_id", "payload"?}``.

        Returns the receipt, ``{"messageReceiptId": ...}``, when the engine has accepted the job.
        """
        return self._calling.wait(self._outgoing(request, "enqueue"), "enqueue")

    async def enqueue_async(self, request: EnqueueRequest | Mapping[str, Any]) -> Any:
        """As ``enqueue``, for event loops."""
        return await self._calling.await_(self._outgoing(request, "enqueue"))

    def call_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any:
        """What ``context.call`` does."""
        outgoing = outgoing_of(request, "call", context, self._call_timeout_ms)
        return self._calling.wait(outgoing, "call")

    async def call_async_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any:
        """What ``context.call_async`` does."""
        outgoing = outgoing_of(request, "call", context, self._call_timeout_ms)
        return await self._calling.await_(outgoing)

    def _outgoing(self, request: Mapping[str, Any], mode: Literal["call", "void", "enqueue"]) -> Outgoing:
        return outgoing_of(request, mode, current_context.get(), self._call_timeout_ms)

    # ---- the end

    def shutdown(self, timeout_s: float = 10.0) -> None:
        """Takes no new calls, finishes those in hand, then closes; after ``timeout_s`` seconds it closes anyway.

        Triggers stay with the engine, which holds them a while for the worker's return. A second call waits for the
        first.

        Raises:
            RuntimeError: called inside a handler, for whose end it would wait.
        """
        if self._loop.is_current() or self._pool.is_current():
            raise RuntimeError(
                "shutdown() waits for running handlers, so it cannot be called inside one; "
                "use threading.Thread(target=worker.shutdown).start()"
            )
        if not self._shutdown_begun.acquire(blocking=False):
            self._shutdown_done.wait(timeout_s + _GRACE_S)
            return
        try:
            if self._loop.is_running():
                self._shut_down(timeout_s)
        finally:
            self._shutdown_done.set()
            self._wake_run.put("shut down")
            atexit.unregister(self._at_exit)

    def _shut_down(self, timeout_s: float) -> None:
        ended = self._loop.start(self._link.shut_down(timeout_s))
        try:
            ended.result(2 * timeout_s + _GRACE_S)
        except concurrent.futures.TimeoutError:
            self._log.error("the worker did not shut down in time; it is cut off", timeout_s=timeout_s)
        self._pool.close()
        self._loop.stop(_GRACE_S)

    def run(self) -> None:
        """Keeps the main thread until SIGTERM or SIGINT, then shuts down gracefully and returns.

        Returns too when the worker is shut down by another thread. A second signal ends the process at once.

        Raises:
            RuntimeError: not called on the main thread, where alone Python delivers signals.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("worker.run() waits for signals, so it must be called on the main thread")

        def on_signal(number: int, _: FrameType | None) -> None:
            # SimpleQueue is made to be used in signal handlers; an Event is not.
            self._wake_run.put(signal.Signals(number).name)

        numbers = (signal.SIGTERM, signal.SIGINT)
        before = {number: signal.signal(number, on_signal) for number in numbers}
        try:
            reason = self._wait_for_wake()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if reason != "shut down":
            self._log.info("shutting down", signal=reason)
        self.shutdown()

    def _wait_for_wake(self) -> str:
        while True:
            try:
                # On Windows a wait without end does not notice signals.
                return self._wake_run.get(timeout=1.0)
            except queue.Empty:
                continue

    def _at_exit(self) -> None:
        if self._provides:
            self._log.warn("the program ends, and with it this worker; end the program with worker.run() to keep it up")
        self.shutdown()

    # ---- inside

    def _on_state(self, state: ConnectionState) -> None:
        with self._state_changed:
            self._state = state
            self._state_changed.notify_all()
            listeners = self._listeners
        for listener in listeners:
            try:
                listener(state)
            except Exception as raised:  # noqa: BLE001 - the listener's code; it must not reach the socket's loop
                self._log.error("a connection state listener failed", state=state, error=raised)

    def _refuse_after_shutdown(self) -> None:
        if self._shutdown_begun.locked():
            raise CallError(
                "draining", "the worker is shutting down or was shut down; nothing can be registered any more"
            )

    def _if_alive(self, action: Callable[[], None]) -> None:
        """What is taken back after the end is gone already."""
        if self._loop.is_running():
            self._loop.do(action)
