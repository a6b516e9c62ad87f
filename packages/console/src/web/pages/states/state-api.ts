import { call, callText } from "../../lib/api.ts";
import type { GroupPage } from "../../model/state.ts";
import { type Entry, type ItemPage, readEntries, readEntryOrNull, readItemPage } from "./model.ts";
import { batches, type Line, type PlannedLine, planLine } from "./ndjson.ts";

// What the page asks of the engine. Values pass as text, to the digit.

const MANY = 1_000;
/** Characters of values in one request; the console's server takes 16 MiB. */
const MANY_SIZE = 3 * 1024 * 1024;

export function fetchGroups(prefix: string, cursor: string | null, signal: AbortSignal): Promise<GroupPage> {
  return call<GroupPage>("state::groups", { prefix, cursor, limit: 500 }, { signal });
}

export async function fetchItems(
  scope: string,
  page: { readonly prefix: string; readonly cursor: string | undefined; readonly limit: number },
  signal?: AbortSignal,
): Promise<ItemPage> {
  const payload = JSON.stringify({ scope, prefix: page.prefix, cursor: page.cursor, limit: page.limit });
  return readItemPage(await callText("state::entries", payload, signal === undefined ? {} : { signal }));
}

export async function fetchEntry(scope: string, key: string, signal?: AbortSignal): Promise<Entry | null> {
  return readEntryOrNull(await callText("state::get_entry", JSON.stringify({ scope, key }), signal === undefined ? {} : { signal }));
}

/** Creates an item. Rejects with `state_conflict` when the key is there. */
export async function createItem(scope: string, key: string, json: string, expiresInMs?: number): Promise<void> {
  await callText("state::set", setPayload({ scope, key, json, ifVersion: 0, expiresInMs }));
}

/** Changes an item that has this version; its end stays. Rejects with `state_conflict` when it has another, or is gone. */
export async function changeItem(scope: string, key: string, json: string, ifVersion: number): Promise<void> {
  const name = JSON.stringify({ scope, key, if_version: ifVersion }).slice(1, -1);
  await callText("state::update", `{${name},"ops":[{"type":"set","path":"","value":${json}}]}`);
}

export async function deleteItem(scope: string, key: string, ifVersion: number): Promise<void> {
  await callText("state::delete", JSON.stringify({ scope, key, if_version: ifVersion }));
}

export async function deleteItems(scope: string, keys: readonly string[]): Promise<number> {
  return (await call<{ readonly deleted: number }>("state::delete_many", { scope, keys })).deleted;
}

/** Deletes every item of the group. */
export async function deleteGroup(scope: string): Promise<number> {
  return (await call<{ readonly deleted: number }>("state::delete_many", { scope, prefix: "" }, { timeoutMs: 300_000 })).deleted;
}

/** Goes through all items of a group, page by page. */
export async function* allItems(scope: string, prefix: string, signal: AbortSignal): AsyncGenerator<ItemPage> {
  let cursor: string | null = null;
  do {
    const page: ItemPage = await fetchItems(scope, { prefix, cursor: cursor ?? undefined, limit: MANY }, signal);
    yield page;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** Compares lines with what is there; nothing is written. */
export async function planImport(lines: readonly Line[], nowMs: number): Promise<readonly PlannedLine[]> {
  const planned: PlannedLine[] = [];
  const byScope = new Map<string, Line[]>();
  for (const line of lines) byScope.set(line.scope, [...(byScope.get(line.scope) ?? []), line]);
  for (const [scope, ofScope] of byScope) {
    for (const batch of batches(ofScope, 100, MANY_SIZE, ({ json }) => json.length)) {
      const there = readEntries(await callText("state::get_many", JSON.stringify({ scope, keys: batch.map(({ key }) => key) })));
      planned.push(...batch.map((line, at) => planLine(line, there[at] ?? null, nowMs)));
    }
  }
  return planned;
}

/**
 * Stores what was planned, as long as every item is as it was when it was compared. `onStored` tells how many so far. Rejects with `state_conflict` at
 * the first part with an item that has changed since; the parts before it are stored.
 */
export async function runImport(planned: readonly PlannedLine[], nowMs: number, onStored: (count: number) => void): Promise<void> {
  let stored = 0;
  for (const batch of batches(planned, MANY, MANY_SIZE, ({ line }) => line.json.length)) {
    const items = batch.map(({ line, version }) => setPayload({ ...line, ifVersion: version, expiresInMs: remaining(line.expiresAtMs, nowMs) }));
    await callText("state::set_many", `{"items":[${items.join(",")}]}`);
    stored += batch.length;
    onStored(stored);
  }
}

/** Puts back what was deleted, where nothing has taken its place. */
export async function restoreItems(scope: string, entries: readonly Entry[], nowMs: number): Promise<void> {
  for (const batch of batches(entries, MANY, MANY_SIZE, ({ json }) => json.length)) {
    const items = batch.map(({ key, json, expiresAtMs }) => setPayload({ scope, key, json, ifVersion: 0, expiresInMs: remaining(expiresAtMs, nowMs) }));
    await callText("state::set_many", `{"items":[${items.join(",")}]}`);
  }
}

function remaining(expiresAtMs: number | undefined, nowMs: number): number | undefined {
  return expiresAtMs === undefined ? undefined : Math.max(1, Math.round(expiresAtMs - nowMs));
}

function setPayload(item: {
  readonly scope: string;
  readonly key: string;
  readonly json: string;
  readonly ifVersion: number;
  readonly expiresInMs: number | undefined;
}): string {
  const { scope, key, ifVersion, expiresInMs } = item;
  return `{${JSON.stringify({ scope, key, if_version: ifVersion, expires_in_ms: expiresInMs }).slice(1, -1)},"value":${item.json}}`;
}
