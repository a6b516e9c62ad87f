import { STEP_MS } from "./time-line.ts";

/** One resolution in which series are kept. */
export interface Level {
  /** Length of a period, in milliseconds. */
  readonly stepMs: number;
  /** How many periods are kept. */
  readonly periods: number;
}

/** The samples themselves: 5 s for 15 min. Here and below one period more is kept, since the present one is not over. */
export const SAMPLES: Level = { stepMs: STEP_MS, periods: 181 };

/** The levels of `engine::rollups::list`, by their number: 1 min for 1 h, 5 min for 6 h, 1 h for 7 days. */
export const ROLLUPS: readonly [Level, Level, Level] = [
  { stepMs: 60_000, periods: 61 },
  { stepMs: 300_000, periods: 73 },
  { stepMs: 3_600_000, periods: 169 },
];

const LEVELS: readonly Level[] = [SAMPLES, ...ROLLUPS];
/** Index of a level in what a series keeps: 0 for samples, then those of rollups. */
export type LevelIndex = 0 | 1 | 2 | 3;

export function levelAt(index: LevelIndex): Level {
  return LEVELS[index] as Level;
}

/** The finest level that reaches back from `now` to `from`, `rounded` to its periods; the coarsest where none does. */
export function levelFor(from: number, now: number, rounded: (periods: number) => number = Math.round): LevelIndex {
  const found = LEVELS.findIndex(({ stepMs, periods }) => rounded(from / stepMs) > Math.floor(now / stepMs) - periods);
  return (found === -1 ? LEVELS.length - 1 : found) as LevelIndex;
}

export function periodOf(at: number, { stepMs }: Level): number {
  return Math.floor(at / stepMs);
}
