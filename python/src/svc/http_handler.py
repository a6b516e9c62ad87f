"""Handlers of ``http`` triggers that may write their answer piece by piece."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any, overload

from .channel_writer import ChannelWriter
from .context import HandlerContext
from .errors import CallError
from .handlers import is_async_function
from .http_request import HttpRequest
from .http_response import HttpResponse, SyncHttpResponse

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
    ones. What the handler writes to it is sent as it comes; the response is ended when the handler returns, and broken
    off when it raises. A handler that writes nothing answers with what it returns, as every other one, with the status
    and headers that it set; None is an empty body, and without status and headers 204.

    Raises:
        TypeError: a handler that cannot be called with two or three arguments.
    """
    wants_context = _wants_context(handler)

    if is_async_function(handler):

        async def run_async(payload: Any, context: HandlerContext) -> Any:
            response = HttpResponse(_writer_of(payload))
            arguments = (HttpRequest.model_validate(payload), response, *((context,) if wants_context else ()))
            try:
                result = await handler(*arguments)
                if response.has_begun:
                    await response.end()
                    return None
            except BaseException:
                if response.has_begun:
                    response.abort()
                raise
            return response.result_with(result)

        return _named_as(handler, run_async)

    def run(payload: Any, context: HandlerContext) -> Any:
        response = SyncHttpResponse(_writer_of(payload))
        arguments = (HttpRequest.model_validate(payload), response, *((context,) if wants_context else ()))
        try:
            result = handler(*arguments)
            if response.has_begun:
                response.end()
                return None
        except BaseException:
            if response.has_begun:
                response.abort()
            raise
        return response.result_with(result)

    return _named_as(handler, run)


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


def _named_as(handler: Callable[..., Any], wrapper: WrappedHandler) -> WrappedHandler:
    # Not functools.wraps: the wrapper's input is what the engine sends, and its hints shall not be the handler's.
    for name in ("__name__", "__qualname__", "__module__", "__doc__"):
        setattr(wrapper, name, getattr(handler, name, None))
    return wrapper
