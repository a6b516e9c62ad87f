import type { Attributes, AttributeValue } from "../../../kernel/telemetry-contract.ts";
import type { LogRecord } from "../model.ts";

export const MAX_BODY_CHARACTERS = 64 * 1024;
export const MAX_NAME_CHARACTERS = 256;
const MAX_ATTRIBUTES = 128;
const MAX_KEY_CHARACTERS = 256;
const MAX_VALUE_CHARACTERS = 16 * 1024;
/** Of all attributes of one entry together. */
const MAX_TOTAL_CHARACTERS = 64 * 1024;
const MAX_DEPTH = 16;
/** An object's own weight, about. */
const OBJECT_BYTES = 96;

const CUT_MARK = "…[cut]";

/** The text, or its beginning with a mark. */
export function cutText(text: string, maxCharacters: number): string {
  // A cut between the halves of a surrogate pair would leave half a character.
  return text.length <= maxCharacters ? text : `${text.slice(0, maxCharacters).replace(/[\ud800-\udbff]$/, "")}${CUT_MARK}`;
}

/**
 * Attributes of an entry within bounds: 128 of them, keys of 256 characters, values of 16 Ki characters, 64 Ki together, 16 levels deep. The rest is left
 * out and `svc.truncated` says so. What is within bounds is returned as it is.
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

/** Bytes that a record takes in memory, about. */
export function sizeOf(record: LogRecord): number {
  return 2 * OBJECT_BYTES + 2 * record.body.length + attributesSize(record.attributes) + attributesSize(record.resource.attributes);
}

/** The record with a body and attributes within bounds; itself when it is so already. */
export function boundRecord(record: LogRecord): LogRecord {
  const attributes = boundAttributes(record.attributes);
  const resourceAttributes = boundAttributes(record.resource.attributes);
  const body = cutText(record.body, MAX_BODY_CHARACTERS);
  const service = cutText(record.resource.service, MAX_NAME_CHARACTERS);
  const isSame =
    attributes === record.attributes && resourceAttributes === record.resource.attributes && body === record.body && service === record.resource.service;
  return isSame ? record : { ...record, body, attributes, resource: { ...record.resource, service, attributes: resourceAttributes } };
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

/** What fits, in order; a value that is too long by itself is cut, one that is too deep or large becomes the beginning of its JSON. */
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
  for (const key of Object.keys(value)) bytes += 32 + valueSize((value as Readonly<Record<string, AttributeValue>>)[key] ?? null);
  return bytes;
}
