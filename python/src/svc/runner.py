"""Runs inbound calls: sync handlers on threads, async handlers as tasks."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .channel_ends import ChannelEnds
from .codec import encode_json
from .context import Calls, HandlerContext, context_of, current_context
from .effects import Cancel, Run
from .errors import CallError, with_executed
from .handler_pool import MAX_WAITING, HandlerPool
from .handlers import Handler
from .logger import Logger
from .telemetry.open_telemetry import enter_call

#: Maximum number of calls that run or wait for a thread. Further ones are rejected with ``worker_overloaded``.
MAX_RUNNING_CALLS = 10_000

Outcome = CallError | str | None


@dataclass(slots=True)
class _Running:
    context: HandlerContext
    #: Set while the handler runs as a task.
    task: asyncio.Task[None] | None = None


class Runner:
    """All methods belong to the loop's thread."""

    def __init__(
        self,
        pool: HandlerPool,
        log: Logger,
        calls: Calls,
        ends: ChannelEnds,
        *,
        report: Callable[[str, Outcome], None],
    ) -> None:
        self._pool = pool
        self._log = log
        self._calls = calls
        self._ends = ends
        self._report = report
        self._handlers: dict[str, Handler] = {}
        self._running: dict[str, _Running] = {}
        self._idle = asyncio.Event()
        self._idle.set()

    def add(self, function_id: str, handler: Handler) -> None:
        self._handlers[function_id] = handler

    def remove(self, function_id: str) -> None:
        self._handlers.pop(function_id, None)

    @property
    def running(self) -> int:
        return len(self._running)

    async def idle(self) -> None:
        """Returns when no handler runs."""
        while self._running:
            await self._idle.wait()

    def run(self, run: Run) -> None:
        handler = self._handlers.get(run.function_id)
        if handler is None:
            message = f"Function {run.function_id} not found"
            self._report(run.invocation_id, CallError("function_not_found", message, {"executed": "no"}))
            return
        if len(self._running) >= MAX_RUNNING_CALLS:
            message = f"the worker runs {MAX_RUNNING_CALLS} calls, its limit"
            self._report(run.invocation_id, CallError("worker_overloaded", message, {"executed": "no"}))
            return
        context = context_of(run, self._log, self._calls)
        running = _Running(context)
        self._running[run.invocation_id] = running
        self._idle.clear()
        # A new context, so that this call sees nothing of earlier ones.
        scope = contextvars.Context()
        scope.run(current_context.set, context)
        scope.run(enter_call, run)
        if handler.is_async:
            running.task = scope.run(asyncio.ensure_future, self._run_async(run, handler, context))
            running.task.add_done_callback(lambda _: self._finish(run, _never_ran()))
            return
        loop = asyncio.get_running_loop()

        def work() -> None:
            outcome = scope.run(self._run_sync, run, handler, context)
            try:
                loop.call_soon_threadsafe(scope.run, self._settle, run, outcome)
            except RuntimeError:  # the worker was shut down without waiting for this handler
                return

        if not run.nested:
            self._pool.run(work)
        elif not self._pool.run_nested(work):
            message = f"{MAX_WAITING} handlers of this worker wait within nested calls; {run.function_id} was not run"
            self._finish(run, CallError("worker_overloaded", message, {"executed": "no"}))

    def cancel(self, cancel: Cancel) -> None:
        running = self._running.get(cancel.invocation_id)
        if running is None:
            return
        self._stop(running)

    def cancel_all(self) -> None:
        for running in self._running.values():
            self._stop(running)

    def _stop(self, running: _Running) -> None:
        running.context.cancelled.set()
        if running.task is not None:
            running.task.cancel()
        self._ends.drop_of(running.context)

    async def _run_async(self, run: Run, handler: Handler, context: HandlerContext) -> None:
        try:
            result = await handler.run(self._input_of(run, handler, context), context)
            outcome: Outcome = _result_text(result, context)
        except BaseException as raised:  # noqa: BLE001 - a handler's exception must not reach the loop
            outcome = _failure(raised, context)
        self._finish(run, outcome)

    def _run_sync(self, run: Run, handler: Handler, context: HandlerContext) -> object:
        """Runs a sync handler on its thread. Encodes the result there, so that the loop is not blocked."""
        if context.cancelled.is_set():
            return _never_ran()
        try:
            result = handler.run(self._input_of(run, handler, context), context)
            return result if inspect.isawaitable(result) else _result_text(result, context)
        except BaseException as raised:  # noqa: BLE001 - a handler's exception must not end the thread
            return _failure(raised, context)

    def _input_of(self, run: Run, handler: Handler, context: HandlerContext) -> object:
        payload = self._ends.replace_refs(run.payload, context) if run.may_name_channels else run.payload
        try:
            return handler.input_of(payload)
        except CallError as unfit:
            unfit.details = {**(unfit.details or {}), "executed": "no"}
            raise

    def _settle(self, run: Run, outcome: object) -> None:
        """Finishes the run of a sync handler. An awaitable that it returned is awaited first."""
        running = self._running.get(run.invocation_id)
        if running is None:
            return
        if inspect.isawaitable(outcome):
            running.task = asyncio.ensure_future(self._await(run, outcome, running.context))
            running.task.add_done_callback(lambda _: self._finish(run, _never_ran()))
            if running.context.cancelled.is_set():
                running.task.cancel()
            return
        assert outcome is None or isinstance(outcome, (str, CallError))
        self._finish(run, outcome)

    async def _await(self, run: Run, awaitable: Any, context: HandlerContext) -> None:
        try:
            outcome: Outcome = _result_text(await awaitable, context)
        except BaseException as raised:  # noqa: BLE001 - as above
            outcome = _failure(raised, context)
        self._finish(run, outcome)

    def _finish(self, run: Run, outcome: Outcome) -> None:
        running = self._running.pop(run.invocation_id, None)
        if running is None:
            return
        wrote = self._ends.settle_of(running.context)
        if outcome is None and run.may_name_channels and not wrote:
            # For a call with a channel, such as an HTTP request, a missing result means that the handler responded over
            # the channel. This handler did not, so its result is null.
            outcome = "null"
        self._report(run.invocation_id, outcome)
        if not self._running:
            self._idle.set()


def _never_ran() -> CallError:
    return CallError("call_cancelled", "the call was cancelled before the handler started")


def _result_text(result: object, context: HandlerContext) -> str | None:
    if result is None:
        return None
    try:
        return encode_json(result, f"the result of {context.function_id}")
    except CallError as error:
        context.log.error("failed to encode a handler's result as JSON", error=error)
        raise


def _failure(raised: BaseException, context: HandlerContext) -> CallError:
    if isinstance(raised, asyncio.CancelledError) and context.cancelled.is_set():
        return CallError("call_cancelled", "the handler was cancelled: its call is no longer pending")
    error = CallError.from_exception(raised)
    # A CallError is an expected result. Other exceptions are logged with their stack trace.
    if error is not raised:
        context.log.error("a handler failed", error=raised)
    # Its `executed` says whether the called function ran. The handler itself did run.
    return with_executed(error, "yes") if error.of_call and error.executed != "yes" else error
