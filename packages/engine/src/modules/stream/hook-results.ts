import { CallError, MAX_PAYLOAD_DEPTH, memberTexts, nestsDeeperThan, type Payload } from "@svc-runtime/protocol";

// Parses the results of hook functions. All functions throw `JSON_ERROR` for an unexpected result.

const WRITTEN = "{old_value?, new_value}";
const DELETED = "{old_value?}";

/** Parses the result of `set` and `update`: JSON before (undefined if there was no item) and after. */
export function writtenByHook(
  id: string,
  answer: Payload,
): { readonly previous: string | undefined; readonly json: string } {
  const { old_value: previous, new_value: json } = membersOf(id, answer, WRITTEN);
  if (json === undefined) throw wrongShape(id, WRITTEN);
  return { previous: previous === "null" ? undefined : previous, json };
}

/** Parses the result of `delete`: JSON of the deleted item, or undefined. */
export function deletedByHook(id: string, answer: Payload): string | undefined {
  // A function that deletes may return nothing.
  if (parsed(id, answer, DELETED) === null) return undefined;
  const { old_value: previous } = membersOf(id, answer, DELETED);
  return previous === "null" ? undefined : previous;
}

/** Checks the result of `get`: any JSON. */
export function valueOfHook(id: string, answer: Payload): Payload {
  parsed(id, answer, "JSON");
  return answer;
}

/** Checks the result of `list`: an array. */
export function listedByHook(id: string, answer: Payload): Payload {
  if (!Array.isArray(parsed(id, answer, "an array"))) throw wrongShape(id, "an array");
  return answer;
}

/** Parses the result of `list_groups`: an array of strings. */
export function groupsOfHook(id: string, answer: Payload): readonly string[] {
  const groups = parsed(id, answer, "an array of strings");
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string"))
    throw wrongShape(id, "an array of strings");
  return groups;
}

/**
 * Returns the JSON text of the members, so that numbers keep their digits. A value that is nested too deeply counts as
 * missing.
 */
function membersOf(
  id: string,
  answer: Payload,
  expected: string,
): { readonly old_value?: string; readonly new_value?: string } {
  const value = parsed(id, answer, expected);
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw wrongShape(id, expected);
  const isShallow = ([, text]: readonly [string, string]): boolean => !nestsDeeperThan(text, MAX_PAYLOAD_DEPTH);
  return Object.fromEntries([...memberTexts(answer.text())].filter(isShallow));
}

function parsed(id: string, answer: Payload, expected: string): unknown {
  try {
    return answer.value();
  } catch {
    throw wrongShape(id, expected);
  }
}

function wrongShape(id: string, expected: string): CallError {
  return new CallError("JSON_ERROR", `${id} must return ${expected}`, { details: { function_id: id } });
}
