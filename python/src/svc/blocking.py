"""Blocking forms of async methods, made from them."""

from __future__ import annotations

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar, cast, get_args, get_origin

from .helper_calls import HelperCalls

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Helper:
    """Base of ``worker.state`` and the like. Their async methods wait for the engine by ``self._calls`` only."""

    #: Name of the worker's attribute.
    _name: ClassVar[str]

    def __init__(self, calls: HelperCalls) -> None:
        self._calls = calls


Of = TypeVar("Of", bound=Helper)


def blocking(
    method: Callable[Concatenate[Of, Parameters], Coroutine[Any, Any, Result]],
) -> Callable[Concatenate[Of, Parameters], Result]:
    """Makes the blocking form of a method whose name ends with ``_async``."""

    @wraps(method)
    def form(self: Of, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        return run(method(_blocking(self, form), *args, **kwargs))

    _describe(form, method)
    return form


def blocking_iterator(
    method: Callable[Concatenate[Of, Parameters], AsyncIterator[Result]],
) -> Callable[Concatenate[Of, Parameters], Iterator[Result]]:
    """As ``blocking``, for async generators."""

    @wraps(method)
    def form(self: Of, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Iterator[Result]:
        items = method(_blocking(self, form), *args, **kwargs)
        try:
            while True:
                yield run(_next(items))
        except StopAsyncIteration:
            return
        finally:
            run(cast(Any, items).aclose())

    _describe(form, method)
    return form


def run(work: Coroutine[Any, Any, Result]) -> Result:
    """Runs a coroutine that never suspends, because all that it waits for blocks the thread."""
    try:
        work.send(None)
    except StopIteration as done:
        return cast(Result, done.value)
    work.close()
    raise RuntimeError("a blocking method was suspended")


async def _next(items: AsyncIterator[Result]) -> Result:
    return await items.__anext__()


def _blocking(helper: Of, form: Callable[..., object]) -> Of:
    """A copy of the helper with calls that block. ``form`` is refused by its name on the worker's event loop."""
    copied = copy.copy(helper)
    copied._calls = helper._calls.blocking(f"{helper._name}.{form.__name__}")
    return copied


def _describe(form: Callable[..., object], method: Callable[..., object]) -> None:
    form.__name__ = form.__name__.removesuffix("_async")
    form.__qualname__ = form.__qualname__.removesuffix("_async")
    # The form is not defined in the module of the method, in which the names of types have their meaning.
    signature = inspect.signature(method, eval_str=True)
    annotations = inspect.get_annotations(method, eval_str=True)
    returned = annotations["return"]
    origin: object = get_origin(returned)
    if origin is AsyncIterator:
        returned = Iterator[get_args(returned)]  # type: ignore[misc]
    form.__annotations__ = {**annotations, "return": returned}
    form.__signature__ = signature.replace(return_annotation=returned)  # type: ignore[attr-defined]
    # Set by `wraps`: tools would take the async method for what is called.
    del form.__wrapped__  # type: ignore[attr-defined]
