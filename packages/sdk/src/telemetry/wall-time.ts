let offsetMs = performance.timeOrigin;

/** Milliseconds since 1970 with a fraction. Goes with the monotonic clock, which is finer than the system's, and follows that one when it is set. */
export function wallTimeMs(): number {
  const fineMs = performance.now() + offsetMs;
  const coarseMs = Date.now();
  if (Math.abs(fineMs - coarseMs) <= 2) return fineMs;
  offsetMs += coarseMs - fineMs;
  return coarseMs;
}

/** As OTLP writes times: nanoseconds in decimal digits. Microseconds are what a double holds exactly. */
export function nanosOf(timeMs: number): string {
  return `${Math.round(timeMs * 1000)}000`;
}
