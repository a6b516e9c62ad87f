// What the workers of the load do, decided by the seed alone. `worker.py` holds the same.

export const WORKERS = 4;
/** Of each worker; each has one enqueue under way at a time, so that what it puts on its queue has an order. */
export const LANES = 8;
/** The first lanes of a worker put their jobs on `ordered`, each lane as a group of its own; the others put them on `plain`. */
export const ORDERED_LANES = 6;
export const FUNCTION_ID = "load::run";
/** Of both queues. */
export const MAX_ATTEMPTS = 3;

/** `flaky`: its first attempt fails. `poison`: every attempt does. */
export type Kind = "well" | "flaky" | "poison";

/** One job; its name is `worker/lane/order`. */
export interface JobData {
  readonly name: string;
  /** `worker/lane`. */
  readonly group: string;
  /** Counted from 0 in its lane. */
  readonly order: number;
  readonly kind: Kind;
}

export function jobOf(seed: number, worker: number, lane: number, order: number): JobData {
  const group = `${worker}/${lane}`;
  const chance = (scramble(scramble((seed + worker * 1_000_003 + lane * 7_919 + order * 104_729) >>> 0)) >>> 16) % 100;
  return { name: `${group}/${order}`, group, order, kind: chance < 1 ? "poison" : chance < 6 ? "flaky" : "well" };
}

/** How many jobs a lane puts on its queue, when all lanes of all workers together put `operations`. */
export function jobsOfLane(operations: number): number {
  return Math.ceil(operations / (WORKERS * LANES));
}

/** What a poison job fails with. */
export function poisonText(name: string): string {
  return `poison ${name}`;
}

/** One step of a linear congruential generator modulo 2^32; only the upper bits are any good. */
function scramble(state: number): number {
  return (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
}
