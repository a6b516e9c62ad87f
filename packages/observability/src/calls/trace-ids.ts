const ID_DIGITS = 16;
const POOL_BYTES = 2_048;
const NO_ID = "0".repeat(ID_DIGITS);

const bytes = Buffer.alloc(POOL_BYTES);
const words = new Uint32Array(bytes.buffer, bytes.byteOffset, POOL_BYTES / Uint32Array.BYTES_PER_ELEMENT);
const WORD_RANGE = 2 ** 32;
/**
 * Random hex digits. Ids are slices of this string, which is cheap. The string is short, because a few stored ids keep
 * all of it in memory.
 */
let pool = "";
let at = 0;

function digits(count: number): string {
  if (at + count > pool.length) {
    // Ids must be unique, not secret. So Math.random suffices, as in OpenTelemetry's own libraries, and costs a tenth
    // of secure random numbers.
    for (let word = 0; word < words.length; word++) words[word] = Math.random() * WORD_RANGE;
    pool = bytes.toString("hex");
    at = 0;
  }
  const id = pool.slice(at, at + count);
  at += count;
  return id;
}

/** 16 random hex digits, not all zero. */
export function newSpanId(): string {
  const id = digits(ID_DIGITS);
  return id === NO_ID ? newSpanId() : id;
}

/** 32 random hex digits, not all zero. */
export function newTraceId(): string {
  const id = digits(2 * ID_DIGITS);
  return id.startsWith(NO_ID) ? newTraceId() : id;
}

// Form of a traceparent (W3C Trace Context). A later version of it may have more fields after the flags.
const TRACEPARENT = /^(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}(?:-|$)/;
const LENGTH = 55;
const MAX_LENGTH = 256;

/** Returns true if the header is valid. The functions below require a valid traceparent. */
export function isTraceparent(text: string | undefined): text is string {
  return text !== undefined && text.length >= LENGTH && text.length <= MAX_LENGTH && TRACEPARENT.test(text);
}

export function traceIdOf(traceparent: string): string {
  return traceparent.slice(3, 35);
}

export function spanIdOf(traceparent: string): string {
  return traceparent.slice(36, 52);
}

/** Returns the sampled flag, which is the lowest bit of the flags. */
export function isSampled(traceparent: string): boolean {
  const digit = traceparent.charCodeAt(54);
  // Odd hex digits are 1, 3, 5, 7 and 9, whose character codes are odd, and b, d and f, whose character codes are even.
  return digit <= 0x39 ? (digit & 1) === 1 : (digit & 1) === 0;
}

export function newTraceparent(): string {
  return traceparentOf(newTraceId(), newSpanId(), true);
}

export function traceparentOf(traceId: string, spanId: string, sampled: boolean): string {
  return sampled ? `00-${traceId}-${spanId}-01` : `00-${traceId}-${spanId}-00`;
}

/** Number of digits at the end of a trace id that form its key. */
const KEY_DIGITS = 8;

/**
 * Returns a hash of 31 bits (FNV-1a). Equal trace ids have equal hashes, different ones rarely do. V8 stores integers
 * of 31 bits without an object.
 */
export function traceKeyOf(traceId: string): number {
  let key = 0x811c9dc5;
  for (let at = traceId.length - KEY_DIGITS; at < traceId.length; at++)
    key = Math.imul(key ^ traceId.charCodeAt(at), 0x01000193);
  return key >>> 1;
}
