import { CallError, MAX_PAYLOAD_DEPTH, memberTexts, nestsDeeperThan, type Payload } from "@svc/protocol";

// What functions that keep the items of a stream answer. All of these throw `JSON_ERROR` for another shape.

const WRITTEN = "{old_value?, new_value}";
const DELETED = "{old_value?}";

/** Of `set` and `update`: JSON before (undefined: there was none) and after. */
export function writtenByHook(id: string, answer: Payload): { readonly previous: string | undefined; readonly json: string } {
  const { old_value: previous, new_value: json } = membersOf(id, answer, WRITTEN);
  if (json === undefined) throw wrongShape(id, WRITTEN);
  return { previous: previous === "null" ? undefined : previous, json };
}

/** Of `delete`: JSON of what was there; undefined for nothing. */
export function deletedByHook(id: string, answer: Payload): string | undefined {
  // A function that deletes may have nothing to say.
  if (parsed(id, answer, DELETED) === null) return undefined;
  const { old_value: previous } = membersOf(id, answer, DELETED);
  return previous === "null" ? undefined : previous;
}

/** Of `get`: any JSON. */
export function gottenByHook(id: string, answer: Payload): Payload {
  parsed(id, answer, "JSON");
  return answer;
}

/** Of `list`: an array. */
export function listedByHook(id: string, answer: Payload): Payload {
  if (!Array.isArray(parsed(id, answer, "an array"))) throw wrongShape(id, "an array");
  return answer;
}

/** Of `list_groups`: texts. */
export function groupsOfHook(id: string, answer: Payload): readonly string[] {
  const groups = parsed(id, answer, "an array of texts");
  if (!Array.isArray(groups) || !groups.every((group) => typeof group === "string")) throw wrongShape(id, "an array of texts");
  return groups;
}

/** Returns the text of the members, so that numbers keep their digits. A value that nests deeper than a payload may counts as missing. */
function membersOf(id: string, answer: Payload, expected: string): { readonly old_value?: string; readonly new_value?: string } {
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
  return new CallError("JSON_ERROR", `${id} must answer ${expected}`, { details: { function_id: id } });
}
