"""Backoff between attempts to connect."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconnectOptions:
    """Backoff of a worker whose connection was lost or refused.

    Attributes:
        initial_delay_ms: Delay before the first retry.
        multiplier: Factor from one delay to the next.
        max_delay_ms: Maximum delay, jitter included.
        jitter: Fraction of the delay by which it randomly varies, 0 to 1.
        max_attempts: Attempts without a stable connection after which the worker gives up (state ``failed``).
            None: no limit.
    """

    initial_delay_ms: float = 1_000
    multiplier: float = 2
    max_delay_ms: float = 30_000
    jitter: float = 0.3
    max_attempts: int | None = None

    def __post_init__(self) -> None:
        _require("initial_delay_ms", self.initial_delay_ms, 0, 86_400_000)
        _require("multiplier", self.multiplier, 1, 100)
        _require("max_delay_ms", self.max_delay_ms, 0, 86_400_000)
        _require("jitter", self.jitter, 0, 1)
        if self.max_attempts is not None:
            _require("max_attempts", self.max_attempts, 0, 1_000_000_000)


#: Maximum delay before an attempt at another address.
_SOON_S = 0.1


class Backoff:
    """Delays that grow with each attempt until ``reset``."""

    def __init__(self, options: ReconnectOptions, rand: Callable[[], float] = random.random) -> None:
        self._options = options
        self._rand = rand
        self._attempts = 0

    @property
    def attempts(self) -> int:
        """Attempts since the last reset."""
        return self._attempts

    def soon_s(self) -> float:
        """Returns the delay before an attempt at another address: short, but not the same for all workers."""
        return self._rand() * _SOON_S

    def next_delay_s(self) -> float | None:
        """Returns the delay before the next attempt in seconds, or None if no attempt is left."""
        options = self._options
        if options.max_attempts is not None and self._attempts >= options.max_attempts:
            return None
        # The exponent is capped, since after a long outage the power would overflow a float.
        grown = options.initial_delay_ms * options.multiplier ** min(self._attempts, 64)
        capped = min(grown, options.max_delay_ms)
        self._attempts += 1
        return min(options.max_delay_ms, capped + capped * options.jitter * (2 * self._rand() - 1)) / 1_000

    def reset(self) -> None:
        self._attempts = 0


def _require(name: str, value: object, low: float, high: float) -> None:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not low <= value <= high:
        raise ValueError(f"reconnect.{name} must be a number from {low} to {high}, not {value!r}")
