"""``worker.cron``: schedules, kept by the engine's module ``svc-cron``."""

from __future__ import annotations

from typing import cast

from . import cron_requests as requests
from .blocking import Helper, blocking
from .cron_types import CronPage, CronRun, CronSchedule, CronStanding, CronTriggered

# Within the class `list` is a method.
_Runs = list[CronRun]
_Schedules = list[CronSchedule]
_PAGE_SIZE = 1_000


class Cron(Helper):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    A schedule is made by ``worker.register_trigger`` with the type ``cron``; the id of the ``Trigger`` is the
    ``trigger_id`` here. Pauses and last runs belong to the function with its schedule and outlive restarts of both.

    All raise CallError as ``worker.call`` does: ``function_not_found`` where the engine does not run ``svc-cron``,
    ``NOT_FOUND`` where there is no such trigger.
    """

    _name = "cron"

    async def list_async(self) -> _Schedules:
        """All cron triggers with their next five runs and their last one."""
        schedules: _Schedules = []
        cursor: str | None = None
        while True:
            page = cast(CronPage, await self._calls.call(requests.list_(cursor, _PAGE_SIZE)))
            schedules += page["triggers"]
            cursor = page["cursor"]
            if cursor is None:
                return schedules

    list = blocking(list_async)

    async def history_async(self, trigger_id: str, *, limit: int | None = None) -> _Runs:
        """The last runs, the latest first: 1 to 100, default 20."""
        return cast(_Runs, (await self._calls.call(requests.history(trigger_id, limit)))["runs"])

    history = blocking(history_async)

    async def trigger_now_async(self, trigger_id: str, *, timeout_ms: int | None = None) -> CronTriggered:
        """Runs a trigger now, paused or not, and returns when the run has ended.

        A function that fails is no error here: ``outcome`` is ``error`` then, and ``error`` says why.
        ``timeout_ms``: how long to wait for that; the run goes on behind it.
        """
        return cast(CronTriggered, await self._calls.call(requests.trigger_now(trigger_id, timeout_ms)))

    trigger_now = blocking(trigger_now_async)

    async def pause_async(self, trigger_id: str) -> CronStanding:
        """Starts no tick until ``resume``, over restarts too."""
        return cast(CronStanding, await self._calls.call(requests.pause(trigger_id)))

    pause = blocking(pause_async)

    async def resume_async(self, trigger_id: str) -> CronStanding:
        """Goes on with the next tick; what came due meanwhile is not caught up."""
        return cast(CronStanding, await self._calls.call(requests.resume(trigger_id)))

    resume = blocking(resume_async)
