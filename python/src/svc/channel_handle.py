"""What readers and writers have in common: a ref, and the end behind it that is made at the first use."""

from __future__ import annotations

from typing import Protocol

from .channel_end import ChannelEnd
from .channel_refs import ChannelRef, NamedByRef
from .context import HandlerContext
from .loop_bridge import LoopBridge


class Ends(Protocol):
    """The part of a worker that an end needs."""

    @property
    def bridge(self) -> LoopBridge: ...

    def make(self, ref: ChannelRef, owner: HandlerContext | None) -> ChannelEnd: ...

    def leave(self, handle: ChannelHandle, reason: str) -> None: ...

    def forget(self, end: ChannelEnd) -> None: ...


class ChannelHandle(NamedByRef):
    # A payload may name very many channels; what is never used shall cost little.
    __slots__ = ("_end", "_ends", "_owner")

    def __init__(self, ref: ChannelRef, owner: HandlerContext | None, ends: Ends) -> None:
        super().__init__(ref)
        self._owner = owner
        self._ends = ends
        self._end: ChannelEnd | None = None

    def __repr__(self) -> str:
        return f"<svc.{type(self).__name__} {self.ref['channel_id']:.64}>"

    def __del__(self) -> None:
        # Nobody reads or writes any more; without this a handler that reads half of a body would leave a socket behind.
        end = getattr(self, "_end", None)
        if end is not None and not end.is_over:
            self._ends.forget(end)

    def on_loop(self) -> ChannelEnd:
        """For the SDK itself, on its loop."""
        if self._end is None:
            self._end = self._ends.make(self.ref, self._owner)
        return self._end
