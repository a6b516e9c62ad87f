import { formatJson, isBigNumber, type JsonValue, parseJson } from "./json.ts";

const SECRET = /password|passwd|secret|token|authorization|cookie|api_?key|private_?key|credential/i;
export const MASK = "••••••";

/** Whether what is called so is shown only on request. */
export function isSecretName(name: string): boolean {
  return SECRET.test(name);
}

// The quoted parts without a choice at each character: they may be megabytes.
const MEMBER = /("[^"\\]*(?:\\.[^"\\]*)*")\s*:\s*("[^"\\]*(?:\\.[^"\\]*)*"?|[{[]|[^\s,{}[\]"]+)/g;

/** A value with its secrets masked; the same one where there is none to mask. */
export function maskedValue(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null || isBigNumber(value)) return value;
  let isChanged = false;
  const masked = (name: string, member: JsonValue): JsonValue => {
    const result = isSecretMember(name, member) ? MASK : maskedValue(member);
    isChanged ||= result !== member;
    return result;
  };
  if (Array.isArray(value)) {
    const items = (value as readonly JsonValue[]).map((item) => masked("", item));
    return isChanged ? items : value;
  }
  const members = Object.entries(value).map(([name, member]) => [name, masked(name, member)] as const);
  return isChanged ? Object.fromEntries(members) : value;
}

/** What stands for the text of something that has a name, an attribute for example, until it is revealed: itself where no secret is in it. */
export function maskedNamed(name: string, text: string): string {
  if (text !== "" && isSecretName(name)) return MASK;
  return /^\s*[[{]/.test(text) ? maskedText(text) : text;
}

/** What stands for the JSON of something that has a name, an item of the state for example, until it is revealed: itself where no secret is in it. */
export function maskedJson(name: string, json: string): string {
  return isSecretName(name) && !/^\s*(?:null|"")?\s*$/.test(json) ? JSON.stringify(MASK) : maskedText(json);
}

/** Why a text may not be stored in the place of another: a mask is in it, copied from where a secret is not shown. Undefined where it may. */
export function maskProblem(text: string, before = ""): string | undefined {
  const holdsMask = (each: string): boolean => each.includes(JSON.stringify(MASK)) || /"(?:\\u2022){6}"/i.test(each);
  return holdsMask(text) && !holdsMask(before) ? `${MASK} stands for a secret that was not revealed; stored, it would take the secret's place` : undefined;
}

/** Whether a member is masked: nothing and the empty text give nothing away. */
export function isSecretMember(name: string, value: JsonValue): boolean {
  return value !== null && value !== "" && isSecretName(name);
}

/** JSON, or the beginning of some, with secrets masked; as it was written where there is none. `indent` 0: on one line. */
export function maskedText(text: string, indent?: number): string {
  let value: JsonValue;
  let masked: JsonValue;
  try {
    value = parseJson(text);
    masked = maskedValue(value);
  } catch {
    return maskedFragment(text);
  }
  return masked === value ? text : formatJson(masked, indent);
}

/** Of what cannot be parsed nobody can tell where a secret object or array ends: nothing after its name is left. */
function maskedFragment(text: string): string {
  let cut: number | undefined;
  const masked = text.replace(MEMBER, (whole, name: string, value: string, at: number) => {
    if (!isSecretName(name)) return whole;
    if (value === "{" || value === "[") cut ??= at;
    return `${name}:"${MASK}"`;
  });
  return cut === undefined ? masked : `${maskedFragment(text.slice(0, cut))}${text.slice(cut).split(":", 1)[0] ?? ""}:"${MASK}" …`;
}

/** The beginning of JSON for a line of a list, on one line, with secrets masked; from a secret that is an object or array on, nothing. */
export function maskedPreview(json: string, length: number): string {
  // Enough to fill the line even when much of it is white space or masked.
  const head = json.slice(0, length * 8);
  const line = maskedFragment(head).replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
