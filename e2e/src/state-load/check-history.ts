import { isDeepStrictEqual } from "node:util";
import type { Ack, History, ToldEvent } from "./journal.ts";

/** An item at the end. */
export interface FinalItem {
  readonly key: string;
  readonly version: number;
  readonly value: unknown;
}

/** Returns the last version that each key's watcher received. */
export function toldTo(history: History): ReadonlyMap<string, number> {
  const told = new Map<string, number>();
  for (const { key, version } of history.events) told.set(key, version);
  return told;
}

/**
 * Returns the problems of a history, one sentence each. There are none if
 *
 * - no two acknowledged writes of a key have the same version, and none has a version that the key has not reached:
 *   nothing acknowledged was lost;
 * - the watcher of each key received the versions 1, 2, 3 ... up to the last, for the first time in this order (so versions
 *   have no gap and no event is missing), and between them only repetitions of the last version, with the same content;
 * - each event's new value is that of the acknowledged write of this version, and its old value is the new value of the
 *   previous version;
 * - the item at the end is equal to the last event.
 */
export function problemsOf(history: History, items: readonly FinalItem[]): string[] {
  const problems: string[] = [];
  const first = firstTold(history.events, problems);
  checkAcks(history.acks, items, first, problems);
  for (const item of items) checkEvents(item, first.get(item.key) ?? [], problems);
  const keys = new Set(items.map(({ key }) => key));
  for (const key of first.keys()) if (!keys.has(key)) problems.push(`events tell of ${key}, which is not there`);
  return problems;
}

function checkAcks(
  acks: readonly Ack[],
  items: readonly FinalItem[],
  first: ReadonlyMap<string, readonly ToldEvent[]>,
  problems: string[],
): void {
  const final = new Map(items.map(({ key, version }) => [key, version]));
  const seen = new Set<string>();
  for (const { key, version, value } of acks) {
    const name = `${key}@${version}`;
    const reached = final.get(key) ?? 0;
    if (seen.has(name)) problems.push(`two writes were acknowledged as ${name}`);
    seen.add(name);
    if (version > reached) problems.push(`${name} was acknowledged, but the item is at version ${reached}`);
    const event = first.get(key)?.[version - 1];
    if (event !== undefined && !isDeepStrictEqual(event.value, value))
      problems.push(`${name} was acknowledged with another value than its event had`);
  }
}

function checkEvents({ key, version, value }: FinalItem, events: readonly ToldEvent[], problems: string[]): void {
  if (events.length !== version)
    problems.push(`${key} is at version ${version}, but events were reported up to ${events.length}`);
  else if (!isDeepStrictEqual(events[version - 1]?.value, value))
    problems.push(`${key} is not what its last event said`);
  for (const [at, event] of events.entries()) {
    if (event.type !== (at === 0 ? "state:created" : "state:updated"))
      problems.push(`${key}@${at + 1} was told as ${event.type}`);
    if (!isDeepStrictEqual(event.old, at === 0 ? null : events[at - 1]?.value))
      problems.push(`the old value of ${key}@${at + 1} is not the one before`);
  }
}

/** Number of repeated events. */
export function repetitions(history: History): number {
  return history.events.length - new Set(history.events.map(({ key, version }) => `${key}@${version}`)).size;
}

/** Returns the events of each key in the order of their first delivery. An event out of order is a problem. */
function firstTold(events: readonly ToldEvent[], problems: string[]): ReadonlyMap<string, readonly ToldEvent[]> {
  const first = new Map<string, ToldEvent[]>();
  for (const event of events) {
    const told = first.get(event.key) ?? [];
    first.set(event.key, told);
    const last = told[told.length - 1];
    if (event.version === told.length + 1) told.push(event);
    else if (event.version !== told.length)
      problems.push(`${event.key}@${event.version} was told after ${event.key}@${told.length}`);
    else if (!isDeepStrictEqual(event, last))
      problems.push(`${event.key}@${event.version} was told again in other words`);
  }
  return first;
}
