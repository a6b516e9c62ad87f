"""The blocking methods, which are derived from the async ones."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any, get_args, get_origin, get_type_hints

import pytest

import svc
from svc.blocking import blocking_method, run

FORMS = [
    (helper, name.removesuffix("_async"))
    for helper in (
        svc.State,
        svc.Stream,
        svc.Events,
        svc.Queues,
        svc.Cron,
        svc.Worker,
        svc.HandlerContext,
        svc.ChannelReader,
        svc.ChannelWriter,
        svc.Trigger,
    )
    for name in vars(helper)
    # The blocking forms of these have other parameters, or are not derived.
    if name.endswith("_async") and name not in ("import_async", "read_async", "shutdown_async", "run_async")
]


@pytest.mark.parametrize(("helper", "name"), FORMS, ids=lambda of: of if isinstance(of, str) else of.__name__)
def test_a_blocking_method_has_the_signature_of_its_async_form(helper: type[Any], name: str) -> None:
    form, of = getattr(helper, name), getattr(helper, f"{name}_async")
    assert not inspect.iscoroutinefunction(form)
    assert (form.__name__, form.__qualname__, form.__doc__) == (name, f"{helper.__name__}.{name}", of.__doc__)
    signature, async_signature = inspect.signature(form), inspect.signature(of, eval_str=True)
    assert signature.parameters == async_signature.parameters
    assert signature.return_annotation == _blocking_type(async_signature.return_annotation)


@pytest.mark.parametrize(("helper", "name"), FORMS, ids=lambda of: of if isinstance(of, str) else of.__name__)
def test_a_blocking_method_has_evaluated_type_hints(helper: type[Any], name: str) -> None:
    form, of = getattr(helper, name), getattr(helper, f"{name}_async")
    for hints_of in (get_type_hints, lambda of: inspect.get_annotations(of, eval_str=True)):
        hints, async_hints = hints_of(form), hints_of(of)
        assert hints == {**async_hints, "return": _blocking_type(async_hints["return"])}
    assert inspect.unwrap(form) is form


def _blocking_type(of: Any) -> Any:
    return Iterator[get_args(of)] if get_origin(of) is AsyncIterator else of  # type: ignore[misc]


def test_a_blocking_method_that_suspends_raises() -> None:
    with pytest.raises(RuntimeError, match="suspended"):
        run(asyncio.sleep(0))


def test_a_blocking_method_propagates_exceptions() -> None:
    async def failing() -> None:
        raise KeyError("no more")

    with pytest.raises(KeyError, match="no more"):
        run(failing())


def test_an_event_loop_that_user_code_runs_below_a_blocking_method_is_async() -> None:
    async def inner() -> str | None:
        return blocking_method()

    async def outer() -> tuple[str | None, str | None, str | None]:
        return blocking_method(), asyncio.run(inner()), run(inner(), "worker.inner")

    assert run(outer(), "worker.outer") == ("worker.outer", None, "worker.inner")
    assert blocking_method() is None


def test_a_blocking_method_within_an_event_loop_blocks_it() -> None:
    async def inner() -> str | None:
        return blocking_method()

    async def main() -> tuple[str | None, str | None]:
        return run(inner(), "worker.inner"), await inner()

    assert asyncio.run(main()) == ("worker.inner", None)
