import type { Item } from "./item-store.ts";

/** One item as `state::export` and the snapshots of adapters without a file write it, without the line's end. Times are ISO 8601 in UTC. */
export function itemLine(scope: string, item: Item): string {
  const end = item.expiresAt === undefined ? "" : `,"expires_at":"${new Date(item.expiresAt).toISOString()}"`;
  const name = `"scope":${JSON.stringify(scope)},"key":${JSON.stringify(item.key)}`;
  return `{${name},"value":${item.json},"version":${item.version},"updated_at":"${new Date(item.updatedAt).toISOString()}"${end}}`;
}
