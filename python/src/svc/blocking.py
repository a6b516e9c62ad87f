"""Blocking forms of async methods, derived from them.

A blocking form runs the coroutine of its async method on the calling thread. The coroutine never suspends: while a
blocking form runs, the two places where this SDK waits (``CallClient.finish`` and ``LoopBridge.run``) block the thread.
"""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Iterator
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, Protocol, TypeVar, cast, get_args, get_origin

from .options import unknown_names

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Receiver(Protocol):
    """Class that has blocking methods."""

    #: How users reach the object, for errors, e.g. ``worker.state``.
    _name: ClassVar[str]


Of = TypeVar("Of", bound=Receiver)


class _Active(threading.local):
    """The blocking method that runs on this thread, and the event loop that ran there when it was called."""

    method: str | None = None
    loop: asyncio.AbstractEventLoop | None = None


_active = _Active()


def blocking(
    method: Callable[Concatenate[Of, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Of, Parameters], Result]:
    """Returns the blocking form of a method whose name ends with ``_async``."""
    options = _options_of(method)

    @wraps(method)
    def form(self: Of, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        name = f"{self._name}.{form.__name__}"
        _refuse_unknown(kwargs, options, name)
        return run(method(self, *args, **kwargs), name)

    _describe(form, method)
    return form


def blocking_iterator(
    method: Callable[Concatenate[Of, Parameters], AsyncIterator[Result]],
) -> Callable[Concatenate[Of, Parameters], Iterator[Result]]:
    """Returns the blocking form of an async generator whose name ends with ``_async``."""
    options = _options_of(method)

    @wraps(method)
    def form(self: Of, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Result]:
        name = f"{self._name}.{form.__name__}"
        _refuse_unknown(kwargs, options, name)
        return _blocking_items(method(self, *args, **kwargs), name)

    _describe(form, method)
    return form


def run(work: Coroutine[Any, Any, Result], method: str = "this method") -> Result:
    """Runs the coroutine of a blocking method on this thread. ``method`` names that method in errors."""
    before = _active.method, _active.loop
    _active.method, _active.loop = method, asyncio._get_running_loop()
    try:
        work.send(None)
    except StopIteration as done:
        return cast(Result, done.value)
    finally:
        _active.method, _active.loop = before
    work.close()
    raise RuntimeError("a blocking method was suspended")


def blocking_method() -> str | None:
    """Returns the name of the blocking method that runs on this thread, or None in async code."""
    # User code below a blocking method, e.g. the iterable of an import, may run its own event loop.
    return None if _active.method is None or _active.loop is not asyncio._get_running_loop() else _active.method


def _options_of(method: Callable[..., object]) -> tuple[str, ...]:
    """Returns the names of the parameters that can be given by name."""
    by_position = inspect.Parameter.POSITIONAL_ONLY
    return tuple(
        one.name for one in [*inspect.signature(method).parameters.values()][1:] if one.kind is not by_position
    )


def _refuse_unknown(given: Collection[str], options: tuple[str, ...], method: str) -> None:
    """Raises TypeError for an unknown option. Python's own error would name the async method, and no similar option."""
    unknown = unknown_names(given, options, "option")
    if unknown is not None:
        raise TypeError(f"{method}() has {unknown}")


def _blocking_items(items: AsyncIterator[Result], method: str) -> Iterator[Result]:
    try:
        while True:
            yield run(_next(items), method)
    except StopAsyncIteration:
        return
    finally:
        run(cast(Any, items).aclose(), method)


async def _next(items: AsyncIterator[Result]) -> Result:
    return await items.__anext__()


def _describe(form: Callable[..., object], method: Callable[..., object]) -> None:
    form.__name__ = form.__name__.removesuffix("_async")
    form.__qualname__ = form.__qualname__.removesuffix("_async")
    # The form is defined in this module, in which the type names of the method's module are unknown.
    signature = inspect.signature(method, eval_str=True)
    annotations = inspect.get_annotations(method, eval_str=True)
    returned = annotations["return"]
    origin: object = get_origin(returned)
    if origin is AsyncIterator:
        returned = Iterator[get_args(returned)]  # type: ignore[misc]
    form.__annotations__ = {**annotations, "return": returned}
    form.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    # Set by `wraps`. With it, tools would inspect the async method.
    del form.__wrapped__  # type: ignore[attr-defined]
