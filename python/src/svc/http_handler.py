"""Handlers of ``http`` triggers that may stream their response."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, overload

from .blocking import run
from .channel_writer import ChannelWriter
from .context import HandlerContext
from .errors import CallError
from .handlers import is_async_function
from .http_request import HttpRequest
from .http_response import HttpResponse, StreamedResponse, SyncHttpResponse

WrappedHandler = Callable[[Any, HandlerContext], Any]


@overload
def http(handler: Callable[[HttpRequest, HttpResponse], Awaitable[object]]) -> WrappedHandler: ...
@overload
def http(handler: Callable[[HttpRequest, HttpResponse, HandlerContext], Awaitable[object]]) -> WrappedHandler: ...
@overload
def http(handler: Callable[[HttpRequest, SyncHttpResponse], object]) -> WrappedHandler: ...
@overload
def http(handler: Callable[[HttpRequest, SyncHttpResponse, HandlerContext], object]) -> WrappedHandler: ...
def http(handler: Callable[..., Any]) -> WrappedHandler:
    """Decorator below ``@worker.function``, for handlers ``(request, response)`` or ``(request, response, context)``.

    ``request`` is a ``HttpRequest``; ``response`` a ``HttpResponse`` in async handlers, a ``SyncHttpResponse`` in sync
    ones. What the handler writes is sent immediately. The response ends when the handler returns, and is aborted when
    it raises. If a handler writes nothing, its return value is the response, as in other handlers, with the status and
    headers that it set. None is an empty body; without status and headers, the status is 204.

    Raises:
        TypeError: the handler cannot be called with two or three arguments.
    """
    wants_context = _wants_context(handler)
    is_async = is_async_function(handler)

    async def respond(payload: Any, context: HandlerContext, response: StreamedResponse) -> Any:
        arguments = (HttpRequest.model_validate(payload), response, *((context,) if wants_context else ()))
        try:
            result = handler(*arguments)
            if is_async:
                result = await result
            if response.has_begun:
                await response._end()
                return None
        except BaseException:
            if response.has_begun:
                response.abort()
            raise
        return response.result_with(result)

    async def run_async(payload: Any, context: HandlerContext) -> Any:
        return await respond(payload, context, HttpResponse(_writer_of(payload)))

    def run_sync(payload: Any, context: HandlerContext) -> Any:
        return run(respond(payload, context, SyncHttpResponse(_writer_of(payload))), "response.end")

    wrapper: WrappedHandler = run_async if is_async else run_sync
    # Not functools.wraps: the wrapper's input is the engine's payload, so it must not get the handler's type hints.
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(wrapper, name, getattr(handler, name, None))
    return wrapper


def _writer_of(payload: object) -> ChannelWriter | None:
    writer = payload.get("response") if isinstance(payload, dict) else None
    if writer is not None and not isinstance(writer, ChannelWriter):
        raise CallError("invalid_input", "`response` of an HTTP request must be the writing end of a channel")
    return writer


def _wants_context(handler: Callable[..., Any]) -> bool:
    if not callable(handler):
        raise TypeError(f"http wraps a handler (request, response), not {type(handler).__name__}")
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = inspect.signature(handler).parameters.values()
    positional = [one for one in parameters if one.kind in kinds]
    unfilled = [one.name for one in positional[3:] if one.default is one.empty]
    unfilled += [one.name for one in parameters if one.kind is one.KEYWORD_ONLY and one.default is one.empty]
    takes_any = any(one.kind is one.VAR_POSITIONAL for one in parameters)
    if unfilled or (len(positional) < 2 and not takes_any):
        raise TypeError("a handler wrapped by http takes (request, response) or (request, response, context)")
    return len(positional) >= 3 and positional[2].default is inspect.Parameter.empty
