"""Why a call failed: one exception with a code to branch on."""

from __future__ import annotations

import traceback
from collections.abc import Mapping

from .protocol import ERROR_CODES, Executed

_MAX_MESSAGE_CHARS = 8_192
_MAX_STACKTRACE_CHARS = 16_384
# A code of a handler's own gets the facts of `invocation_failed`: the handler ran, and would fail the same way again.
_OWN_FAILURE: tuple[bool, int, Executed, str] = (False, 500, "yes", "A code of the handler's own.")


class CallError(Exception):
    """Raised by calls that fail; raise it in a handler to fail with a code of your own.

    Attributes:
        code: One of the table in ``svc.protocol.ERROR_CODES``, or a handler's own.
        message: A sentence for people.
        details: Facts a caller may branch on; they travel to the caller. Never secrets, never stacks.
        stacktrace: Stack of the handler that failed, as its SDK sent it.
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

    def __str__(self) -> str:
        return f"{self.code}: {self.message}"

    def __reduce__(self) -> tuple[type[CallError], tuple[object, ...]]:
        return type(self), (self.code, self.message, self.details, self.stacktrace)

    @property
    def retryable(self) -> bool:
        """True when the same call may succeed later without a change by the caller."""
        return _facts_of(self.code)[0]

    @property
    def http_status(self) -> int:
        """Status of an HTTP answer that carries this error."""
        return _facts_of(self.code)[1]

    @property
    def executed(self) -> Executed:
        """Whether the function may have run: ask it before retrying what must not run twice.

        What ``details["executed"]`` says of this failure, else what the code says of such failures.
        """
        told = None if self.details is None else self.details.get("executed")
        if told == "no" or told == "unknown" or told == "yes":
            return told
        return _facts_of(self.code)[2]

    @classmethod
    def from_exception(cls, raised: BaseException) -> CallError:
        """Whatever a handler raised: a CallError stays itself, the rest becomes ``invocation_failed``.

        The message names the type (``KeyError: 'a'``), unless that is plain ``Exception`` and says nothing.
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
        """Reads ``error`` of an ``invocationresult``. What has no code and message becomes ``UNKNOWN``."""
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
        """The error as it stands on the wire; a long message or stack is cut, so that an error always fits a frame."""
        wire: dict[str, object] = {"code": str(self.code)[:256], "message": _cut(str(self.message), _MAX_MESSAGE_CHARS)}
        if self.stacktrace is not None:
            # The end of a Python stack says most.
            wire["stacktrace"] = self.stacktrace[-_MAX_STACKTRACE_CHARS:]
        if self.details is not None:
            wire["details"] = self.details
        return wire


def text_of(raised: BaseException) -> str:
    """``str(raised)``; empty where that fails."""
    try:
        return str(raised)
    except Exception:  # noqa: BLE001 - __str__ is the user's code, and its failure must not hide what was raised
        return ""


def stack_of(raised: BaseException) -> str | None:
    """The traceback as Python prints it; None where even that fails, as for very deep stacks."""
    try:
        return "".join(traceback.format_exception(type(raised), raised, raised.__traceback__))
    except Exception:  # noqa: BLE001 - formatting runs the user's __str__ too
        return None


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _facts_of(code: str) -> tuple[bool, int, Executed, str]:
    return ERROR_CODES.get(code, _OWN_FAILURE)
