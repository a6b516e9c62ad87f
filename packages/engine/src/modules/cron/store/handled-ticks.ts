// Runs in the store thread as well: no imports beyond types.

/** Ranges that are remembered for each job; see `endRange` for what happens beyond. */
const MAX_RANGES = 16;

/** Ticks from one instant to another, both included. Milliseconds since 1970. */
export type TickRange = readonly [from: number, to: number];

/**
 * Which ticks must not be started, because they were started or were passed over at their time. They are kept as ranges: a range ends only where the
 * clock passed ticks by without a chance to start them, i.e. where it was set, or where engine or worker were away.
 */
export interface HandledTicks {
  /** The current range goes from here to the instant up to which ticks are decided on, which is kept beside it. */
  readonly since: number;
  /** Ranges before it, in order and disjoint. After the clock was set back they lie in the future. */
  readonly ranges: readonly TickRange[];
}

/**
 * Returns `handled` with its current range ended at `until`, and a new one that begins at `since`. Beyond 16 ranges the two earliest become one: ticks
 * between them count as handled. So a tick is never started twice; at worst one that was missed long ago is not started when the clock is set back to it.
 */
export function endRange(handled: HandledTicks, until: number, since: number): HandledTicks {
  if (until < handled.since) return { since, ranges: handled.ranges };
  const ordered = [...handled.ranges, [handled.since, until] as const].sort((a, b) => a[0] - b[0]);
  const ranges: TickRange[] = [];
  for (const range of ordered) {
    const last = ranges.at(-1);
    if (last !== undefined && range[0] <= last[1] + 1) ranges[ranges.length - 1] = [last[0], Math.max(last[1], range[1])];
    else ranges.push(range);
  }
  const [first, second] = ranges;
  if (ranges.length > MAX_RANGES && first !== undefined && second !== undefined) ranges.splice(0, 2, [first[0], second[1]]);
  return { since, ranges };
}

/** Returns the range that `tick` is in. */
export function rangeWith(ranges: readonly TickRange[], tick: number): TickRange | undefined {
  return ranges.find(([from, to]) => from <= tick && tick <= to);
}

/** Returns the first instant that is known to be handled. */
export function firstHandled({ since, ranges }: HandledTicks): number {
  return Math.min(since, ranges[0]?.[0] ?? since);
}
