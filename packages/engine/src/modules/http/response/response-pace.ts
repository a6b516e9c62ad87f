import type { ServerResponse } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { Exchange } from "./exchanges.ts";

/** Time limit for the client to read the bytes that were written, in milliseconds. */
export const READ_RESPONSE_MS = 60_000;

/**
 * Maximum size of one write, in bytes. The client must read it within `READ_RESPONSE_MS`, so the minimum rate is about
 * 1 KiB per second.
 */
export const SLICE_BYTES = 64 * 1024;

/**
 * Returns a function that waits until the client has read the bytes that were written. It resolves with false if the
 * client disconnected or is too slow.
 */
export function clientPace(exchange: Exchange, clock: Clock): () => Promise<boolean> {
  let settle: ((hasTaken: boolean) => void) | undefined;
  exchange.response.on("drain", () => settle?.(true));
  exchange.onEnd(() => settle?.(false));
  return () =>
    new Promise((resolve) => {
      const cancel = clock.after(READ_RESPONSE_MS, () => settle?.(false));
      settle = (hasTaken) => {
        cancel();
        settle = undefined;
        resolve(hasTaken);
      };
    });
}

/**
 * Writes the bytes in slices, because a client may need more than `READ_RESPONSE_MS` to read a large piece. Resolves
 * with false if the client disconnected or is too slow.
 */
export async function writeAtPace(
  response: ServerResponse,
  bytes: Buffer,
  takes: () => Promise<boolean>,
): Promise<boolean> {
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
    if (!response.write(bytes.subarray(at, at + SLICE_BYTES)) && !(await takes())) return false;
  }
  return true;
}
