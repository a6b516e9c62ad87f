import { MASK } from "@svc-runtime/protocol/secrets";
import { t } from "../labels/translate.ts";
import { formatJson, isBigNumber, type JsonValue, parseJson } from "./json.ts";
import { maskedJson } from "./secrets.ts";

const MAY_HOLD_MASK = /\*{3}|\\u002a/i;
/** Matches a mask, but not a longer row of asterisks. */
const MASKS = /(?<!\*)\*{3}(?!\*)/g;
/**
 * Text that replaces a mask, to test whether it would be masked again. It contains a digit, because a token after
 * `Bearer` is masked only if it has one.
 */
const PROBE = "0probe0";

/**
 * Returns why JSON must not be stored: it contains a mask that was copied from a hidden secret. Returns undefined if it
 * may be stored.
 * - `before` is the value that is replaced, including its secrets.
 * - `name` is the name of the whole value, if it has one.
 * - A mask is allowed where `before` has the same mask.
 * - Otherwise, if `before` contains a secret, a mask at any place is rejected, because it may be copied from another
 *   place. If not, a mask is rejected only where masking would insert one.
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
  return t`${MASK} stands for a secret that was not revealed and would be stored instead of it; enter the full value`;
}

/**
 * Returns true if JSON from the engine may contain a mask. The engine's config may add names of secrets, so each place
 * where a secret could be is searched.
 */
export function mayHoldMask(json: string): boolean {
  return /"(?:\*|\\u002a){3}"|:\/\/\*{3}@|(?:[\w-]\\?["']?[=:] ?\\?["']?(?:\w+ )?|\b(?:bearer|basic) )\*{3}(?![*\w])/i.test(
    json,
  );
}

function masksIn(value: JsonValue | undefined): number {
  return typeof value === "string" ? (value.match(MASKS)?.length ?? 0) : 0;
}

function probesIn(text: string): number {
  return text.split(PROBE).length;
}

/**
 * Returns the value with each string replaced. `change` gets the string, and the value at the same place in `before`.
 */
function mapTexts(
  value: JsonValue,
  before: JsonValue | undefined,
  change: (text: string, was: JsonValue | undefined) => string,
): JsonValue {
  if (typeof value === "string") return change(value, before);
  if (typeof value !== "object" || value === null || isBigNumber(value)) return value;
  if (Array.isArray(value)) return value.map((item: JsonValue, at) => mapTexts(item, memberOf(before, at), change));
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [name, mapTexts(member, memberOf(before, name), change)]),
  );
}

function memberOf(value: JsonValue | undefined, name: string | number): JsonValue | undefined {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string | number, JsonValue>>)[name];
}

/** Parses JSON. If the text is not JSON, returns the text. */
function jsonOrText(text: string): JsonValue {
  try {
    return parseJson(text);
  } catch {
    return text;
  }
}
