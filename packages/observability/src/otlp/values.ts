import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import { MAX_ATTRIBUTES, MAX_DEPTH, MAX_KEY_BYTES, MAX_VALUE_BYTES, type RecordBudget } from "./limits.ts";

export type JsonObject = Readonly<Record<string, unknown>>;

export const NO_ATTRIBUTES: Attributes = Object.freeze(Object.create(null) as Record<string, AttributeValue>);

export function asObject(value: unknown): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined;
}

/** Returns the list. A missing list and null become an empty list. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function asText(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** Reads a count or a code. It may be a number or a number as a string. */
export function asInteger(value: unknown): number | undefined {
  const number = typeof value === "string" && value.length <= 20 ? Number(value) : value;
  return typeof number === "number" && Number.isInteger(number) ? number : undefined;
}

export function asDouble(value: unknown): number | undefined {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || value.length > 40 || value === "") return undefined;
  const number = Number(value);
  return Number.isNaN(number) && value !== "NaN" ? undefined : number;
}

/** Like `asDouble`, but returns undefined for NaN and the infinities. */
export function asFinite(value: unknown): number | undefined {
  const number = asDouble(value);
  return number !== undefined && Number.isFinite(number) ? number : undefined;
}

/**
 * Reads attributes within the limits. Values of unknown types become null. If a key is repeated, its last value is
 * used.
 */
export function readAttributes(value: unknown, budget: RecordBudget, depth = 0): Attributes {
  const list = asList(value);
  if (list.length === 0) return NO_ATTRIBUTES;
  const found = Object.create(null) as Record<string, AttributeValue>;
  let left = 0;
  let count = 0;
  for (const item of list) {
    if (count >= MAX_ATTRIBUTES) {
      left = list.length - count;
      break;
    }
    const pair = asObject(item);
    const key = asText(pair?.key);
    if (
      key === undefined ||
      key === "" ||
      key.length > MAX_KEY_BYTES ||
      Buffer.byteLength(key) > MAX_KEY_BYTES ||
      !budget.take(key.length + 16)
    ) {
      left += 1;
      continue;
    }
    count += 1;
    found[key] = readValue(pair?.value, budget, depth);
  }
  budget.leftOut("attributes", left);
  return found;
}

/**
 * Adds the marks to the attributes. The result has no prototype, because the names come from outside and may be
 * `__proto__`.
 */
export function withMarks(own: Attributes, marks: Attributes): Attributes {
  return Object.assign(Object.create(null) as Record<string, AttributeValue>, own, marks);
}

/** Reads an `AnyValue`. Plain JSON values are accepted as well. */
export function readValue(value: unknown, budget: RecordBudget, depth = 0): AttributeValue {
  if (typeof value === "string") return budget.cut(value, MAX_VALUE_BYTES);
  if (typeof value === "number" || typeof value === "boolean") return value;
  const any = asObject(value);
  if (any === undefined) return null;
  if (typeof any.stringValue === "string") return budget.cut(any.stringValue, MAX_VALUE_BYTES);
  if (typeof any.boolValue === "boolean") return any.boolValue;
  if (any.intValue !== undefined) return readInteger(any.intValue);
  if (any.doubleValue !== undefined) return asDouble(any.doubleValue) ?? null;
  if (typeof any.bytesValue === "string") return budget.cut(any.bytesValue, MAX_VALUE_BYTES);
  if (depth >= MAX_DEPTH) {
    budget.leftOut("values_cut", 1);
    return null;
  }
  const array = asObject(any.arrayValue);
  if (array !== undefined) {
    const values = asList(array.values);
    budget.leftOut("values_cut", Math.max(0, values.length - MAX_ATTRIBUTES));
    return values.slice(0, MAX_ATTRIBUTES).map((item) => (budget.take(8) ? readValue(item, budget, depth + 1) : null));
  }
  const map = asObject(any.kvlistValue);
  return map === undefined ? null : readAttributes(map.values, budget, depth + 1);
}

/** Reads an integer. It stays a string if a number cannot hold it exactly. */
function readInteger(value: unknown): AttributeValue {
  if (typeof value === "number") return value;
  if (typeof value !== "string" || !/^-?[0-9]{1,20}$/.test(value)) return null;
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : value;
}

/**
 * Reads an id in hex, or in base64 (the form that JSON uses for protobuf bytes). Returns undefined if it is missing or
 * all zeros, null if it is invalid.
 */
export function readId(value: unknown, digits: 16 | 32): string | undefined | null {
  if (value === undefined || value === null || value === "") return undefined;
  if (typeof value !== "string") return null;
  let hex = value.toLowerCase();
  if (hex.length !== digits && value.length === Math.ceil(digits / 6) * 4 && /^[A-Za-z0-9+/]+={0,2}$/.test(value))
    hex = Buffer.from(value, "base64").toString("hex");
  if (hex.length !== digits || !/^[0-9a-f]+$/.test(hex)) return null;
  return /^0+$/.test(hex) ? undefined : hex;
}

/** Latest time that fits into signed 64-bit nanoseconds, the year 2262. Stores cannot hold later times. */
const MAX_NANOS = 2n ** 63n - 1n;

/** Reads a time. Returns undefined if it is missing or zero, null if it is invalid or out of range. */
export function readNanos(value: unknown): bigint | undefined | null {
  if (value === undefined || value === null || value === "" || value === 0 || value === "0") return undefined;
  let nanos: bigint;
  if (typeof value === "string" && /^[0-9]{1,20}$/.test(value)) nanos = BigInt(value);
  else if (typeof value === "number" && Number.isFinite(value) && value > 0 && value < 1e19)
    nanos = BigInt(Math.round(value));
  else return null;
  if (nanos > MAX_NANOS) return null;
  return nanos === 0n ? undefined : nanos;
}

const YEAR_2000 = 946_684_800_000_000_000n;
const DAY = 86_400_000_000_000n;

/** Returns true for times before 2000 or more than a day in the future, because then the sender's clock is wrong. */
export function isSuspect(nanos: bigint, nowNanos: bigint): boolean {
  return nanos < YEAR_2000 || nanos > nowNanos + DAY;
}
