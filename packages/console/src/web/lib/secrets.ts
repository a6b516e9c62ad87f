import { isSecretName, MASK, maskJson, maskSecrets, maskText } from "@svc-runtime/protocol/secrets";
import { formatJson, type JsonValue, parseJson } from "./json.ts";

/**
 * Returns the masked form of a value at a place, e.g. a member of an object, or the value itself if it contains no
 * secret.
 */
export function maskedMember(name: string | undefined, value: JsonValue): JsonValue {
  return name !== undefined && isSecretMember(name, value) ? MASK : maskSecrets(value);
}

/** Returns the masked form of a named text, e.g. an attribute, or the text itself if it contains no secret. */
export function maskedNamed(name: string, text: string): string {
  return text !== "" && isSecretName(name) ? MASK : maskText(text);
}

/** Returns the masked form of named JSON, e.g. an item of the state, or the JSON itself if it contains no secret. */
export function maskedJson(name: string, json: string): string {
  return isSecretName(name) && !/^\s*(?:null|"")?\s*$/.test(json) ? JSON.stringify(MASK) : maskedText(json);
}

/** Returns true if a member is masked. Null and empty strings are not secret. */
function isSecretMember(name: string, value: JsonValue): boolean {
  return value !== null && value !== "" && isSecretName(name);
}

/**
 * Masks secrets in JSON or in truncated JSON. Returns the text unchanged if there are none. `indent` 0: on one line.
 */
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

/** Returns the beginning of JSON on one line for a list, with secrets masked. */
export function maskedPreview(json: string, length: number): string {
  // Enough to fill the line even if much of it is white space or masked.
  const line = maskJson(json.slice(0, length * 8)).replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
