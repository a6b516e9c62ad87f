// The operations of the load's workers, derived from the seed. `worker.py` has the same code.

export const WORKERS = 4;
/** Lanes per worker. Each has one enqueue in flight at a time, so that the jobs on its queue have an order. */
export const LANES = 8;
/**
 * The first lanes of a worker add their jobs to `ordered`, each lane as its own group. The others add them to `plain`.
 */
export const ORDERED_LANES = 6;
export const FUNCTION_ID = "load::run";
/** Maximum attempts of both queues. */
export const MAX_ATTEMPTS = 3;

/** `flaky`: its first attempt fails. `poison`: every attempt does. */
export type Kind = "well" | "flaky" | "poison";

/** One job. Its name is `worker/lane/order`. */
export interface JobData {
  readonly name: string;
  /** `worker/lane`. */
  readonly group: string;
  /** Index in its lane, from 0. */
  readonly order: number;
  readonly kind: Kind;
}

export function jobOf(seed: number, worker: number, lane: number, order: number): JobData {
  const group = `${worker}/${lane}`;
  const chance = (scramble(scramble((seed + worker * 1_000_003 + lane * 7_919 + order * 104_729) >>> 0)) >>> 16) % 100;
  return { name: `${group}/${order}`, group, order, kind: chance < 1 ? "poison" : chance < 6 ? "flaky" : "well" };
}

/** Returns the number of jobs of a lane, if all lanes of all workers together add `operations` jobs. */
export function jobsOfLane(operations: number): number {
  return Math.ceil(operations / (WORKERS * LANES));
}

/** Error of a poison job. */
export function poisonText(name: string): string {
  return `poison ${name}`;
}

/** One step of a linear congruential generator modulo 2^32. Only the upper bits are random enough. */
function scramble(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}
