"""A worker whose module clients only have the ``_async`` methods, under the names of the blocking ones."""

from __future__ import annotations

from typing import Any

import svc


class AsyncForms:
    class _Of:
        def __init__(self, helper: Any) -> None:
            self._helper = helper

        def __getattr__(self, name: str) -> Any:
            return getattr(self._helper, f"{name}_async")

    def __init__(self, worker: svc.Worker) -> None:
        self._worker = worker

    def __getattr__(self, name: str) -> Any:
        return AsyncForms._Of(getattr(self._worker, name))
