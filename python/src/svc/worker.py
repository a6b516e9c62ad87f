"""The worker: registers functions and triggers, and calls functions."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from .backoff import ReconnectOptions
from .blocking import blocking
from .call_client import CallClient
from .channel_ends import Channel, ChannelEnds
from .channel_reader import ChannelReader
from .channel_refs import ChannelRef
from .channel_writer import ChannelWriter
from .connection import ConnectionState
from .connection_watch import ConnectionWatch
from .context import HandlerContext, current_context
from .cron import Cron
from .engine_link import EngineLink
from .errors import CallError
from .events import Events
from .handler_pool import HandlerPool
from .http_function import HttpFunction
from .http_routes import HttpRoutes
from .lifetime import Lifetime
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_thread import LoopThread
from .providers import TriggerHandler
from .queues import Queues
from .registrar import FunctionOptions, FunctionRef, Registrar, TriggerTypeRef
from .requests import CallRequest, EnqueueRequest, TriggerInput, TriggerTypeInput
from .state import State
from .stream import Stream
from .telemetry.options import Switches
from .telemetry.spans import Span, SpanKind
from .telemetry.trace_context import CallFacts
from .telemetry.worker_telemetry import WorkerTelemetry
from .triggers import Trigger

Function = TypeVar("Function", bound=Callable[..., Any])


class Worker:
    """A worker's connection to the engine. Created by ``connect``. All methods may be called from any thread.

    Methods that have an ``_async`` form block the thread. Their ``_async`` forms are for async handlers and other event
    loops. ``with`` and ``async with`` shut the worker down after the block.
    """

    _name: ClassVar[str] = "worker"

    def __init__(
        self,
        addresses: Sequence[str],
        *,
        name: str,
        introduction: Mapping[str, object],
        call_timeout_ms: int | None,
        max_sync_handlers: int,
        reconnect: ReconnectOptions,
        headers: Mapping[str, str],
        logger: Logger,
        telemetry: Switches,
    ) -> None:
        self.name = name
        self._loop = LoopThread(f"svc-{name}")
        self._telemetry = WorkerTelemetry(name, telemetry, self._loop, logger)
        self._log = logger.with_fields(worker=name).tied(self._telemetry)
        self._watch = ConnectionWatch(self._log)
        pool = HandlerPool(max_sync_handlers, name=name)
        self._bridge = LoopBridge(self._loop, pool)
        self._ends = ChannelEnds(lambda: self._link.connection.address, self._bridge)
        self._link = self._loop.do(
            lambda: EngineLink(
                addresses,
                introduction,
                reconnect=reconnect,
                headers=headers,
                pool=pool,
                calls=self,
                ends=self._ends,
                log=self._log,
                telemetry=self._telemetry,
                state_changed=self._watch.enter,
            )
        )
        self._calls = CallClient(self._loop, self._link, pool, self._ends, call_timeout_ms)
        #: Durable items by scope and key (module ``svc-state``).
        self.state = State(self._calls)
        #: Items that clients watch live (module ``svc-stream``).
        self.stream = Stream(self._calls)
        #: Events for the present subscribers (module ``svc-event``).
        self.event = Events(self._calls)
        #: Durable jobs and messages (module ``svc-queue``).
        self.queue = Queues(self._calls)
        #: Schedules of the triggers of the type ``cron`` (module ``svc-cron``).
        self.cron = Cron(self._calls)
        self._lifetime = Lifetime(self._loop, self._link, pool, self._log, provides=lambda: self._registrar.provides)
        self._registrar = Registrar(
            self._loop, self._link, self._log, bridge=self._bridge, is_ending=lambda: self._lifetime.is_ending
        )
        #: Routes with checked requests (module ``svc-http``).
        self.http = HttpRoutes(self._registrar)

    # ---- the connection

    @property
    def id(self) -> str | None:
        """Id that the engine assigned to the present connection, or to the last one. None before the first."""
        return self._link.session.worker_id

    @property
    def connection_state(self) -> ConnectionState:
        return self._watch.state

    @property
    def log(self) -> Logger:
        """Logger whose lines carry the worker's name and, in handlers and spans, the span. See also ``context.log``."""
        return self._log

    def on_connection_state(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        """Calls the listener on each change of the connection's state. Returns a function that unsubscribes it.

        The listener runs on the worker's event loop: it must not block. Its exceptions are logged.
        """
        return self._watch.listen(listener)

    async def wait_connected_async(self, timeout_s: float = 30.0) -> None:
        """Waits until the worker is connected. Calls and registrations do not require it.

        Raises:
            CallError: ``disconnected`` after ``timeout_s`` seconds, and if the worker gave up or was shut down.
            RuntimeError: ``wait_connected`` was called on the worker's event loop (inside an async handler).
        """
        connection = self._link.connection
        await self._watch.wait_connected(self._bridge, timeout_s, connection.address, lambda: connection.last_problem)

    wait_connected = blocking(wait_connected_async)

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
        """Decorator form of ``register_function``. It returns the function unchanged."""

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
        handler: Callable[..., Any] | HttpFunction,
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
            handler: ``handler(input)`` or ``handler(input, context)``, sync or async. If the hint of ``input`` is a
                dataclass (or pydantic model), it receives an instance; other payloads fail with ``invalid_input``
                before it runs. It returns a JSON value (dataclasses and pydantic models too) or None.
                The engine calls an ``HttpFunction`` over HTTP.
            description: Default: the first line of the handler's docstring.
            request_format: JSON Schema or type of the input. Default: from the type hint.
            response_format: JSON Schema or type of the result. Default: from the type hint.
            metadata: JSON, shown in listings.
            timeout_ms: Deadline of calls without one, 1 to 86,400,000.
            validate: Whether the engine rejects payloads that do not match ``request_format``, before they are sent
                here. Default: the engine's config, usually not.

        Raises:
            ValueError: the id is invalid or taken, the metadata is not JSON, or the deadline is out of range.
            TypeError: the handler cannot be called with an input, or a format is neither a schema nor a type.
        """
        options = FunctionOptions(description, request_format, response_format, metadata, timeout_ms, validate)
        return self._registrar.function(id, handler, options)

    # ---- triggers

    def register_trigger(self, trigger: TriggerInput | Mapping[str, Any]) -> Trigger:
        """Binds a function to a trigger, now and after every reconnect.

        Args:
            trigger: ``{"type", "function_id", "config", "metadata"?}``, e.g. type ``http`` with config
                ``{"api_path": "/add", "http_method": "POST"}``.

        Returns:
            A ``Trigger``. Its ``wait_registered()`` returns the engine's result.
        """
        return self._registrar.trigger(trigger)

    def register_trigger_type(
        self, type: TriggerTypeInput | Mapping[str, Any], handler: TriggerHandler
    ) -> TriggerTypeRef:
        """Provides a trigger type: ``{"id", "description"}`` and a handler that binds its triggers.

        With ``"validate": True`` the engine rejects triggers whose config does not match ``trigger_request_format``.

        The handler's ``register_trigger(binding)`` and ``unregister_trigger(binding)``, sync or async, start and stop
        a trigger. To fire it, call ``binding.function_id``.
        """
        return self._registrar.trigger_type(type, handler)

    # ---- calls

    async def call_async(self, request: CallRequest | Mapping[str, Any]) -> Any:
        """Calls a function and returns its result. Cancelling ``call_async`` cancels the call.

        While there is no connection the call waits for it (at most 1,000 calls do). A call is never sent twice.

        Args:
            request: ``{"function_id", "payload"?, "timeout_ms"?, "metadata"?}``.

        Raises:
            CallError: the function's or the engine's error, always by the deadline. ``error.retryable`` and
                ``error.executed`` say whether to retry.
            RuntimeError: ``call`` was called on the worker's event loop (inside an async handler).
        """
        return await self._calls.call(request)

    call = blocking(call_async)

    async def call_void_async(self, request: CallRequest | Mapping[str, Any]) -> None:
        """Calls a function without waiting for its result.

        Returns when the call was passed to the socket. Errors after that are not reported.
        """
        await self._calls.call(request, "void")

    call_void = blocking(call_void_async)

    async def enqueue_async(self, request: EnqueueRequest | Mapping[str, Any]) -> Any:
        """Puts a call on a queue: ``{"queue", "function_id", "payload"?}``. ``worker.queue.enqueue`` has more options.

        Returns the receipt, ``{"messageReceiptId": ...}``, when the engine has accepted the job.
        """
        return await self._calls.call(request, "enqueue")

    enqueue = blocking(enqueue_async)

    async def call_async_within(self, context: HandlerContext, request: Mapping[str, Any]) -> Any:
        """Implements ``context.call_async``."""
        return await self._calls.call(request, context=context)

    def notify(self, request: Mapping[str, Any]) -> None:
        """Makes a call without an answer, for ``context.job.progress``. Drops it if it cannot be sent."""
        with contextlib.suppress(CallError):
            self._calls.start(request, "void")

    def span(self, name: str, /, *, kind: SpanKind = "internal", **attributes: object) -> Span:
        """As ``context.span``. The parent is the running call or span; without one, the span starts a trace."""
        return self._telemetry.span(name, kind, current_context.get(), attributes)

    def span_within(self, call: CallFacts, name: str, kind: SpanKind, attributes: Mapping[str, object]) -> Span:
        """Implements ``context.span``."""
        return self._telemetry.span(name, kind, call, attributes)

    # ---- channels

    async def create_channel_async(self, buffer_items: int | None = None) -> Channel:
        """Creates a channel: a stream of items, bytes or strings, from one writer to one reader.

        Use one end here and pass the other one in a payload, or pass both. A handler that receives a ref gets a reader
        or writer in its place.

        Args:
            buffer_items: Maximum number of items that wait in the engine, 1 to 1,024. Default 64.

        Raises:
            CallError: as ``call``.
        """
        return await self._calls.create_channel(buffer_items)

    create_channel = blocking(create_channel_async)

    def channel_reader(self, ref: ChannelRef) -> ChannelReader:
        """Returns the reading end that a ref names. For refs in the *results* of calls. It can be used once."""
        return self._ends.reader(ref)

    def channel_writer(self, ref: ChannelRef) -> ChannelWriter:
        """As ``channel_reader``, for writing ends."""
        return self._ends.writer(ref)

    # ---- shutdown

    def shutdown(self, timeout_s: float = 10.0) -> None:
        """Accepts no new calls, finishes the running ones, then disconnects, after ``timeout_s`` seconds at the latest.

        The engine keeps the worker's triggers for a while, so that it can reconnect. A second call waits for the first.

        Raises:
            RuntimeError: called inside a handler, which it would wait for.
        """
        self._lifetime.shutdown(timeout_s)

    async def shutdown_async(self, timeout_s: float = 10.0) -> None:
        """As ``shutdown``, for event loops. Cancelling it does not stop the shutdown."""
        await self._lifetime.shutdown_async(timeout_s)

    def __enter__(self) -> Worker:
        """``with svc.connect(...) as worker``: shuts down after the block, also if it raises."""
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()

    async def __aenter__(self) -> Worker:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.shutdown_async()

    def run(self) -> None:
        """Blocks the main thread until SIGTERM or SIGINT, then shuts down gracefully and returns.

        Also returns when another thread shuts the worker down. A second signal ends the process immediately.

        Raises:
            RuntimeError: not called on the main thread. Python delivers signals only there.
        """
        self._lifetime.run()

    async def run_async(self) -> None:
        """As ``run``, for the event loop of the main thread: ``asyncio.run(worker.run_async())``.

        Sets the process's handlers of both signals while it waits. In a program whose framework handles them, use
        ``async with svc.connect(...)`` in the framework's start and stop functions instead. Cancelling it leaves the
        worker connected.
        """
        await self._lifetime.run_async()
