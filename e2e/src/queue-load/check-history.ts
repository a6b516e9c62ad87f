import type { End, History, Start } from "./journal.ts";
import { MAX_ATTEMPTS, ORDERED_LANES, poisonText } from "./plan.ts";

/** A dead-letter entry, as the queue lists it. */
export interface DeadLetter {
  readonly name: string;
  readonly error: string;
}

/** Contents of the queues at the end. */
export interface Final {
  readonly waiting: number;
  readonly dead: readonly DeadLetter[];
}

/**
 * Returns the problems of a history, one sentence each. There are none if
 *
 * - no job is waiting, delayed or running;
 * - each acknowledged job succeeded in a worker, or is in the dead-letter queue with its permanent error, or because its
 *   last attempt was lost with the killed worker;
 * - no job that can succeed is dead, and none is both dead and done;
 * - in each group, no job started after a later one.
 */
export function problemsOf(history: History, final: Final, killedWorker?: string): string[] {
  const problems: string[] = [];
  if (final.waiting > 0) problems.push(`${final.waiting} jobs are neither done nor dead`);
  const done = new Set(history.ends.filter(({ ok }) => ok).map(({ name }) => name));
  const dead = new Map(final.dead.map(({ name, error }) => [name, error]));
  for (const name of history.acks)
    if (!done.has(name) && !dead.has(name)) problems.push(`${name} was acknowledged and is lost`);
  const poison = new Set(history.starts.filter(({ kind }) => kind === "poison").map(({ name }) => name));
  for (const [name, error] of dead) {
    if (!poison.has(name)) problems.push(`${name} is dead and need not be: ${error}`);
    else if (!error.includes(poisonText(name)) && !isEndOf(killedWorker, error))
      problems.push(`${name} is dead, but not with its true error: ${error}`);
    if (done.has(name)) problems.push(`${name} is dead and done`);
  }
  checkOrder(history.starts, problems);
  return problems;
}

function isEndOf(worker: string | undefined, error: string): boolean {
  return worker !== undefined && error.includes(`the worker's connection ended (${worker})`);
}

/** Additional conditions if nothing was killed: each job runs only as often as required, and jobs of a group do not overlap. */
export function problemsWithoutFaults(history: History, final: Final): string[] {
  const problems = problemsOf(history, final);
  if (history.failures.size > 0) problems.push(`${history.failures.size} jobs were not accepted`);
  const runs = new Map<string, number>();
  for (const { name } of history.starts) runs.set(name, (runs.get(name) ?? 0) + 1);
  for (const { name, kind } of new Map(history.starts.map((start) => [start.name, start])).values()) {
    const wanted = kind === "poison" ? MAX_ATTEMPTS : kind === "flaky" ? 2 : 1;
    if (runs.get(name) !== wanted) problems.push(`${name} is ${kind} and was run ${runs.get(name)} times`);
  }
  checkOverlaps(history, problems);
  return problems;
}

/** Runs beyond the required number for its kind. */
export function repetitions(history: History): number {
  const well = history.ends.filter(({ ok }) => ok);
  return well.length - new Set(well.map(({ name }) => name)).size;
}

/** Only jobs of groups have an order. */
function isOrdered({ group }: Start): boolean {
  return Number(group.split("/")[1]) < ORDERED_LANES;
}

function checkOrder(starts: readonly Start[], problems: string[]): void {
  const last = new Map<string, number>();
  for (const start of starts.filter(isOrdered)) {
    const before = last.get(start.group) ?? -1;
    if (start.order < before) problems.push(`${start.name} was run after ${start.group}/${before}`);
    last.set(start.group, Math.max(before, start.order));
  }
}

function checkOverlaps({ starts, ends }: History, problems: string[]): void {
  const endOf = new Map<string, End>(ends.map((end) => [`${end.name}#${end.attempt}`, end]));
  const busyUntil = new Map<string, number>();
  for (const start of starts.filter(isOrdered)) {
    if (start.at < (busyUntil.get(start.group) ?? 0))
      problems.push(`${start.name} began while another of its group ran`);
    busyUntil.set(start.group, endOf.get(`${start.name}#${start.attempt}`)?.at ?? Number.POSITIVE_INFINITY);
  }
}
