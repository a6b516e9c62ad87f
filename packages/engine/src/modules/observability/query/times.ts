const NANOS_PER_MS = 1_000_000n;

/** Milliseconds with a fraction. Exact to some 0.2 microseconds for times of today. */
export function millisOf(unixNano: bigint): number {
  return Number(unixNano / NANOS_PER_MS) + Number(unixNano % NANOS_PER_MS) / 1e6;
}

export function durationMs(startUnixNano: bigint, endUnixNano: bigint): number {
  return millisOf(endUnixNano - startUnixNano);
}
