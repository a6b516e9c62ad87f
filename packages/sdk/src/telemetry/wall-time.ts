let offsetMs = performance.timeOrigin;

/**
 * Returns milliseconds since 1970, with a fraction. Uses the monotonic clock, which has a higher resolution than the
 * system clock, and resynchronises when the system clock is set.
 */
export function wallTimeMs(): number {
  const fineMs = performance.now() + offsetMs;
  const coarseMs = Date.now();
  if (Math.abs(fineMs - coarseMs) <= 2) return fineMs;
  offsetMs += coarseMs - fineMs;
  return coarseMs;
}

/** Formats a time for OTLP: nanoseconds in decimal digits. A double represents microseconds exactly. */
export function nanosOf(timeMs: number): string {
  return `${Math.round(timeMs * 1000)}000`;
}
