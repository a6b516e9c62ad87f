"""Structured logs: JSON lines on stderr. stdout is left to the user's program."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Literal, Protocol

from .errors import CallError, stack_of, text_of
from .telemetry.trace_context import CallFacts, LoggedCall, TraceContext, random_hex

LogLevel = Literal["debug", "info", "warn", "error"]
_LEVELS: dict[str, int] = {"debug": 0, "info": 1, "warn": 2, "error": 3, "silent": 4}
_write_lock = threading.Lock()


class Tie(Protocol):
    """Links lines to the current span and sends them to the engine. Never raises."""

    @property
    def sends_logs(self) -> bool: ...

    def trace_of(self, call: CallFacts | None) -> TraceContext | None: ...

    def send(
        self,
        level: str,
        message: str,
        fields: Mapping[str, object],
        *,
        time_ns: int,
        log_id: str,
        call: CallFacts | None,
        trace: TraceContext | None,
    ) -> None: ...


class Logger:
    """A message is a constant string; variable facts are fields: ``log.info("order paid", order_id=7)``.

    Lines below the level of ``SVC_LOG_LEVEL`` (debug, info, warn, error, silent; default info) are dropped. Never
    raises.

    Args:
        fields: Fields of every line. A line's own fields take precedence.
        level: Overrides ``SVC_LOG_LEVEL``.
        write: Writes one line, without its line break. Default: to stderr.
    """

    def __init__(
        self,
        fields: Mapping[str, object] | None = None,
        *,
        level: str | None = None,
        write: Callable[[str], None] | None = None,
    ) -> None:
        self._fields = dict(fields or {})
        named = (os.environ.get("SVC_LOG_LEVEL", "") if level is None else level).strip().lower()
        self._lowest = _LEVELS.get(named, _LEVELS["info"])
        self._write = write or _to_stderr
        self._tie: Tie | None = None
        self._call: CallFacts | None = None

    def with_fields(self, **fields: object) -> Logger:
        """Returns a logger whose lines also carry these fields."""
        return self._with({**self._fields, **fields}, self._tie, self._call)

    def tied(self, tie: Tie) -> Logger:
        """Returns a logger whose lines carry the current span and are also sent to the engine."""
        return self._with(self._fields, tie, None)

    def within(self, call: CallFacts) -> Logger:
        """Returns a logger whose lines belong to this call."""
        fields = {**self._fields, "function_id": call.function_id, "invocation_id": call.invocation_id}
        # Not the call itself: a reference to its payload would keep channel ends from being garbage-collected.
        facts = LoggedCall(call.invocation_id, call.function_id, call.traceparent, call.baggage)
        return self._with(fields, self._tie, facts)

    def _with(self, fields: dict[str, object], tie: Tie | None, call: CallFacts | None) -> Logger:
        # Called for every call, so it does not read the environment again.
        logger = Logger.__new__(type(self))
        logger._fields, logger._lowest, logger._write = fields, self._lowest, self._write
        logger._tie, logger._call = tie, call
        return logger

    def debug(self, message: str, /, **fields: object) -> None:
        self._line("debug", message, fields)

    def info(self, message: str, /, **fields: object) -> None:
        self._line("info", message, fields)

    def warn(self, message: str, /, **fields: object) -> None:
        self._line("warn", message, fields)

    def error(self, message: str, /, **fields: object) -> None:
        self._line("error", message, fields)

    def log(self, level: LogLevel, message: str, /, **fields: object) -> None:
        self._line(level, message, fields)

    def _line(self, level: LogLevel, message: str, fields: Mapping[str, object]) -> None:
        if _LEVELS[level] < self._lowest:
            return
        now_ns = time.time_ns()
        shown = datetime.fromtimestamp(now_ns / 1e9, timezone.utc).isoformat(timespec="milliseconds")
        head: dict[str, object] = {"time": shown.replace("+00:00", "Z"), "level": level, "message": str(message)}
        span, id = self._send(level, str(message), fields, now_ns)
        try:
            members = {**head, **self._fields, **span, **fields, **id, **head}
            line = json.dumps(members, default=_readable, ensure_ascii=False)
        except Exception as cause:  # noqa: BLE001 - logging must never raise
            line = json.dumps({**head, "fields_error": f"the fields are not JSON: {type(cause).__name__}"})
        try:
            self._write(line)
        except Exception:  # noqa: BLE001 - logging itself failed, so there is nowhere to report it
            return

    def _send(
        self, level: str, message: str, fields: Mapping[str, object], time_ns: int
    ) -> tuple[dict[str, object], dict[str, object]]:
        """Sends the line to the engine. Returns the fields of its span, and the id of the sent line."""
        tie, call = self._tie, self._call
        if tie is None:
            return {}, {}
        trace = tie.trace_of(call)
        span: dict[str, object] = {} if trace is None else {"trace_id": trace.trace_id, "span_id": trace.span_id}
        if not tie.sends_logs:
            return span, {}
        log_id = random_hex(8)
        tie.send(level, message, fields, time_ns=time_ns, log_id=log_id, call=call, trace=trace)
        return span, {"log_id": log_id}


def _to_stderr(line: str) -> None:
    stream = sys.stderr
    if stream is None:  # under pythonw and in some services
        return
    text = line.encode("utf-8", "backslashreplace").decode("utf-8")
    # One write per line, so that lines of different threads do not interleave.
    with _write_lock:
        stream.write(text + "\n")
        stream.flush()


def _readable(value: object) -> object:
    if not isinstance(value, BaseException):
        return repr(value)
    # The same members as the TypeScript SDK writes.
    code = {"code": value.code} if isinstance(value, CallError) else {}
    message = value.message if isinstance(value, CallError) else text_of(value)
    return {"type": type(value).__name__, **code, "message": message, "stack": stack_of(value)}
