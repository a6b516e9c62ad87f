import { SecretMask } from "./secret-mask.ts";

export { SecretMask } from "./secret-mask.ts";
export { MASK, SECRET_NAMES } from "./secret-names.ts";

const mask = new SecretMask();

/** Returns whether the value of a member, attribute, header or variable of this name is a secret. */
export function isSecretName(name: string): boolean {
  return mask.isSecretName(name);
}

/** Masks the secrets of a JSON value; see `SecretMask.value`. */
export function maskSecrets<Value>(value: Value): Value {
  return mask.value(value);
}

/** Masks the secrets of a string; see `SecretMask.text`. */
export function maskText(text: string): string {
  return mask.text(text);
}

/** Masks the secrets of JSON text, which may be truncated; see `SecretMask.json`. */
export function maskJson(text: string): string {
  return mask.json(text);
}
