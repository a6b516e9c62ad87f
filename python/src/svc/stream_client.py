"""``svc.connect_streams``: a client that watches the engine's streams."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from .address import streams_address
from .backoff import ReconnectOptions
from .blocking import blocking
from .codec import name_problem
from .connection import ConnectionState
from .connection_watch import ConnectionWatch
from .errors import CallError
from .logger import Logger
from .loop_bridge import LoopBridge
from .loop_thread import LoopThread
from .stream_collection import CollectionChange, StreamCollection
from .stream_conversation import StreamConversation
from .stream_messages import StreamGap, StreamSync, StreamUpdate, SubscriptionStatus
from .stream_subscription import StreamHandlers, StreamSubscription

_MAX_ITEM_ID_BYTES = 1_024
_CLOSE_TIMEOUT_S = 10.0


def connect_streams(
    url: str | None = None,
    *,
    token: str | None = None,
    query: Mapping[str, str] | None = None,
    headers: Mapping[str, str] | None = None,
    reconnect: ReconnectOptions | None = None,
    logger: Logger | None = None,
) -> StreamClient:
    """Connects to the engine's streams and keeps connected, on its own thread. Returns immediately.

    Args:
        url: ``ws://`` or ``wss://`` address of the engine's real-time listener. Default ``ws://localhost:3112``.
        token: The engine's token, if it requires one. Default: the environment variable ``SVC_TOKEN``, unless the
            address has credentials.
        query: Added to the address. The engine passes it to its ``auth_function``.
        headers: Headers of the HTTP upgrade.
        reconnect: Backoff between attempts. Default: 1 s, doubled up to 30 s, 30 % jitter, without limit.
        logger: Default: JSON lines on stderr.

    Raises:
        ValueError: the address is invalid.
    """
    bearer = {} if token is None else {"Authorization": f"Bearer {token}"}
    return StreamClient(
        streams_address(url, query or {}),
        headers={**bearer, **(headers or {})},
        reconnect=reconnect or ReconnectOptions(),
        logger=logger or Logger(),
    )


class StreamClient:
    """A connection to the engine's streams. All methods may be called from any thread.

    Reconnects when the connection is lost, and resumes the subscriptions where they stopped. Created by
    ``connect_streams``. ``with`` and ``async with`` close it after the block.
    """

    _name: ClassVar[str] = "client"

    def __init__(
        self, address: str, *, headers: Mapping[str, str], reconnect: ReconnectOptions, logger: Logger
    ) -> None:
        self._address = address
        self._log = logger
        self._loop = LoopThread("svc-streams")
        self._bridge = LoopBridge(self._loop)
        self._closing = threading.Lock()
        self._closed = threading.Event()
        self._watch = ConnectionWatch(logger, "client")
        self._conversation = self._loop.do(
            lambda: StreamConversation(
                address, headers=headers, reconnect=reconnect, log=logger, state_changed=self._watch.enter
            )
        )

    @property
    def connection_state(self) -> ConnectionState:
        """``failed``: the engine rejected this client (close code 4403), or the attempts are exhausted."""
        return self._watch.state

    def on_connection_state(self, listener: Callable[[ConnectionState], object]) -> Callable[[], None]:
        """Calls the listener on each change of the connection's state. Returns a function that unsubscribes it.

        The listener runs on the client's event loop: it must not block. Its exceptions are logged.
        """
        return self._watch.listen(listener)

    async def wait_connected_async(self, timeout_s: float = 30.0) -> None:
        """Waits until the client is connected. Subscriptions do not require it.

        Raises:
            CallError: ``disconnected`` after ``timeout_s`` seconds, and if the client gave up or was closed.
            RuntimeError: ``wait_connected`` was called on the client's event loop (inside a handler).
        """
        connection = self._conversation.connection
        await self._watch.wait_connected(self._bridge, timeout_s, self._address, lambda: connection.last_problem)

    wait_connected = blocking(wait_connected_async)

    def subscribe(
        self,
        stream_name: str,
        group_id: str,
        item_id: str | None = None,
        *,
        on_sync: Callable[[StreamSync], object] | None = None,
        on_event: Callable[[StreamUpdate], object] | None = None,
        on_gap: Callable[[StreamGap], object] | None = None,
        on_error: Callable[[CallError], object] | None = None,
        on_status: Callable[[SubscriptionStatus], object] | None = None,
    ) -> StreamSubscription:
        """Joins a group of a stream, or one item of it, now and after every reconnect.

        The handlers run on the client's event loop, in the order of the events: they must not block. Their exceptions
        are logged.

        Args:
            on_sync: Gets all data: after the first join, and after a gap.
            on_event: Gets each event once, including those during a lost connection, unless there was a gap.
            on_gap: Called when events were missed, before the sync.
            on_error: The engine rejected something. The client retries, unless the status becomes ``closed``.
            on_status: Gets each new status.

        Raises:
            ValueError: a name or id is invalid.
            CallError: ``draining`` after ``close``.
        """
        problem = (
            name_problem(stream_name, "stream_name") or name_problem(group_id, "group_id") or _item_problem(item_id)
        )
        if problem is not None:
            raise ValueError(problem)
        handlers = StreamHandlers(on_sync, on_event, on_gap, on_error, on_status)
        return self._subscribe(stream_name, group_id, item_id, handlers)

    def collection(
        self,
        stream_name: str,
        group_id: str,
        *,
        id_of: Callable[[Any], str | None] | None = None,
        on_change: Callable[[CollectionChange], object] | None = None,
        on_gap: Callable[[StreamGap], object] | None = None,
        on_error: Callable[[CallError], object] | None = None,
        on_status: Callable[[SubscriptionStatus], object] | None = None,
    ) -> StreamCollection:
        """Joins a group and keeps an up-to-date copy of its items by id.

        Args:
            id_of: Returns the id of an item, if the engine does not send ids. Default: its member ``id``.
            on_change: As the listener of ``on_change`` of the collection, from the first sync on.
            on_gap: As in ``subscribe``, like the remaining ones.
        """
        problem = name_problem(stream_name, "stream_name") or name_problem(group_id, "group_id")
        if problem is not None:
            raise ValueError(problem)
        return StreamCollection(
            lambda handlers: self._subscribe(stream_name, group_id, None, handlers),
            bridge=self._bridge,
            log=self._log,
            id_of=id_of,
            on_change=on_change,
            on_gap=on_gap,
            on_error=on_error,
            on_status=on_status,
        )

    def close(self) -> None:
        """Leaves all subscriptions and closes the connection. Does nothing the second time.

        Returns after 20 seconds at most. Waits until the client is closed, also if another thread closes it.

        Raises:
            RuntimeError: called on the client's event loop (inside a handler).
        """
        if self._loop.is_current():
            raise RuntimeError("close() ends the event loop of its client, so a handler cannot call it")
        if not self._closing.acquire(blocking=False):
            self._closed.wait(2 * _CLOSE_TIMEOUT_S)
            return
        try:
            self._loop.start(self._conversation.close()).result(_CLOSE_TIMEOUT_S)
        except concurrent.futures.TimeoutError:
            self._log.error("the client did not close in time; disconnecting", timeout_s=_CLOSE_TIMEOUT_S)
        finally:
            self._loop.stop(_CLOSE_TIMEOUT_S)
            self._closed.set()

    async def close_async(self) -> None:
        """As ``close``, for event loops."""
        await asyncio.to_thread(self.close)

    def __enter__(self) -> StreamClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> StreamClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close_async()

    def _subscribe(
        self, stream_name: str, group_id: str, item_id: str | None, handlers: StreamHandlers
    ) -> StreamSubscription:
        subscription = StreamSubscription(stream_name, group_id, item_id, handlers=handlers, loop=self._loop)
        if not self._loop.is_running():
            raise CallError("draining", "the client was closed; nothing can be joined any more")
        self._loop.do(lambda: self._conversation.add(subscription))
        return subscription


def _item_problem(item_id: object) -> str | None:
    if item_id is None:
        return None
    if isinstance(item_id, str) and 1 <= len(item_id.encode("utf-8", "replace")) <= _MAX_ITEM_ID_BYTES:
        return None
    return f"item_id must be a string of 1 to {_MAX_ITEM_ID_BYTES} bytes"
