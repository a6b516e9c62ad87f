import type { Item } from "../../item-store.ts";

/**
 * Parses a record. It is `VERSION UPDATED_AT EXPIRES_AT`, a line feed, and the JSON. EXPIRES_AT is `-` if the item does
 * not expire. `setByMs` is the total adjustment of this engine's wall clock since its start. It is added here, because
 * stored expiry times are not shifted: other engines use them too.
 */
export function itemOf(key: string, record: string, setByMs: number): Item {
  const end = record.indexOf("\n");
  const [version, updatedAt, expiresAt] = record.slice(0, end).split(" ");
  const json = record.slice(end + 1);
  return {
    key,
    json,
    version: Number(version),
    updatedAt: Number(updatedAt),
    bytes: Buffer.byteLength(json),
    expiresAt: expiresAt === "-" ? undefined : Number(expiresAt) + setByMs,
  };
}

export function printEnd(expiresAt: number | undefined, setByMs: number): string {
  return expiresAt === undefined ? "-" : String(expiresAt - setByMs);
}
