"""A worker: what users of this SDK hold in their hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from .address import without_credentials
from .backoff import ReconnectOptions
from .calling import Calling
from .channel_ends import ChannelEnds
from .channel_reader import ChannelReader
from .channel_refs import ChannelRef
from .channel_writer import ChannelWriter
from .channels import Channel, channel_of, creation_of
from .connection import ConnectionState
from .connection_watch import ConnectionWatch
from .context import HandlerContext, current_context
from .cron import Cron
from .engine_link import EngineLink
from .errors import CallError
from .events import Events
from .helper_calls import HelperCalls
from .http_function import HttpFunction
from .lifetime import Lifetime
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_thread import LoopThread, refuse_on_loop
from .outgoing import Outgoing
from .pool import HandlerPool
from .providers import TriggerHandler
from .queues import Queues
from .registering import FunctionOptions, FunctionRef, Registering, TriggerTypeRef
from .requests import CallRequest, EnqueueRequest, TriggerInput, TriggerTypeInput, outgoing_of
from .state import State
from .stream import Stream
from .telemetry.options import Switches
from .telemetry.spans import Span, SpanKind
from .telemetry.trace_context import CallFacts
from .telemetry.worker_telemetry import WorkerTelemetry
from .triggers import Trigger

Function = TypeVar("Function", bound=Callable[..., Any])


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
        telemetry: Switches,
    ) -> None:
        self.name = name
        self._address = address
        self._call_timeout_ms = call_timeout_ms
        self._loop = LoopThread(f"svc-{name}")
        self._telemetry = WorkerTelemetry(name, telemetry, self._loop, logger)
        self._log = logger.with_fields(worker=name).tied(self._telemetry)
        self._watch = ConnectionWatch(self._log)
        pool = HandlerPool(max_sync_handlers, name=name)
        self._ends = ChannelEnds(address, LoopBridge(self._loop, pool))
        self._link = self._loop.do(
            lambda: EngineLink(
                address,
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
        self._calling = Calling(self._loop, self._link, pool)
        helper_calls = HelperCalls(self._calling, self._ends, call_timeout_ms)
        #: Durable items by scope and key (module ``svc-state``).
        self.state = State(helper_calls)
        #: Items that clients watch live (module ``svc-stream``).
        self.stream = Stream(helper_calls)
        #: Events for whoever listens (module ``svc-event``).
        self.event = Events(helper_calls)
        #: Durable jobs and messages (module ``svc-queue``).
        self.queue = Queues(helper_calls)
        #: What triggers of the type ``cron`` do (module ``svc-cron``).
        self.cron = Cron(helper_calls)
        self._lifetime = Lifetime(self._loop, self._link, pool, self._log, provides=lambda: self._registering.provides)
        self._registering = Registering(self._loop, self._link, self._log, is_ending=lambda: self._lifetime.is_ending)

    # ---- the connection

    @property
    def id(self) -> str | None:
        """Id that the engine gave the present connection, or the last one; None before the first."""
        return self._link.session.worker_id

    @property
    def connection_state(self) -> ConnectionState:
        return self._watch.state

    @property
    def log(self) -> Logger:
        """Its lines carry the worker's name and, in handlers and spans, the span. ``context.log`` says more."""
        return self._log

    def on_connection_state(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        """Tells of each change of the connection's state from now on. Returns how to stop that.

        The listener runs on the worker's event loop: it must not block. What it raises is logged.
        """
        return self._watch.listen(listener)

    def wait_connected(self, timeout_s: float = 30.0) -> None:
        """Waits until the engine has greeted this worker. Calls and registrations need not wait for it.

        Raises:
            CallError: ``disconnected`` after ``timeout_s`` seconds, and when the worker gave up or was shut down.
        """
        refuse_on_loop(self._loop, "worker.wait_connected", "on_connection_state(...)")
        state = self._watch.wait_settled(timeout_s)
        if state == "connected":
            return
        why = {
            "failed": "gave up connecting to the engine at",
            "closed": "the worker was shut down; its engine was at",
        }.get(state, f"not connected within {timeout_s:g} s to the engine at")
        problem = self._link.connection.last_problem
        address = without_credentials(self._address)
        message = f"{why} {address}: {problem}" if problem else f"{why} {address}"
        raise CallError("disconnected", message, {"address": address, "executed": "no"})

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
            handler: ``handler(input)`` or ``handler(input, context)``, sync or async. Where the hint of ``input`` is a
                dataclass (or pydantic model) it gets an instance; payloads that do not fit fail with ``invalid_input``
                before it runs. It returns what JSON can hold (dataclasses and pydantic models too), or None.
                An ``HttpFunction`` in its place is called by the engine over HTTP.
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
        options = FunctionOptions(description, request_format, response_format, metadata, timeout_ms, validate)
        return self._registering.function(id, handler, options)

    # ---- triggers

    def register_trigger(self, trigger: TriggerInput | Mapping[str, Any]) -> Trigger:
        """Binds a function to an occasion, now and after every reconnect.

        Args:
            trigger: ``{"type", "function_id", "config", "metadata"?}``, e.g. type ``http`` with config
                ``{"api_path": "/add", "http_method": "POST"}``.

        Returns:
            A ``Trigger``; its ``wait_registered()`` tells what the engine made of it.
        """
        return self._registering.trigger(trigger)

    def register_trigger_type(
        self, type: TriggerTypeInput | Mapping[str, Any], handler: TriggerHandler
    ) -> TriggerTypeRef:
        """Provides a trigger type: ``{"id", "description"}`` and an object that binds.

        With ``"validate": True`` the engine refuses triggers whose config does not fit ``trigger_request_format``.

        The handler's ``register_trigger(binding)`` and ``unregister_trigger(binding)``, sync or async, start and stop
        firing; to fire, call ``binding.function_id``.
        """
        return self._registering.trigger_type(type, handler)

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
        """Puts a call on a queue: ``{"queue", "function_id", "payload"?}``. ``worker.queue.enqueue`` can say more.

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

    def span(self, name: str, /, *, kind: SpanKind = "internal", **attributes: object) -> Span:
        """As ``context.span``: below the call or span in which it runs, else as the beginning of a trace."""
        return self._telemetry.span(name, kind, current_context.get(), attributes)

    def span_within(self, call: CallFacts, name: str, kind: SpanKind, attributes: Mapping[str, object]) -> Span:
        """What ``context.span`` does."""
        return self._telemetry.span(name, kind, call, attributes)

    def _outgoing(self, request: Mapping[str, Any], mode: Literal["call", "void", "enqueue"]) -> Outgoing:
        return outgoing_of(request, mode, current_context.get(), self._call_timeout_ms)

    # ---- channels

    def create_channel(self, buffer_items: int | None = None) -> Channel:
        """Makes a channel: a stream of items, bytes or texts, from one writer to one reader.

        Use one end here and hand the other one over in a payload, or hand both over; a handler that gets one finds a
        reader or writer in its place.

        Args:
            buffer_items: Items that may wait in the engine, 1 to 1,024. Default 64.

        Raises:
            CallError: as ``call``.
        """
        return channel_of(self.call(creation_of(buffer_items)), self._ends)

    async def create_channel_async(self, buffer_items: int | None = None) -> Channel:
        """As ``create_channel``, for event loops."""
        return channel_of(await self.call_async(creation_of(buffer_items)), self._ends)

    def channel_reader(self, ref: ChannelRef) -> ChannelReader:
        """The reading end that a ref names, for refs that come in the *results* of calls; it can be taken once."""
        return self._ends.reader(ref)

    def channel_writer(self, ref: ChannelRef) -> ChannelWriter:
        """As ``channel_reader``, for writing ends."""
        return self._ends.writer(ref)

    # ---- the end

    def shutdown(self, timeout_s: float = 10.0) -> None:
        """Takes no new calls, finishes those in hand, then closes; after ``timeout_s`` seconds it closes anyway.

        Triggers stay with the engine, which holds them a while for the worker's return. A second call waits for the
        first.

        Raises:
            RuntimeError: called inside a handler, for whose end it would wait.
        """
        self._lifetime.shutdown(timeout_s)

    def run(self) -> None:
        """Keeps the main thread until SIGTERM or SIGINT, then shuts down gracefully and returns.

        Returns too when the worker is shut down by another thread. A second signal ends the process at once.

        Raises:
            RuntimeError: not called on the main thread, where alone Python delivers signals.
        """
        self._lifetime.run()
