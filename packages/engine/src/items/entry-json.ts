import type { Item } from "./item-store.ts";

/** JSON of an entry: `{key, value, version, updated_at, bytes, expires_at?}`; times are ISO 8601 in UTC. `keyMember` is how the key is called. */
export function entryJson(item: Item, keyMember: "key" | "item_id" = "key"): string {
  const end = item.expiresAt === undefined ? "" : `,"expires_at":"${isoTime(item.expiresAt)}"`;
  return `{"${keyMember}":${JSON.stringify(item.key)},"value":${item.json},"version":${item.version},"updated_at":"${isoTime(item.updatedAt)}","bytes":${item.bytes}${end}}`;
}

function isoTime(ms: number): string {
  return new Date(ms).toISOString();
}

/** One item as `state::export` and the snapshots of adapters without a file write it, without the line's end. Times are ISO 8601 in UTC. */
export function itemLine(scope: string, item: Item): string {
  const end = item.expiresAt === undefined ? "" : `,"expires_at":"${new Date(item.expiresAt).toISOString()}"`;
  const name = `"scope":${JSON.stringify(scope)},"key":${JSON.stringify(item.key)}`;
  return `{${name},"value":${item.json},"version":${item.version},"updated_at":"${new Date(item.updatedAt).toISOString()}"${end}}`;
}
