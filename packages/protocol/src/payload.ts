import { CallError } from "./call-error.ts";

const decoder = new TextDecoder();
const encoder = new TextEncoder();

/**
 * One JSON value that is forwarded without being parsed: its text or UTF-8 bytes as received. `value()` parses it once.
 * A received payload may turn out not to be JSON: `value()` then throws `invalid_message`.
 */
export class Payload {
  static readonly null: Payload = new Payload("null", undefined, null, true);
  /**
   * Has the value null, but means that there is no value: the frame of a handler that returns nothing has no `result`.
   */
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

  /** Wraps JSON text without checking it. */
  static fromText(text: string): Payload {
    return new Payload(text, undefined, undefined, false);
  }

  /** Wraps JSON in UTF-8 without checking it. The bytes must not change afterwards. */
  static fromBytes(bytes: Uint8Array): Payload {
    return new Payload(undefined, bytes, undefined, false);
  }

  /**
   * Converts a value. `undefined` becomes `null`.
   *
   * @throws CallError `serialization_error` for values that JSON cannot represent (cycles, BigInt).
   */
  static fromValue(value: unknown): Payload {
    if (value === undefined || value === null) return Payload.null;
    let text: string | undefined;
    try {
      text = JSON.stringify(value);
    } catch (cause) {
      throw new CallError("serialization_error", `the value cannot be written as JSON: ${(cause as Error).message}`, {
        cause,
      });
    }
    // Functions and symbols have no JSON text. Like `undefined` they become null.
    if (text === undefined) return Payload.null;
    return new Payload(text, undefined, value, true);
  }

  get byteLength(): number {
    return this.bytes().byteLength;
  }

  /** Its JSON in UTF-8. All callers share the bytes: do not modify them. */
  bytes(): Uint8Array {
    this.#bytes ??= encoder.encode(this.#text);
    return this.#bytes;
  }

  /** The UTF-8 bytes if it was received as bytes. They can be sent without decoding. */
  get rawBytes(): Uint8Array | undefined {
    return this.#text === undefined ? this.#bytes : undefined;
  }

  text(): string {
    this.#text ??= decoder.decode(this.#bytes);
    return this.#text;
  }

  /** Whether it is valid JSON. Parses at most once. */
  isJson(): boolean {
    try {
      this.value();
      return true;
    } catch {
      return false;
    }
  }

  /** Returns the parsed value. All callers share it: do not modify it. */
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
