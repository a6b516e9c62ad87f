"""Structured log lines: JSON, one per line, to stderr. Results and prints of users stay alone on stdout."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Literal

from .errors import CallError, stack_of, text_of

LogLevel = Literal["debug", "info", "warn", "error"]
_LEVELS: dict[str, int] = {"debug": 0, "info": 1, "warn": 2, "error": 3, "silent": 4}
_write_lock = threading.Lock()


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

    def with_fields(self, **fields: object) -> Logger:
        """A logger whose lines carry these fields too."""
        logger = Logger({**self._fields, **fields}, write=self._write)
        logger._lowest = self._lowest
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
        time = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        head: dict[str, object] = {"time": time, "level": level, "message": str(message)}
        try:
            line = json.dumps({**head, **self._fields, **fields, **head}, default=_readable, ensure_ascii=False)
        except Exception as cause:  # noqa: BLE001 - a log line must not take down what it reports on
            line = json.dumps({**head, "fields_error": f"the fields cannot be written as JSON: {type(cause).__name__}"})
        try:
            self._write(line)
        except Exception:  # noqa: BLE001 - there is nowhere left to report to: the log itself is what failed
            return


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
