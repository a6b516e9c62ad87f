import { t } from "../labels/translate.ts";
import { formatJson, parseJson } from "./json.ts";

/**
 * Formats JSON for display. JSON with duplicate names or `__proto__` is returned unchanged, because formatting would
 * lose members.
 */
export function pretty(json: string): string {
  if (json.includes("__proto__")) return json;
  try {
    return formatJson(parseJson(json));
  } catch {
    return json;
  }
}

/** Returns true if two JSON texts differ at most in white space. */
export function isSameJson(one: string, other: string): boolean {
  return one === other || pretty(one) === pretty(other);
}

/** Returns why the text is not JSON. Returns undefined if it is JSON. */
export function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return t`The input is empty; write null for null or "" for an empty string.`;
  try {
    JSON.parse(text);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}
