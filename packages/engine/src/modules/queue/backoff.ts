import type { BackoffSettings } from "./queue-settings.ts";

/** How long a job waits after its failed attempt `attempt`, counted from 1, in milliseconds. */
export function retryDelayMs({ type, baseMs, capMs, jitter }: BackoffSettings, attempt: number, random: () => number = Math.random): number {
  const factor = type === "exponential" ? 2 ** Math.min(attempt - 1, 52) : type === "linear" ? attempt : 1;
  const wanted = Math.min(capMs, baseMs * factor);
  return Math.round(Math.min(capMs, wanted * (1 - jitter + 2 * jitter * random())));
}

const FIRST_WAIT_MS = 200;
const LONGEST_WAIT_MS = 30_000;

/** How long something that is no fault of a job is left alone after `tries`, counted from 1: 200 ms doubling to 30 s, each a tenth more or less. */
export function waitMs(tries: number, random: () => number = Math.random): number {
  return retryDelayMs({ type: "exponential", baseMs: FIRST_WAIT_MS, capMs: LONGEST_WAIT_MS, jitter: 0.1 }, tries, random);
}
