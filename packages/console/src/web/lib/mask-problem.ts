import { MASK } from "@svc/protocol/secrets";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "./json.ts";
import { maskedJson } from "./secrets.ts";

const MAY_HOLD_MASK = /\*{3}|\\u002a/i;
/** Masks by themselves, not in longer rows of asterisks. */
const MASKS = /(?<!\*)\*{3}(?!\*)/g;
/** Is put in the place of masks, to see whether masking hides it. It has a digit, as a token after `Bearer` must have to be one. */
const PROBE = "0probe0";

/**
 * Returns why JSON may not be stored: it has a mask, copied from where a secret is not shown. Undefined if it may be stored. `before` is what it replaces,
 * with its secrets, and `name` the name of the whole, if there is one. A mask counts where `before` has none: anywhere if `before` has a secret, as the
 * mask may be copied from another place, otherwise where masking puts one.
 */
export function maskProblem(json: string, before?: string, name = ""): string | undefined {
  if (!MAY_HOLD_MASK.test(json)) return undefined;
  let isNew = false;
  const withProbes = mapTexts(jsonOrText(json), before === undefined ? undefined : jsonOrText(before), (text, was) => {
    if (masksIn(text) <= masksIn(was)) return text;
    isNew = true;
    return text.replace(MASKS, PROBE);
  });
  if (!isNew) return undefined;
  const probe = formatJson(withProbes, 0);
  const hasSecret = before !== undefined && maskedJson(name, before) !== before;
  if (!hasSecret && probesIn(maskedJson(name, probe)) === probesIn(probe)) return undefined;
  return `${MASK} stands for a secret that was not revealed, and would be stored in its place: write the value in full`;
}

/** Returns whether JSON that the engine masked may have a mask in it. The engine's config may add secret names, so that every place of a secret counts. */
export function mayHoldMask(json: string): boolean {
  return /"(?:\*|\\u002a){3}"|:\/\/\*{3}@|(?:[\w-]\\?["']?[=:] ?\\?["']?(?:\w+ )?|\b(?:bearer|basic) )\*{3}(?![*\w])/i.test(json);
}

function masksIn(value: JsonValue | undefined): number {
  return typeof value === "string" ? (value.match(MASKS)?.length ?? 0) : 0;
}

function probesIn(text: string): number {
  return text.split(PROBE).length;
}

/** A value with its texts replaced. `change` gets each text with what `before` has in its place. */
function mapTexts(value: JsonValue, before: JsonValue | undefined, change: (text: string, was: JsonValue | undefined) => string): JsonValue {
  if (typeof value === "string") return change(value, before);
  if (typeof value !== "object" || value === null || isBigNumber(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue, at) => mapTexts(item, memberOf(before, at), change));
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [name, mapTexts(member, memberOf(before, name), change)]));
}

function memberOf(value: JsonValue | undefined, name: string | number): JsonValue | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string | number, JsonValue>>)[name];
}

/** The value of JSON, or a text that is not JSON as it is. */
function jsonOrText(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
