import { STEP_MS } from "./time-line.ts";

/** One resolution of stored series. */
export interface Level {
  readonly stepMs: number;
  readonly periods: number;
}

/**
 * Level of the samples themselves: 5 s for 15 min. Each level has one period more than that, because the current period
 * is incomplete.
 */
export const SAMPLES: Level = { stepMs: STEP_MS, periods: 181 };

/**
 * The levels of `engine::rollups::list` by number. Level 0: 1 min for 1 h. Level 1: 5 min for 6 h. Level 2: 1 h for 7
 * days.
 */
export const ROLLUPS: readonly [Level, Level, Level] = [
  { stepMs: 60_000, periods: 61 },
  { stepMs: 300_000, periods: 73 },
  { stepMs: 3_600_000, periods: 169 },
];

const LEVELS: readonly Level[] = [SAMPLES, ...ROLLUPS];
/** Index of a level within a series: 0 for samples, 1 to 3 for the rollups. */
export type LevelIndex = 0 | 1 | 2 | 3;

export function levelAt(index: LevelIndex): Level {
  return LEVELS[index] as Level;
}

/**
 * Returns the finest level whose periods reach back from `now` to `from`, or the coarsest level if none does. `rounded`
 * rounds `from` to a period.
 */
export function levelFor(from: number, now: number, rounded: (periods: number) => number = Math.round): LevelIndex {
  const found = LEVELS.findIndex(({ stepMs, periods }) => rounded(from / stepMs) > Math.floor(now / stepMs) - periods);
  return (found === -1 ? LEVELS.length - 1 : found) as LevelIndex;
}

export function periodOf(at: number, { stepMs }: Level): number {
  return Math.floor(at / stepMs);
}
