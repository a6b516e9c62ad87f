import type { ServerResponse } from "node:http";
import type { Clock } from "../../../kernel/clock.ts";
import type { Exchange } from "./exchanges.ts";

/** How long a client may take to read what was written, in milliseconds. */
export const READ_ANSWER_MS = 60_000;

/** How much is written before the client must have read it, in bytes: with `READ_ANSWER_MS` about 1 KiB a second. */
export const SLICE_BYTES = 64 * 1024;

/** How to wait until the client has taken what was written: true when it has, false when it is gone or takes too long. */
export function clientPace(exchange: Exchange, clock: Clock): () => Promise<boolean> {
  let settle: ((hasTaken: boolean) => void) | undefined;
  exchange.response.on("drain", () => settle?.(true));
  exchange.onEnd(() => settle?.(false));
  return () =>
    new Promise((resolve) => {
      const cancel = clock.after(READ_ANSWER_MS, () => settle?.(false));
      settle = (hasTaken) => {
        cancel();
        settle = undefined;
        resolve(hasTaken);
      };
    });
}

/** Writes slice by slice, so that a big piece is not taken for a client that does not read. False when the client is gone or too slow. */
export async function writeAtPace(response: ServerResponse, bytes: Buffer, takes: () => Promise<boolean>): Promise<boolean> {
  for (let at = 0; at < bytes.byteLength; at += SLICE_BYTES) {
    if (!response.write(bytes.subarray(at, at + SLICE_BYTES)) && !(await takes())) return false;
  }
  return true;
}
