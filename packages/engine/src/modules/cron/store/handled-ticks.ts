// This file also runs in the store thread, so it imports nothing but types.

/** Maximum ranges per job; see `endRange`. */
const MAX_RANGES = 16;

/** Ticks from one time to another, both included. Milliseconds since 1970. */
export type TickRange = readonly [from: number, to: number];

/**
 * Ticks that must not start, because they were started, or were skipped at their time. They are stored as ranges. A
 * range ends only before ticks that could not start, because the clock was set or because the engine or the worker was
 * away.
 */
export interface HandledTicks {
  /**
   * Start of the current range. The range ends at the time up to which ticks are decided, which is stored separately.
   */
  readonly since: number;
  /** Earlier ranges, in order and disjoint. They may be in the future after the clock was set back. */
  readonly ranges: readonly TickRange[];
}

/**
 * Returns `handled` with its current range ended at `until` and a new range that starts at `since`. If there are more
 * than 16 ranges, the two earliest are merged, and the ticks between them count as handled. The merge starts no tick
 * twice. But a tick that was missed long ago does not start if the clock is set back to it.
 */
export function endRange(handled: HandledTicks, until: number, since: number): HandledTicks {
  if (until < handled.since) return { since, ranges: handled.ranges };
  const ordered = [...handled.ranges, [handled.since, until] as const].sort((a, b) => a[0] - b[0]);
  const ranges: TickRange[] = [];
  for (const range of ordered) {
    const last = ranges.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1)
      ranges[ranges.length - 1] = [last[0], Math.max(last[1], range[1])];
    else ranges.push(range);
  }
  const [first, second] = ranges;
  if (ranges.length > MAX_RANGES && first !== undefined && second !== undefined)
    ranges.splice(0, 2, [first[0], second[1]]);
  return { since, ranges };
}

/** Returns the range that contains `tick`. */
export function rangeWith(ranges: readonly TickRange[], tick: number): TickRange | undefined {
  return ranges.find(([from, to]) => from <= tick && tick <= to);
}

/** Returns the first time that is handled. */
export function firstHandled({ since, ranges }: HandledTicks): number {
  return Math.min(since, ranges[0]?.[0] ?? since);
}
