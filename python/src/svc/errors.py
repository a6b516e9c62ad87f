"""The exception of failed calls."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from .protocol import ERROR_CODES, Executed

_MAX_MESSAGE_CHARS = 8_192
_MAX_STACKTRACE_CHARS = 16_384
# Custom codes of handlers behave like `invocation_failed`: the handler ran, and would fail the same way again.
_CUSTOM_CODE: tuple[bool, int, Executed, str] = (False, 500, "yes", "A custom code of the handler.")


class CallError(Exception):
    """Raised by calls that fail. Raise it in a handler to fail with a custom code.

    Attributes:
        code: One of ``svc.protocol.ERROR_CODES``, or a custom code of a handler.
        message: Description for people.
        details: Facts for the caller to branch on. They are sent to the caller: no secrets, no stack traces.
        stacktrace: Stack trace of the failed handler, as its SDK sent it.
    """

    def __init__(
        self,
        code: str,
        message: str,
        details: Mapping[str, object] | None = None,
        stacktrace: str | None = None,
    ) -> None:
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.details: dict[str, object] | None = None if details is None else dict(details)
        self.stacktrace = stacktrace
        #: Whether this is the error of a call that this worker made.
        self.of_call = False

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[type[CallError], tuple[object, ...]]:
        return type(self), (self.code, self.message, self.details, self.stacktrace)

    @property
    def retryable(self) -> bool:
        """Whether the same call may succeed later."""
        return _facts_of(self.code)[0]

    @property
    def http_status(self) -> int:
        """Status of an HTTP response with this error."""
        return _facts_of(self.code)[1]

    @property
    def executed(self) -> Executed:
        """Whether the function may have run. Check it before retrying an operation that must not run twice.

        The value of ``details["executed"]``, else the value for the code.
        """
        given = None if self.details is None else self.details.get("executed")
        if given == "no" or given == "unknown" or given == "yes":
            return given
        return _facts_of(self.code)[2]

    @classmethod
    def from_exception(cls, raised: BaseException) -> CallError:
        """Converts an exception of a handler to ``invocation_failed``. Returns a CallError unchanged.

        The message begins with the type (``KeyError: 'a'``), except for plain ``Exception``.
        """
        if isinstance(raised, cls):
            return raised
        name, text = type(raised).__name__, text_of(raised)
        if not text:
            message = name
        elif type(raised) is Exception:
            message = text
        else:
            message = f"{name}: {text}"
        return cls("invocation_failed", message, stacktrace=stack_of(raised))

    @classmethod
    def from_wire(cls, error: object) -> CallError:
        """Reads ``error`` of an ``invocationresult``. The code is ``UNKNOWN`` if it lacks a code or message."""
        if not isinstance(error, dict):
            return cls("UNKNOWN", str(error)[:_MAX_MESSAGE_CHARS])
        code, message = error.get("code"), error.get("message")
        if not isinstance(code, str) or not isinstance(message, str):
            return cls("UNKNOWN", str(error)[:_MAX_MESSAGE_CHARS])
        details, stacktrace = error.get("details"), error.get("stacktrace")
        return cls(
            code,
            message,
            details if isinstance(details, dict) else None,
            stacktrace if isinstance(stacktrace, str) else None,
        )

    def to_wire(self) -> dict[str, object]:
        """Returns the wire form. A long message or stack trace is truncated, so that an error always fits a frame."""
        wire: dict[str, object] = {
            "code": str(self.code)[:256],
            "message": _truncated(str(self.message), _MAX_MESSAGE_CHARS),
        }
        if self.stacktrace is not None:
            # The end of a Python stack trace is the most useful part.
            wire["stacktrace"] = self.stacktrace[-_MAX_STACKTRACE_CHARS:]
        if self.details is not None:
            wire["details"] = self.details
        return wire


def with_executed(error: CallError, executed: Executed) -> CallError:
    """Returns the error with another ``executed``."""
    details = {**(error.details or {}), "executed": executed}
    return CallError(error.code, error.message, details, error.stacktrace)


def text_of(raised: BaseException) -> str:
    """Returns ``str(raised)``, or "" if that fails."""
    try:
        return str(raised)
    except Exception:  # noqa: BLE001 - __str__ is user code, and its failure must not hide the exception
        return ""


def stack_of(raised: BaseException) -> str | None:
    """Returns the traceback as Python prints it, or None if formatting fails, as for very deep stacks."""
    try:
        return "".join(traceback.format_exception(type(raised), raised, raised.__traceback__))
    except Exception:  # noqa: BLE001 - formatting also runs the user's __str__
        return None


def _truncated(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _facts_of(code: str) -> tuple[bool, int, Executed, str]:
    return ERROR_CODES.get(code, _CUSTOM_CODE)
