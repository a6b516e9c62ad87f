import { HEX } from "./telemetry/random-hex.ts";

const UUID_BYTES = 16;
const BATCH = 256;

const pool = new Uint8Array(UUID_BYTES * BATCH);
let used = pool.length;

/**
 * Returns a random UUID (version 4). Draws random bytes for many ids at once, which is cheaper. `crypto.randomUUID`
 * does not exist on pages without TLS.
 */
export function newUuid(): string {
  if (used === pool.length) {
    crypto.getRandomValues(pool);
    used = 0;
  }
  const at = used;
  used += UUID_BYTES;
  const hex = (offset: number): string => HEX[pool[at + offset] as number] as string;
  const version = HEX[((pool[at + 6] as number) & 0x0f) | 0x40] as string;
  const variant = HEX[((pool[at + 8] as number) & 0x3f) | 0x80] as string;
  return `${hex(0)}${hex(1)}${hex(2)}${hex(3)}-${hex(4)}${hex(5)}-${version}${hex(7)}-${variant}${hex(9)}-${hex(10)}${hex(11)}${hex(12)}${hex(13)}${hex(14)}${hex(15)}`;
}
