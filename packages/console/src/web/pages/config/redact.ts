import { isSecretName } from "../../lib/secrets.ts";

export const MASK = "***";
/** Of headers every value, and all of a text: keys go by whatever name their receiver chose. */
const HEADERS = /(^|_)headers$/i;
/** Who knows the path of a webhook may post there. */
const WEBHOOK = /webhook/i;
/** An address: its scheme, host and port, and what follows; the credentials apart. */
const ADDRESS = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^/?#\s@]*@)*([^/?#\s@]*)([/?#]\S*)?/gi;

/** Of a text: the user and the password of addresses, bearer tokens, and query parameters that are called like secrets. */
export function redactText(text: string): string {
  return text
    .replace(/([a-z][a-z0-9+.-]*:\/\/)[^\s/?#@]+@/gi, `$1${MASK}@`)
    .replace(/\b(Bearer|Basic)\s+[^\s"',]+/gi, `$1 ${MASK}`)
    .replace(/([?&]([^=&\s#]+)=)([^&\s#"]+)/g, (whole, head: string, name: string) => (isSecretName(name) ? `${head}${MASK}` : whole));
}

function originOnly(_address: string, scheme: string, host: string, rest = ""): string {
  return `${scheme}${host}${rest === "" || rest === "/" ? rest : `/${MASK}`}`;
}

/** Of what has a name, as `redactText`; of webhooks only where they are is left. */
export function redactNamed(name: string, text: string): string {
  return redactText(WEBHOOK.test(name) ? text.replace(ADDRESS, originOnly) : text);
}

function lastNameOf(key: string): string {
  return key.slice(key.lastIndexOf(".") + 1);
}

/** Of a setting: its last name decides, e.g. `engine.bridge.token`; what tells only whether there must be one is no secret. */
export function isSecretSetting(key: string, value: unknown): boolean {
  if (typeof value === "boolean" || value === null || value === "" || value === "optional" || value === "required") return false;
  const name = lastNameOf(key);
  return isSecretName(name) || (typeof value === "string" && HEADERS.test(name));
}

/** A copy without secrets: members that are called like one, headers, and what addresses carry. */
export function redact(value: unknown, name = ""): unknown {
  if (isSecretSetting(name, value)) return MASK;
  if (typeof value === "string") return redactNamed(name, value);
  if (Array.isArray(value)) return value.map((item) => redact(item, name));
  if (typeof value !== "object" || value === null) return value;
  if (HEADERS.test(name)) return Object.fromEntries(Object.keys(value).map((key) => [key, MASK]));
  const { key, type } = value as { readonly key?: unknown; readonly type?: unknown };
  // As an alert's action is, `{type: webhook, url}`.
  const isWebhook = WEBHOOK.test(name) || type === "webhook";
  // A setting, as the engine lists them: the name stands beside the value.
  const nameOf = (member: string): string => (member === "value" && typeof key === "string" ? lastNameOf(key) : isWebhook ? `webhook_${member}` : member);
  return Object.fromEntries(Object.entries(value).map(([member, item]) => [member, redact(item, nameOf(member))]));
}
