import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import type { LogRecord } from "../telemetry-records.ts";

export const MAX_BODY_CHARACTERS = 64 * 1024;
export const MAX_NAME_CHARACTERS = 256;
const MAX_ATTRIBUTES = 128;
const MAX_KEY_CHARACTERS = 256;
export const MAX_VALUE_CHARACTERS = 16 * 1024;
const MAX_TOTAL_CHARACTERS = 64 * 1024;
const MAX_DEPTH = 16;
/** Approximate overhead of an object, in bytes. */
const OBJECT_BYTES = 96;

const CUT_MARK = "…[cut]";

export function cutText(text: string, maxCharacters: number): string {
  // A cut within a surrogate pair would leave half a character, so that half is removed.
  return text.length <= maxCharacters
    ? text
    : `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "")}${CUT_MARK}`;
}

/**
 * Limits the attributes of an entry to: 128 attributes, keys of 256 characters, values of 16 Ki characters, 64 Ki
 * characters in total, 16 levels of nesting. Anything beyond is omitted and `svc.truncated` is set. Returns the same
 * object if it is within the limits.
 */
export function boundAttributes(attributes: Attributes): Attributes {
  const budget = new Budget();
  const keys = Object.keys(attributes);
  if (keys.length > MAX_ATTRIBUTES) budget.cut = true;
  for (const key of keys) {
    if (budget.cut) break;
    budget.weigh(attributes[key] ?? null, 1);
    budget.left -= key.length;
    if (budget.left < 0 || key.length > MAX_KEY_CHARACTERS) budget.cut = true;
  }
  return budget.cut ? reduced(attributes, keys) : attributes;
}

/** Returns the approximate size of a record in memory, in bytes. */
export function sizeOf(record: LogRecord): number {
  return (
    2 * OBJECT_BYTES +
    2 * record.body.length +
    attributesSize(record.attributes) +
    attributesSize(record.resource.attributes)
  );
}

/** Returns the record with a body and attributes within the limits; the same object if they already are. */
export function boundRecord(record: LogRecord): LogRecord {
  const attributes = boundAttributes(record.attributes);
  const resourceAttributes = boundAttributes(record.resource.attributes);
  const body = cutText(record.body, MAX_BODY_CHARACTERS);
  const service = cutText(record.resource.service, MAX_NAME_CHARACTERS);
  const isSame =
    attributes === record.attributes &&
    resourceAttributes === record.resource.attributes &&
    body === record.body &&
    service === record.resource.service;
  return isSame
    ? record
    : { ...record, body, attributes, resource: { ...record.resource, service, attributes: resourceAttributes } };
}

class Budget {
  left = MAX_TOTAL_CHARACTERS;
  cut = false;

  weigh(value: AttributeValue, depth: number): void {
    if (this.cut) return;
    if (typeof value === "string") {
      this.left -= value.length;
      if (value.length > MAX_VALUE_CHARACTERS) this.cut = true;
    } else if (typeof value === "object" && value !== null) {
      if (depth > MAX_DEPTH) this.cut = true;
      for (const key of Object.keys(value)) {
        this.left -= key.length + 8;
        if (this.left < 0) this.cut = true;
        if (this.cut) return;
        this.weigh((value as Readonly<Record<string, AttributeValue>>)[key] ?? null, depth + 1);
      }
    } else {
      this.left -= 8;
    }
    if (this.left < 0) this.cut = true;
  }
}

/**
 * Returns as many attributes as fit, in order. Cuts long strings, and replaces objects that are too deep or too large.
 */
function reduced(attributes: Attributes, keys: readonly string[]): Attributes {
  const kept: Record<string, AttributeValue> = Object.create(null);
  let left = MAX_TOTAL_CHARACTERS;
  for (const key of keys.slice(0, MAX_ATTRIBUTES - 1)) {
    if (left <= 0) break;
    const name = cutText(key, MAX_KEY_CHARACTERS);
    const value = reducedValue(attributes[key] ?? null, Math.min(left, MAX_VALUE_CHARACTERS));
    left -= name.length + (typeof value === "string" ? value.length : 16);
    kept[name] = value;
  }
  kept["svc.truncated"] = true;
  return kept;
}

function reducedValue(value: AttributeValue, maxCharacters: number): AttributeValue {
  if (typeof value === "string") return cutText(value, maxCharacters);
  if (typeof value !== "object" || value === null) return value;
  const budget = new Budget();
  budget.left = Math.min(budget.left, maxCharacters, 1_024);
  budget.weigh(value, 1);
  return budget.cut ? CUT_MARK : value;
}

function attributesSize(attributes: Attributes): number {
  let bytes = OBJECT_BYTES;
  for (const key of Object.keys(attributes)) bytes += 32 + 2 * key.length + valueSize(attributes[key] ?? null);
  return bytes;
}

function valueSize(value: AttributeValue): number {
  if (typeof value === "string") return 16 + 2 * value.length;
  if (typeof value !== "object" || value === null) return 8;
  let bytes = 32;
  for (const key of Object.keys(value))
    bytes += 32 + valueSize((value as Readonly<Record<string, AttributeValue>>)[key] ?? null);
  return bytes;
}
