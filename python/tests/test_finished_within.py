from __future__ import annotations

import asyncio

import pytest

from svc.finished_within import finished_within


async def _fails() -> None:
    raise ValueError("no")


def test_reports_whether_work_finished_in_time() -> None:
    async def check() -> None:
        assert await finished_within(asyncio.sleep(0), 60)
        assert not await finished_within(asyncio.sleep(60), 0.01)
        with pytest.raises(ValueError, match="no"):
            await finished_within(_fails(), 60)

    asyncio.run(check())


def test_does_not_wait_for_work_that_ignores_its_cancellation() -> None:
    async def check() -> None:
        ended = asyncio.Event()

        async def ignores_its_cancellation() -> None:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                await ended.wait()

        assert not await finished_within(ignores_its_cancellation(), 0.01)
        ended.set()

    asyncio.run(asyncio.wait_for(check(), 20))
