import type { Item } from "../../item-store.ts";

/** Reads a record: `VERSION UPDATED_AT EXPIRES_AT` (`-`: never), a line feed, and the JSON. */
export function itemOf(key: string, record: string): Item {
  const end = record.indexOf("\n");
  const [version, updatedAt, expiresAt] = record.slice(0, end).split(" ");
  const json = record.slice(end + 1);
  return {
    key,
    json,
    version: Number(version),
    updatedAt: Number(updatedAt),
    bytes: Buffer.byteLength(json),
    expiresAt: expiresAt === "-" ? undefined : Number(expiresAt),
  };
}

export function printEnd(expiresAt: number | undefined): string {
  return expiresAt === undefined ? "-" : String(expiresAt);
}
