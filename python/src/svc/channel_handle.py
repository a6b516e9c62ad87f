"""Base of readers and writers: a ref, and the channel end that is created at the first use."""

from __future__ import annotations

from typing import Protocol

from .channel_end import ChannelEnd
from .channel_refs import ChannelRef, NamedByRef
from .context import HandlerContext
from .loop_bridge import LoopBridge


class Ends(Protocol):
    """The part of ``ChannelEnds`` that a handle needs."""

    @property
    def bridge(self) -> LoopBridge: ...

    def make(self, ref: ChannelRef, owner: HandlerContext | None) -> ChannelEnd: ...

    def leave(self, handle: ChannelHandle, reason: str) -> None: ...

    def forget(self, end: ChannelEnd) -> None: ...


class ChannelHandle(NamedByRef):
    # A payload may name very many channels, so an unused handle must be small.
    __slots__ = ("_end", "_ends", "_owner")

    def __init__(self, ref: ChannelRef, owner: HandlerContext | None, ends: Ends) -> None:
        super().__init__(ref)
        self._owner = owner
        self._ends = ends
        self._end: ChannelEnd | None = None

    def __repr__(self) -> str:
        return f"<svc.{type(self).__name__} {self.ref['channel_id']:.64}>"

    def __del__(self) -> None:
        # Without this, a handler that reads half of a body would leak a socket.
        end = getattr(self, "_end", None)
        if end is not None and not end.is_over:
            self._ends.forget(end)

    def on_loop(self) -> ChannelEnd:
        """Returns the channel end. For the SDK, on the worker's loop."""
        if self._end is None:
            self._end = self._ends.make(self.ref, self._owner)
        return self._end
