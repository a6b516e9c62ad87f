import { isSecretName } from "../../lib/secrets.ts";

export const MASK = "***";

/** Of a text: the user and the password of addresses, bearer tokens, and query parameters that are called like secrets. */
export function redactText(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi, `$1${MASK}@`)
    .replace(/\b(Bearer|Basic)\s+[^\s"',]+/gi, `$1 ${MASK}`)
    .replace(/([?&]([^=&\s#]+)=)([^&\s#"]+)/g, (whole, head: string, name: string) => (isSecretName(name) ? `${head}${MASK}` : whole));
}

/** Of a setting: its last name decides, e.g. `engine.bridge.token`; what tells only whether there must be one is no secret. */
export function isSecretSetting(key: string, value: unknown): boolean {
  if (typeof value === "boolean" || value === null || value === "" || value === "optional" || value === "required") return false;
  return isSecretName(key.slice(key.lastIndexOf(".") + 1));
}

/** A copy without secrets: members that are called like one, and what addresses carry. */
export function redact(value: unknown): unknown {
  if (typeof value === "string") return redactText(value);
  if (Array.isArray(value)) return value.map(redact);
  if (typeof value !== "object" || value === null) return value;
  const { key, value: inner } = value as { readonly key?: unknown; readonly value?: unknown };
  // A setting, as the engine lists them: the name stands beside the value.
  const isSetting = typeof key === "string" && "value" in value;
  return Object.fromEntries(
    Object.entries(value).map(([name, item]) => {
      if (isSetting && name === "value" && isSecretSetting(key, inner)) return [name, MASK];
      return [name, isSecretSetting(name, item) ? MASK : redact(item)];
    }),
  );
}
