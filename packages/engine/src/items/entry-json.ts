import type { Durability, Item } from "./item-store.ts";

/**
 * Returns an item as JSON: `{key, value, version, updated_at, bytes, expires_at?}`. Times are ISO 8601 in UTC.
 * `keyMember` is the name of the member that holds the key.
 */
export function entryJson(item: Item, keyMember: "key" | "item_id" = "key"): string {
  const end = expiryMember(item);
  return `{"${keyMember}":${JSON.stringify(item.key)},"value":${item.json},"version":${item.version},"updated_at":"${isoTime(item.updatedAt)}","bytes":${item.bytes}${end}}`;
}

/**
 * Returns an item as a line of `state::export` and of NDJSON snapshots, without line feed. Times are ISO 8601 in UTC.
 */
export function itemLine(scope: string, item: Item): string {
  const name = `"scope":${JSON.stringify(scope)},"key":${JSON.stringify(item.key)}`;
  return `{${name},"value":${item.json},"version":${item.version},"updated_at":"${isoTime(item.updatedAt)}"${expiryMember(item)}}`;
}

function expiryMember({ expiresAt }: Item): string {
  return expiresAt === undefined ? "" : `,"expires_at":"${isoTime(expiresAt)}"`;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** Returns the JSON member `durability` to append to a result, or an empty string for durable writes. */
export function durabilityMember(durability: Durability): string {
  return durability === "durable" ? "" : `,"durability":"${durability}"`;
}
