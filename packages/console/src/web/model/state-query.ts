import { elementTexts, memberTexts } from "@svc-runtime/protocol/json-text";
import { isSecretName, MASK } from "@svc-runtime/protocol/secrets";
import { callText } from "../lib/api.ts";
import { maskedPreview } from "../lib/secrets.ts";

/** A state item that matches a query. */
export interface FoundItem {
  readonly scope: string;
  readonly key: string;
  /** Beginning of the value, on one line, with secrets masked. */
  readonly preview: string;
  readonly version: number;
  readonly bytes: number;
  readonly updatedAtMs: number;
}

export interface FoundItems {
  readonly items: readonly FoundItem[];
  /** Number of items that were read. */
  readonly scanned: number;
  /** Position at which the next request continues. Null if all items were read. */
  readonly cursor: string | null;
}

/**
 * Maximum number of requests for one search. After them, the user can continue it. Each request reads up to 10,000
 * items.
 */
const MAX_REQUESTS = 2;
const PREVIEW = 160;

interface SearchOptions {
  readonly limit: number;
  /** True if scopes of the system are searched too. */
  readonly withSystem: boolean;
  readonly cursor?: string | null;
  readonly signal: AbortSignal;
}

/** Returns up to `limit` state items that match a query. It may return none although later items match. */
export async function queryState(
  query: string,
  { limit, withSystem, cursor, signal }: SearchOptions,
): Promise<FoundItems> {
  const items: FoundItem[] = [];
  let scanned = 0;
  let next = cursor ?? null;
  for (let requests = 0; requests < MAX_REQUESTS; requests++) {
    const input = { query, limit: limit - items.length, cursor: next, exclude_system: !withSystem };
    const members = memberTexts(await callText("state::query", JSON.stringify(input), { signal }));
    items.push(...elementTexts(members.get("items") ?? "[]").map(readItem));
    scanned += JSON.parse(members.get("scanned") ?? "0") as number;
    next = JSON.parse(members.get("cursor") ?? "null") as string | null;
    if (next === null || items.length >= limit) break;
  }
  return { items, scanned, cursor: next };
}

/** Reads an item. The value stays text, because JSON.parse would round large numbers. */
function readItem(text: string): FoundItem {
  const members = memberTexts(text);
  const fact = <Fact>(name: string): Fact => JSON.parse(members.get(name) ?? "null") as Fact;
  const key = fact<string>("key");
  return {
    scope: fact("scope"),
    key,
    preview: isSecretName(key) ? MASK : maskedPreview(members.get("value") ?? "null", PREVIEW),
    version: fact("version"),
    bytes: fact("bytes"),
    updatedAtMs: Date.parse(fact("updated_at")),
  };
}
