from __future__ import annotations

import threading
import weakref

from svc import handler_pool as pool_module
from svc.handler_pool import HandlerPool


def test_work_starts_in_order_within_the_concurrency_limit() -> None:
    pool = HandlerPool(1, name="t")
    begun: list[int] = []
    done = threading.Event()
    for number in range(100):
        pool.run(lambda number=number: begun.append(number))  # type: ignore[misc]
    pool.run(done.set)
    assert done.wait(10)
    assert begun == list(range(100))
    pool.close()


def test_two_work_items_get_two_threads_when_one_is_idle() -> None:
    pool = HandlerPool(2, name="t")
    warm = threading.Event()
    pool.run(warm.set)
    assert warm.wait(10)
    together = threading.Barrier(3)

    def meet() -> None:
        together.wait(10)

    for _ in range(2):
        pool.run(meet)
    together.wait(10)
    pool.close()


def test_an_idle_thread_holds_no_reference_to_its_last_work() -> None:
    class Payload:
        pass

    pool = HandlerPool(1, name="t")
    payload, freed = Payload(), threading.Event()
    weakref.finalize(payload, freed.set)
    pool.run(lambda payload=payload: None)  # type: ignore[misc]
    del payload
    assert freed.wait(10)
    pool.close()


def test_a_released_slot_goes_to_the_next_in_line() -> None:
    pool = HandlerPool(1, name="t")
    second_ran = threading.Event()
    outcome: list[bool] = []
    done = threading.Event()

    def first() -> None:
        with pool.slot_released():
            outcome.append(second_ran.wait(10))
        done.set()

    pool.run(first)
    pool.run(second_ran.set)
    assert done.wait(10)
    assert outcome == [True]
    pool.close()


def test_nested_work_runs_first_and_is_rejected_at_the_limit() -> None:
    pool = HandlerPool(1, name="t")
    order: list[str] = []
    release, done = threading.Event(), threading.Event()

    def hold() -> None:
        release.wait(10)

    pool.run(hold)
    pool.run(lambda: order.append("other"))
    assert pool.run_nested(lambda: order.append("nested"))
    pool.run(done.set)
    release.set()
    assert done.wait(10)
    assert order == ["nested", "other"]
    pool._waiting = pool_module.MAX_WAITING
    assert not pool.run_nested(lambda: None)
    pool.close()
    pool.run(lambda: order.append("after the end"))
    assert order == ["nested", "other"]
