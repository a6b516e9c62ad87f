import { memberTexts } from "@svc-runtime/protocol/json-text";
import { call, callText } from "../../lib/api.ts";
import type { GroupPage } from "../../model/state-groups.ts";
import { type Entry, type ItemPage, readEntries, readEntryOrNull, readItemPage } from "./model.ts";
import { batches, type Line, type PlannedLine, planLine } from "./ndjson.ts";

// Calls of the engine's functions. Values are passed as JSON text, so that large numbers keep all digits.

const MAX_BATCH_ITEMS = 1_000;
/** Maximum number of characters of the values in one request. The console's server accepts requests of up to 16 MiB. */
const MAX_BATCH_SIZE = 3 * 1024 * 1024;

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
  return readEntryOrNull(
    await callText("state::get_entry", JSON.stringify({ scope, key }), signal === undefined ? {} : { signal }),
  );
}

/** Creates an item and returns its version. Rejects with `state_conflict` if the key exists. */
export async function createItem(scope: string, key: string, json: string): Promise<number> {
  return versionOf(
    await callText("state::set", setPayload({ scope, key, json, ifVersion: 0, expiresInMs: undefined })),
  );
}

/**
 * Changes the value of an item and returns the new version. The expiry of the item stays. Rejects with `state_conflict`
 * if the item has another version or was deleted.
 */
export async function changeItem(scope: string, key: string, json: string, ifVersion: number): Promise<number> {
  const name = JSON.stringify({ scope, key, if_version: ifVersion }).slice(1, -1);
  return versionOf(await callText("state::update", `{${name},"ops":[{"type":"set","path":"","value":${json}}]}`));
}

function versionOf(answer: string): number {
  return JSON.parse(memberTexts(answer).get("version") ?? "0") as number;
}

export async function deleteItem(scope: string, key: string, ifVersion: number): Promise<void> {
  await callText("state::delete", JSON.stringify({ scope, key, if_version: ifVersion }));
}

export async function deleteItems(scope: string, keys: readonly string[]): Promise<number> {
  return (await call<{ readonly deleted: number }>("state::delete_many", { scope, keys })).deleted;
}

/** Deletes all items of the group and returns their number. */
export async function deleteGroup(scope: string): Promise<number> {
  return (await call<{ readonly deleted: number }>("state::delete_many", { scope, prefix: "" }, { timeoutMs: 300_000 }))
    .deleted;
}

/** Yields all items of a group whose key starts with `prefix`, page by page. */
export async function* allItems(scope: string, prefix: string, signal: AbortSignal): AsyncGenerator<ItemPage> {
  let cursor: string | null = null;
  do {
    const page: ItemPage = await fetchItems(
      scope,
      { prefix, cursor: cursor ?? undefined, limit: MAX_BATCH_ITEMS },
      signal,
    );
    yield page;
    cursor = page.cursor;
  } while (cursor !== null);
}

/** Compares the lines with the stored items. It writes nothing. */
export async function planImport(lines: readonly Line[], nowMs: number): Promise<readonly PlannedLine[]> {
  const planned: PlannedLine[] = [];
  const byScope = new Map<string, Line[]>();
  for (const line of lines) byScope.set(line.scope, [...(byScope.get(line.scope) ?? []), line]);
  for (const [scope, ofScope] of byScope) {
    for (const batch of batches(ofScope, 100, MAX_BATCH_SIZE, ({ json }) => json.length)) {
      const stored = readEntries(
        await callText("state::get_many", JSON.stringify({ scope, keys: batch.map(({ key }) => key) })),
      );
      planned.push(...batch.map((line, at) => planLine(line, stored[at] ?? null, nowMs)));
    }
  }
  return planned;
}

/**
 * Stores the planned lines in batches. `onStored` is called with the number of items stored so far. If an item has
 * changed since the plan was made, rejects with `state_conflict` at its batch. Earlier batches stay stored.
 */
export async function runImport(
  planned: readonly PlannedLine[],
  nowMs: number,
  onStored: (count: number) => void,
): Promise<void> {
  let stored = 0;
  for (const batch of batches(planned, MAX_BATCH_ITEMS, MAX_BATCH_SIZE, ({ line }) => line.json.length)) {
    const items = batch.map(({ line, version }) =>
      setPayload({ ...line, ifVersion: version, expiresInMs: remaining(line.expiresAtMs, nowMs) }),
    );
    await callText("state::set_many", `{"items":[${items.join(",")}]}`);
    stored += batch.length;
    onStored(stored);
  }
}

/** Restores deleted items. Rejects with `state_conflict` if a key exists again. */
export async function restoreItems(scope: string, entries: readonly Entry[], nowMs: number): Promise<void> {
  for (const batch of batches(entries, MAX_BATCH_ITEMS, MAX_BATCH_SIZE, ({ json }) => json.length)) {
    const items = batch.map(({ key, json, expiresAtMs }) =>
      setPayload({ scope, key, json, ifVersion: 0, expiresInMs: remaining(expiresAtMs, nowMs) }),
    );
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
