import { formatJson, parseJson } from "./json.ts";

/** JSON laid out for people. Text that would lose something by it (a name twice, `__proto__`) stays as it is. */
export function pretty(json: string): string {
  if (json.includes("__proto__")) return json;
  try {
    return formatJson(parseJson(json));
  } catch {
    return json;
  }
}

/** Whether two texts are the same value written the same way; white space does not count. */
export function isSameJson(one: string, other: string): boolean {
  return one === other || pretty(one) === pretty(other);
}

/** Why the text is no JSON; undefined when it is. */
export function jsonProblem(text: string): string | undefined {
  if (text.trim() === "") return 'There is nothing. Write null for null, "" for an empty text.';
  try {
    JSON.parse(text);
    return undefined;
  } catch (thrown) {
    return (thrown as Error).message;
  }
}
