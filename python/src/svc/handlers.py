"""Reads a handler's signature and type hints once, when it is registered."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, get_type_hints

from .context import HandlerContext
from .conversion import convert, wants_conversion
from .schema import Schema, schema_of

#: The handler's arguments. The context is the second argument or has the name ``context``.
_Takes = Literal["nothing", "input", "input and context", "input and named context"]


@dataclass(frozen=True, slots=True)
class Handler:
    function: Callable[..., Any]
    is_async: bool
    takes: _Takes
    input_hint: object
    converts: bool
    request_format: Schema | None
    response_format: Schema | None
    #: Why reading the type hints failed; None if it succeeded.
    hints_problem: str | None

    def input_of(self, payload: object) -> object:
        """Returns the handler's input. Raises CallError ``invalid_input`` if the payload does not match its type."""
        return convert(payload, self.input_hint) if self.converts else payload

    def run(self, input_value: object, context: HandlerContext) -> Any:
        match self.takes:
            case "nothing":
                return self.function()
            case "input":
                return self.function(input_value)
            case "input and context":
                return self.function(input_value, context)
            case "input and named context":
                return self.function(input_value, context=context)


def read_handler(function: Callable[..., Any], what: str) -> Handler:
    """Reads a handler's signature and type hints. Raises TypeError if it cannot be called with (input, context)."""
    if not callable(function):
        raise TypeError(f"the handler of {what} must be callable, not {type(function).__name__}")
    parameters = _parameters(function)
    takes = _takes(parameters, what)
    hints, problem = hints_of(function)
    input_hint: object = Any
    if takes != "nothing":
        first = next(iter(parameters.values()), None)
        input_hint = Any if first is None or first.kind is first.VAR_POSITIONAL else hints.get(first.name, Any)
    return Handler(
        function,
        is_async_function(function),
        takes,
        input_hint,
        wants_conversion(input_hint),
        schema_of(input_hint),
        schema_of(hints["return"]) if "return" in hints else None,
        problem,
    )


def _parameters(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    try:
        return dict(inspect.signature(function).parameters)
    except (TypeError, ValueError):  # some builtins have no signature; they receive only the input
        return {"input": inspect.Parameter("input", inspect.Parameter.POSITIONAL_ONLY)}


def _takes(parameters: dict[str, inspect.Parameter], what: str) -> _Takes:
    positional = [one for one in parameters.values() if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    named = [one for one in parameters.values() if one.kind is one.KEYWORD_ONLY]
    unfilled = [one.name for one in positional[2:] if one.default is one.empty]
    unfilled += [one.name for one in named if one.default is one.empty and one.name != "context"]
    if unfilled:
        raise TypeError(
            f"the handler of {what} requires {', '.join(unfilled)} besides input and context; a handler takes (input) "
            "or (input, context)"
        )
    if any(one.name == "context" for one in named):
        return "input and named context"
    if len(positional) >= 2 and _is_for_context(positional[1]):
        return "input and context"
    if positional or any(one.kind is one.VAR_POSITIONAL for one in parameters.values()):
        return "input"
    return "nothing"


def _is_for_context(parameter: inspect.Parameter) -> bool:
    # A second parameter with a default is not the context, unless its name or type says so.
    if parameter.default is parameter.empty or parameter.name in ("context", "ctx"):
        return True
    return parameter.annotation is HandlerContext or "HandlerContext" in str(parameter.annotation)


def is_async_function(function: Callable[..., Any]) -> bool:
    """Returns True for coroutine functions, including those in ``functools.partial`` or ``__call__`` of an object."""
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def hints_of(function: Callable[..., Any]) -> tuple[dict[str, object], str | None]:
    """Returns the type hints by parameter, and why reading them failed; None if it succeeded."""
    while isinstance(function, functools.partial):
        function = function.func
    function = inspect.unwrap(function)
    if not (inspect.isfunction(function) or inspect.ismethod(function) or inspect.isclass(function)):
        function = getattr(function, "__call__", function)  # noqa: B004 - the hints of a callable object are those of __call__
    try:
        return dict(get_type_hints(function, include_extras=True)), None
    except Exception as cause:  # noqa: BLE001 - hints are user code; their errors must not stop a worker
        return {}, f"{type(cause).__name__}: {cause}"
