import { TooMuchError } from "./ingest.ts";

/** Bodies up to here are parsed without a look at how much is in them. */
const SMALL_BYTES = 256 * 1024;
/** Objects and lists in one body. A small one of either takes some sixty bytes once it is parsed. */
const MAX_CONTAINERS = 500_000;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Parses OTLP/JSON. Throws SyntaxError, or TooMuchError for few bytes that would take much memory. */
export function parseJsonBody(bytes: Uint8Array): unknown {
  if (bytes.length > SMALL_BYTES) {
    let containers = 0;
    // Those inside texts count too: real bodies have few.
    for (const byte of bytes) if (byte === OPEN_BRACE || byte === OPEN_BRACKET) containers += 1;
    if (containers > MAX_CONTAINERS) throw new TooMuchError(`the body has more than ${MAX_CONTAINERS} objects and lists`);
  }
  return JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"));
}
