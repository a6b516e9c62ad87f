"""Frames to write to the engine. No I/O."""

from __future__ import annotations

from collections.abc import Mapping

from .codec import encode_frame
from .effects import Bind, Effect, Notice
from .errors import CallError

#: Maximum number of unsent characters, while the socket is closed and while the engine reads slowly.
MAX_WAITING_CHARS = 64 * 1024 * 1024


class Outbound:
    """The write buffer of the socket, and whether the socket is open."""

    def __init__(self) -> None:
        self.is_open = False
        self._frames: list[str] = []
        self._chars = 0

    @property
    def chars(self) -> int:
        return self._chars

    @property
    def has_frames(self) -> bool:
        return bool(self._frames)

    def open(self) -> None:
        self.is_open = True

    def close(self) -> None:
        self.is_open = False
        self.take()

    def take(self) -> list[str]:
        frames, self._frames, self._chars = self._frames, [], 0
        return frames

    def push(self, frame: str) -> None:
        self._frames.append(frame)
        self._chars += len(frame)

    def send(self, members: Mapping[str, object]) -> None:
        self.push(encode_frame(members))

    def announce(self, frame: str | None) -> None:
        """Sends a frame if the socket is open. For frames that are replayed on the next connection."""
        if frame is not None and self.is_open:
            self.push(frame)

    def send_error(self, invocation_id: str, function_id: str, error: CallError) -> list[Effect]:
        members = {"type": "invocationresult", "invocation_id": invocation_id, "function_id": function_id}
        try:
            self.send({**members, "error": error.to_wire()})
        except CallError as unwritable:
            # What the handler says about this must not be lost with its other details.
            executed = "no" if (error.details or {}).get("executed") == "no" else "yes"
            bare = CallError(error.code, error.message, {"executed": executed}, error.stacktrace)
            self.send({**members, "error": bare.to_wire()})
            facts: dict[str, object] = {"function_id": function_id, "code": error.code, "error": unwritable.message}
            return [Notice("warn", "the details of an error were dropped: they cannot be encoded", facts)]
        return []

    def send_binding_answer(self, bind: Bind, error: CallError | None) -> None:
        members: dict[str, object] = {"type": "triggerregistrationresult", "id": bind.id}
        members |= {"trigger_type": bind.trigger_type, "function_id": bind.function_id}
        if error is not None:
            members["error"] = error.to_wire()
        try:
            self.send(members)
        except CallError:  # the details are not JSON
            self.send({**members, "error": CallError("trigger_registration_failed", str(error)).to_wire()})
