import { MAX_ATTRIBUTES } from "./span-record.ts";

/** A value in OTLP/JSON. An empty object means null. */
export type OtlpValue =
  | { readonly stringValue: string }
  | { readonly intValue: string }
  | { readonly doubleValue: number }
  | { readonly boolValue: boolean }
  | { readonly arrayValue: { readonly values: readonly OtlpValue[] } }
  | { readonly kvlistValue: { readonly values: readonly OtlpAttribute[] } }
  | Readonly<Record<string, never>>;

export interface OtlpAttribute {
  readonly key: string;
  readonly value: OtlpValue;
}

/** Limits for one log entry or span. They exist in case a program logs very large data by mistake. */
const MAX_TEXT_CHARS = 16_384;
const MAX_ENTRY_CHARS = 32_768;
const MAX_LIST_ITEMS = 128;
const MAX_DEPTH = 6;
const INT64_MAX = 2n ** 63n - 1n;

/**
 * Converts values of any type to attributes, within the limits of one entry. Longer texts are cut with an ellipsis.
 * Further attributes are counted as dropped.
 */
export class OtlpAttributes {
  readonly list: OtlpAttribute[] = [];
  #left = MAX_ENTRY_CHARS;
  dropped = 0;

  /** Adds an attribute. An undefined value is omitted. Never throws, even if getters or proxies of the value do. */
  set(key: string, value: unknown): void {
    if (value === undefined) return;
    if (this.list.length >= MAX_ATTRIBUTES || this.#left < key.length) {
      this.dropped++;
      return;
    }
    this.#left -= key.length;
    let written: OtlpValue;
    try {
      written = this.#value(value, 0);
    } catch {
      written = { stringValue: "[unreadable]" };
    }
    this.list.push({ key, value: written });
  }

  /** Adds the attributes of an exception, with OpenTelemetry's names. */
  exception(error: Error, code: unknown = "code" in error ? error.code : undefined): void {
    this.set("exception.type", typeof code === "string" && code !== "" ? code : error.name);
    this.set("exception.message", error.message);
    this.set("exception.stacktrace", stackWithCauses(error));
  }

  text(text: string): string {
    const limit = Math.max(0, Math.min(this.#left, MAX_TEXT_CHARS));
    const shown = text.length <= limit ? text : `${text.slice(0, limit)}…`;
    this.#left -= shown.length;
    return shown;
  }

  #value(given: unknown, depth: number): OtlpValue {
    const value = plain(given);
    switch (typeof value) {
      case "string":
        return { stringValue: this.text(value) };
      case "boolean":
        return { boolValue: value };
      case "number":
        return numberValue(value);
      case "bigint":
        return value <= INT64_MAX && value >= -INT64_MAX - 1n
          ? { intValue: String(value) }
          : { stringValue: this.text(String(value)) };
      case "object":
        if (value === null) return {};
        if (depth >= MAX_DEPTH) return { stringValue: "[too deep]" };
        return Array.isArray(value) ? this.#array(value, depth) : this.#object(value, depth);
      default:
        return { stringValue: `[${typeof value}]` };
    }
  }

  #array(items: readonly unknown[], depth: number): OtlpValue {
    const values: OtlpValue[] = [];
    for (const item of items) {
      if (values.length >= MAX_LIST_ITEMS || this.#left <= 0) break;
      // Each item counts, even an empty list, so that lists of lists reach the limit.
      this.#left -= 2;
      values.push(this.#value(item, depth + 1));
    }
    return { arrayValue: { values } };
  }

  #object(value: object, depth: number): OtlpValue {
    const values: OtlpAttribute[] = [];
    for (const key in value) {
      if (!Object.hasOwn(value, key)) continue;
      if (values.length >= MAX_LIST_ITEMS || this.#left <= 0) break;
      const member = (value as Readonly<Record<string, unknown>>)[key];
      if (member === undefined) continue;
      this.#left -= key.length + 2;
      values.push({ key: key.slice(0, MAX_TEXT_CHARS), value: this.#value(member, depth + 1) });
    }
    return { kvlistValue: { values } };
  }
}

function numberValue(value: number): OtlpValue {
  if (Number.isSafeInteger(value)) return { intValue: String(value) };
  return Number.isFinite(value) ? { doubleValue: value } : { stringValue: String(value) };
}

/** Returns the value after `toJSON`. Errors get the same form as in log lines. */
function plain(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (value instanceof Error)
    return {
      type: value.name,
      code: "code" in value ? value.code : undefined,
      message: value.message,
      stack: stackWithCauses(value),
    };
  return "toJSON" in value && typeof value.toJSON === "function" ? value.toJSON() : value;
}

/** Maximum number of causes in a stack. */
const MAX_CAUSES = 4;

/**
 * Returns the stack of an error, with the stacks of its causes. A cause may be, for example, the error of the called
 * function.
 */
function stackWithCauses(error: Error): string | undefined {
  let stack = error.stack;
  let { cause } = error;
  for (let depth = 0; depth < MAX_CAUSES && cause instanceof Error && stack !== undefined; depth++) {
    stack += `\nCaused by: ${cause.stack ?? cause.message}`;
    cause = cause.cause;
  }
  return stack;
}
