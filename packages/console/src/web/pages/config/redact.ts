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

function withoutValues(headers: unknown): unknown {
  if (typeof headers !== "object" || headers === null) return headers === null ? null : MASK;
  return Object.fromEntries(Object.keys(headers).map((name) => [name, MASK]));
}

/** Of a webhook, as alerts have it: who knows its path may post there. */
function webhookUrl(name: string, url: unknown, { type }: { readonly type?: unknown }): string | undefined {
  if (name !== "url" || type !== "webhook" || typeof url !== "string" || !URL.canParse(url)) return undefined;
  const { origin, pathname, search } = new URL(url);
  return pathname === "/" && search === "" ? origin : `${origin}/${MASK}`;
}

/** A copy without secrets: members that are called like one, headers, and what addresses carry. */
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
      if (isSecretSetting(name, item)) return [name, MASK];
      // Of headers every value: keys go by whatever name their receiver chose.
      if (name.toLowerCase() === "headers" || (isSetting && name === "value" && key.toLowerCase() === "headers")) return [name, withoutValues(item)];
      return [name, webhookUrl(name, item, value) ?? redact(item)];
    }),
  );
}
