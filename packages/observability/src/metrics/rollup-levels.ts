import { STEP_MS } from "./time-line.ts";

/** One resolution of stored series. */
export interface Level {
  readonly stepMs: number;
  readonly periods: number;
}

/** The samples themselves: 5 s for 15 min. Each level stores one period more, because the current one is incomplete. */
export const SAMPLES: Level = { stepMs: STEP_MS, periods: 181 };

/** The levels of `engine::rollups::list`, by number: 1 min for 1 h, 5 min for 6 h, 1 h for 7 days. */
export const ROLLUPS: readonly [Level, Level, Level] = [
  { stepMs: 60_000, periods: 61 },
  { stepMs: 300_000, periods: 73 },
  { stepMs: 3_600_000, periods: 169 },
];

const LEVELS: readonly Level[] = [SAMPLES, ...ROLLUPS];
/** Index of a level within a series: 0 for samples, then the rollups. */
export type LevelIndex = 0 | 1 | 2 | 3;

export function levelAt(index: LevelIndex): Level {
  return LEVELS[index] as Level;
}

/** Returns the finest level that reaches from `now` back to `from`, `rounded` to its periods; else the coarsest. */
export function levelFor(from: number, now: number, rounded: (periods: number) => number = Math.round): LevelIndex {
  const found = LEVELS.findIndex(({ stepMs, periods }) => rounded(from / stepMs) > Math.floor(now / stepMs) - periods);
  return (found === -1 ? LEVELS.length - 1 : found) as LevelIndex;
}

export function periodOf(at: number, { stepMs }: Level): number {
  return Math.floor(at / stepMs);
}
