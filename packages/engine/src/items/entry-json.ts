import type { Item } from "./item-store.ts";

/** JSON of an entry: `{key, value, version, updated_at, bytes, expires_at?}`; times are ISO 8601 in UTC. `keyMember` is how the key is called. */
export function entryJson(item: Item, keyMember: "key" | "item_id" = "key"): string {
  const end = item.expiresAt === undefined ? "" : `,"expires_at":"${isoTime(item.expiresAt)}"`;
  return `{"${keyMember}":${JSON.stringify(item.key)},"value":${item.json},"version":${item.version},"updated_at":"${isoTime(item.updatedAt)}","bytes":${item.bytes}${end}}`;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}
