let offsetMs = performance.timeOrigin;

/**
 * Returns milliseconds since 1970, with a fraction. It uses the monotonic clock, because that has a higher resolution
 * than the system clock. When the system clock is set, the offset between both is computed again.
 */
export function wallTimeMs(): number {
  const fineMs = performance.now() + offsetMs;
  const coarseMs = Date.now();
  if (Math.abs(fineMs - coarseMs) <= 2) return fineMs;
  offsetMs += coarseMs - fineMs;
  return coarseMs;
}

/**
 * Formats a time for OTLP, as nanoseconds in decimal digits. The last three digits are zero, because a double has
 * microseconds exactly but not nanoseconds.
 */
export function nanosOf(timeMs: number): string {
  return `${Math.round(timeMs * 1000)}000`;
}
