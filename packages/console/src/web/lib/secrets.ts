import { isSecretName, MASK, maskJson, maskSecrets, maskText } from "@svc-runtime/protocol/secrets";
import { formatJson, type JsonValue, parseJson } from "./json.ts";

/** Returns a member's value with secrets masked. Returns the value itself if it contains no secret. */
export function maskedMember(name: string | undefined, value: JsonValue): JsonValue {
  return name !== undefined && isSecretMember(name, value) ? MASK : maskSecrets(value);
}

/**
 * Returns a text with secrets masked, for example that of an attribute. Returns the text itself if it contains no
 * secret.
 */
export function maskedNamed(name: string, text: string): string {
  return text !== "" && isSecretName(name) ? MASK : maskText(text);
}

/**
 * Returns JSON with secrets masked, for example that of a state item. Returns the JSON itself if it contains no secret.
 */
export function maskedJson(name: string, json: string): string {
  return isSecretName(name) && !/^\s*(?:null|"")?\s*$/.test(json) ? JSON.stringify(MASK) : maskedText(json);
}

/** Returns true if the value of a member must be masked. Null and empty strings are never secret. */
function isSecretMember(name: string, value: JsonValue): boolean {
  return value !== null && value !== "" && isSecretName(name);
}

/**
 * Masks secrets in JSON, which may be truncated. Returns the text unchanged if it contains none. With `indent` 0, the
 * result is on one line.
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
  // Reads more text than the line needs, because much of it may be white space or masked.
  const line = maskJson(json.slice(0, length * 8)).replace(/\s+/g, " ");
  return line.length > length ? `${line.slice(0, length)}…` : line;
}
