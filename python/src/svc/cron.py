"""``worker.cron``: schedules, managed by the engine's module ``svc-cron``."""

from __future__ import annotations

from typing import cast

from .blocking import blocking
from .call_client import ModuleClient, all_pages
from .cron_types import CronRun, CronSchedule, CronStanding, CronTriggered

# Within the class `list` is a method.
_Runs = list[CronRun]
_Schedules = list[CronSchedule]
_PAGE_SIZE = 1_000


class Cron(ModuleClient):
    """Every method has an ``_async`` form, for async handlers and other event loops.

    ``worker.register_trigger`` with the type ``cron`` creates a schedule; the id of the ``Trigger`` is the
    ``trigger_id`` here. Pauses and past runs belong to the function with its schedule and survive restarts of the
    worker and the engine.

    All raise CallError as ``worker.call`` does: ``function_not_found`` if the engine does not run ``svc-cron``,
    ``NOT_FOUND`` if there is no such trigger.
    """

    _name = "worker.cron"

    async def list_async(self) -> _Schedules:
        """Returns all cron triggers with their next five runs and their last one."""
        fetched = all_pages(lambda cursor: self._call("cron::list", cursor=cursor, limit=_PAGE_SIZE), "triggers")
        return [schedule async for schedule in fetched]

    list = blocking(list_async)

    async def history_async(self, trigger_id: str, *, limit: int | None = None) -> _Runs:
        """Returns the last runs, the latest first. ``limit``: 1 to 100, default 20."""
        return cast(_Runs, (await self._call("cron::history", trigger_id=trigger_id, limit=limit))["runs"])

    history = blocking(history_async)

    async def trigger_now_async(self, trigger_id: str, *, timeout_ms: int | None = None) -> CronTriggered:
        """Runs a trigger now, paused or not, and returns when the run has ended.

        A function that fails raises nothing here: ``outcome`` is ``error`` then, and ``error`` says why.
        ``timeout_ms``: maximum wait; the run continues afterwards.
        """
        result = await self._call("cron::trigger_now", timeout_ms=timeout_ms, trigger_id=trigger_id)
        return cast(CronTriggered, result)

    trigger_now = blocking(trigger_now_async)

    async def pause_async(self, trigger_id: str) -> CronStanding:
        """Stops starting runs until ``resume``, across restarts."""
        return cast(CronStanding, await self._call("cron::pause", trigger_id=trigger_id))

    pause = blocking(pause_async)

    async def resume_async(self, trigger_id: str) -> CronStanding:
        """Continues with the next tick. Ticks missed during the pause are skipped."""
        return cast(CronStanding, await self._call("cron::resume", trigger_id=trigger_id))

    resume = blocking(resume_async)
