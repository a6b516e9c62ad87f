import { CallError } from "./call-error.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * One JSON value that is carried without being read: its text (or UTF-8 bytes) as it arrived. Whoever needs the value
 * asks `value()`, which parses once. A payload that came off the wire unread may turn out not to be JSON; `value()` then
 * throws `invalid_message`.
 */
export class Payload {
  static readonly null: Payload = new Payload("null", undefined, null, true);
  /** Reads as null, and says that there was no value: a handler that returns nothing leaves its frame without `result`. */
  static readonly absent: Payload = new Payload("null", undefined, null, true);

  #text: string | undefined;
  #bytes: Uint8Array | undefined;
  #value: unknown;
  #parsed: boolean;

  private constructor(text: string | undefined, bytes: Uint8Array | undefined, value: unknown, parsed: boolean) {
    this.#text = text;
    this.#bytes = bytes;
    this.#value = value;
    this.#parsed = parsed;
  }

  /** JSON text, not yet checked. */
  static fromText(text: string): Payload {
    return new Payload(text, undefined, undefined, false);
  }

  /** JSON as UTF-8, not yet checked. The bytes must not change afterwards. */
  static fromBytes(bytes: Uint8Array): Payload {
    return new Payload(undefined, bytes, undefined, false);
  }

  /** `undefined` becomes `null`. Throws `serialization_error` for what JSON cannot hold (cycles, BigInt). */
  static fromValue(value: unknown): Payload {
    if (value === undefined || value === null) return Payload.null;
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch (cause) {
      throw new CallError("serialization_error", `the value cannot be written as JSON: ${(cause as Error).message}`, { cause });
    }
    // Functions and symbols have no JSON text; like `undefined` they become null.
    if (text === undefined) return Payload.null;
    return new Payload(text, undefined, value, true);
  }

  get byteLength(): number {
    if (this.#bytes !== undefined) return this.#bytes.byteLength;
    this.#bytes = encoder.encode(this.#text);
    return this.#bytes.byteLength;
  }

  /** The UTF-8 bytes when that is the form it arrived in; sending them needs no decoding. */
  get rawBytes(): Uint8Array | undefined {
    return this.#text === undefined ? this.#bytes : undefined;
  }

  text(): string {
    this.#text ??= decoder.decode(this.#bytes);
    return this.#text;
  }

  /** True when it is known or now found to be JSON. Parses at most once. */
  isJson(): boolean {
    try {
      this.value();
      return true;
    } catch {
      return false;
    }
  }

  /** The parsed value; shared by all who ask, so treat it as frozen. */
  value(): unknown {
    if (this.#parsed) return this.#value;
    try {
      this.#value = JSON.parse(this.text());
    } catch (cause) {
      throw new CallError("invalid_message", `the payload is not JSON: ${(cause as Error).message}`, { cause });
    }
    this.#parsed = true;
    return this.#value;
  }

  toJSON(): unknown {
    return this.value();
  }
}
