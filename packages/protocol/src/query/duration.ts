const UNITS: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
};

/**
 * Parses a duration such as `200ms`, `1.5s`, `455µs`, `2min`, `250` (milliseconds). Returns milliseconds, or undefined
 * if it is invalid.
 */
export function durationMs(text: string): number | undefined {
  const parts = /^(\d+(?:\.\d+)?)\s*(\p{L}*)$/u.exec(text.trim());
  if (parts === null) return undefined;
  const factor = UNITS[parts[2] === "" ? "ms" : (parts[2] as string).toLowerCase().replace("μ", "µ")];
  return factor === undefined ? undefined : Number(parts[1]) * factor;
}
