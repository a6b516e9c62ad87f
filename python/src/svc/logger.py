"""Structured log lines: JSON, one per line, to stderr. Results and prints of users stay alone on stdout."""

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
    """Ties lines to the span in which they are written, and sends them to the engine. Never raises."""

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
    """A message is a fixed sentence; what varies goes into the fields: ``log.info("order paid", order_id=7)``.

    Lines below the level are dropped: the variable ``SVC_LOG_LEVEL`` (debug, info, warn, error, silent), default info.
    Never raises.

    Args:
        fields: On every line; a line's own fields win.
        level: Instead of ``SVC_LOG_LEVEL``.
        write: Takes one finished line without its line break. Default: stderr.
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
        """A logger whose lines carry these fields too."""
        return self._with({**self._fields, **fields}, self._tie, self._call)

    def tied(self, tie: Tie) -> Logger:
        """A logger whose lines name the span in which they are written, and go to the engine too."""
        return self._with(self._fields, tie, None)

    def within(self, call: CallFacts) -> Logger:
        """A logger whose lines belong to this call."""
        fields = {**self._fields, "function_id": call.function_id, "invocation_id": call.invocation_id}
        # Not the call itself: its payload may hold ends of channels, which go when nobody holds them any more.
        facts = LoggedCall(call.invocation_id, call.function_id, call.traceparent, call.baggage)
        return self._with(fields, self._tie, facts)

    def _with(self, fields: dict[str, object], tie: Tie | None, call: CallFacts | None) -> Logger:
        # Made for every call, and so without asking the environment again.
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
        except Exception as cause:  # noqa: BLE001 - a log line must not take down what it reports on
            line = json.dumps({**head, "fields_error": f"the fields cannot be written as JSON: {type(cause).__name__}"})
        try:
            self._write(line)
        except Exception:  # noqa: BLE001 - there is nowhere left to report to: the log itself is what failed
            return

    def _send(
        self, level: str, message: str, fields: Mapping[str, object], time_ns: int
    ) -> tuple[dict[str, object], dict[str, object]]:
        """What the line says of its span, and the id that it has in common with what was sent."""
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
    if stream is None:  # pythonw and some services have none
        return
    text = line.encode("utf-8", "backslashreplace").decode("utf-8")
    # One write per line, or lines of two threads run into each other.
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
