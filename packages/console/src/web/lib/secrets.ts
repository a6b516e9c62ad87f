import { isSecretName, MASK, maskJson, maskSecrets, maskText } from "@svc/protocol/secrets";
import { formatJson, type JsonValue, parseJson } from "./json.ts";

/** What stands for a value in a place of its own, e.g. a member of an object, until it is revealed. The value itself where it holds no secret. */
export function maskedMember(name: string | undefined, value: JsonValue): JsonValue {
  return name !== undefined && isSecretMember(name, value) ? MASK : maskSecrets(value);
}

/** What stands for the text of something that has a name, an attribute for example, until it is revealed: itself where no secret is in it. */
export function maskedNamed(name: string, text: string): string {
  return text !== "" && isSecretName(name) ? MASK : maskText(text);
}

/** What stands for the JSON of something that has a name, an item of the state for example, until it is revealed: itself where no secret is in it. */
export function maskedJson(name: string, json: string): string {
  return isSecretName(name) && !/^\s*(?:null|"")?\s*$/.test(json) ? JSON.stringify(MASK) : maskedText(json);
}

/** Whether a member is masked: nothing and the empty text give nothing away. */
function isSecretMember(name: string, value: JsonValue): boolean {
  return value !== null && value !== "" && isSecretName(name);
}

/** JSON, or the beginning of some, with secrets masked; as it was written where there is none. `indent` 0: on one line. */
export function maskedText(text: string, indent?: number): string {
  let value: JsonValue;
  try {
    value = parseJson(text);
  } catch {
    return maskJson(text);
  }
  const masked = maskSecrets(value);
  return masked === value ? text : formatJson(masked, indent);
}

/** The beginning of JSON for a line of a list, on one line, with secrets masked. */
export function maskedPreview(json: string, length: number): string {
  // Enough to fill the line even when much of it is white space or masked.
  const line = maskJson(json.slice(0, length * 8)).replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
