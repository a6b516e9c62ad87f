const POOL_BYTES = 2048;
/** For each byte value, its two hex digits. */
const HEX: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

/**
 * Returns random lower-case hex digits, two per byte, not all zero. Random bytes are generated for many calls at once.
 */
export function randomHex(bytes: number): string {
  for (;;) {
    if (used + bytes > POOL_BYTES) {
      crypto.getRandomValues(pool);
      used = 0;
    }
    let text = "";
    let seen = 0;
    for (let end = used + bytes; used < end; used++) {
      const byte = pool[used] as number;
      seen |= byte;
      text += HEX[byte];
    }
    if (seen !== 0) return text;
  }
}
