from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, cast

import pytest

from svc.context import HandlerContext
from svc.handlers import read_handler

CONTEXT = cast(HandlerContext, object())


class Service:
    def method(self, input: int, context: HandlerContext) -> str:
        return f"{input} {context is CONTEXT}"

    async def __call__(self, input: int) -> str:
        return str(input)


def with_option(input: int, flag: bool = False) -> str:
    return f"{input} {flag}"


def with_default_context(input: int, context: HandlerContext | None = None) -> str:
    return f"{input} {context is CONTEXT}"


def with_keyword(input: int, *, context: HandlerContext) -> str:
    return f"{input} {context is CONTEXT}"


def with_nothing() -> str:
    return "nothing"


def wrapped(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def inner(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return inner


def starred(*args: Any) -> str:
    return f"{args[0]} {len(args)}"


@pytest.mark.parametrize(
    ("handler", "answer"),
    [
        (Service().method, "1 True"),
        (with_option, "1 False"),
        (with_default_context, "1 True"),
        (with_keyword, "1 True"),
        (with_nothing, "nothing"),
        (wrapped(Service().method), "1 True"),
        (functools.partial(Service().method), "1 True"),
        (functools.partial(with_option, flag=True), "1 True"),
        (starred, "1 1"),
        (lambda input: str(input), "1"),
        (str, "1"),
    ],
)
def test_handlers_receive_the_arguments_of_their_signature(handler: Callable[..., Any], answer: str) -> None:
    assert read_handler(handler, "it").run(1, CONTEXT) == answer


def test_async_handlers_are_detected_in_every_form() -> None:
    async def plain(input: object) -> None:
        return None

    for handler in (plain, functools.partial(plain), Service()):
        assert read_handler(cast(Callable[..., Any], handler), "it").is_async
    assert not read_handler(with_option, "it").is_async


def test_formats_come_from_hints_and_unreadable_hints_are_reported() -> None:
    read = read_handler(with_option, "it")
    assert (read.request_format, read.response_format) == ({"type": "integer"}, {"type": "string"})

    def odd(input: Missing) -> None:  # type: ignore[name-defined] # noqa: F821
        return None

    unreadable = read_handler(odd, "it")
    assert unreadable.request_format is None
    assert "Missing" in (unreadable.hints_problem or "")


def test_a_handler_with_further_required_arguments_is_rejected() -> None:
    with pytest.raises(TypeError, match="the handler of it requires more besides input and context"):
        read_handler(lambda input, context, *, more: None, "it")
