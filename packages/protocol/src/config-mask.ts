import { SecretMask } from "./secret-mask.ts";
import { MASK } from "./secret-names.ts";

const mask = new SecretMask();

/**
 * Names of header maps and header lists. All their values are masked: the receiver chooses the names of headers, e.g.
 * `x-honeycomb-team`, so a name does not show whether the value is a secret.
 */
const HEADERS = /(^|_)headers$/i;
/** The path of a webhook's address is the credential. */
const WEBHOOK = /webhook/i;
/**
 * Environment variables that are secrets in addition to variables with a secret name: e.g. `STRIPE_KEY`, and variables
 * that hold the headers of a config block.
 */
const ENVIRONMENT = /key|headers_/i;
/** Names of keys of any kind, e.g. `stripe_key`, `jwtKey`. */
const KEY = /(?:^|[-_.])key$|[a-z0-9]Key$/i;
const PUBLIC_KEY = /public[-_.]?key$/i;
/** Groups of an address: scheme, host and port, and the rest. Credentials are in no group. */
const ADDRESS = /\b([a-z][a-z0-9+.-]{0,30}:\/\/)(?:[^/?#\s@]*@)*([^/?#\s@]*)([/?#]\S*)?/gi;
/** Parameters of an address that contain a key of any kind. */
const KEY_PARAMETER = /([?&][^=&#\s]{0,100}(?:key|signature)[^=&#\s]{0,100}=)[^&#\s"']+/gi;
const SCHEME_AND_TOKEN = /\b(bearer|basic)\s+[^\s"',;]+/gi;
/** `user:password@host` without a scheme. */
const BARE_CREDENTIALS = /(^|[\s"'=(,])[\w.+-]{1,64}:[^\s/@"']{1,512}@(?=[\w.-])/g;
/** Maximum length of a string of a config, in characters. Longer strings are truncated. */
const MAX_SHOWN = 10_000;

interface Place {
  readonly name: string;
  readonly isSecret: boolean;
  readonly isHeader: boolean;
  readonly isWebhook: boolean;
  readonly isEnvironment: boolean;
}

const TOP: Place = { name: "", isSecret: false, isHeader: false, isWebhook: false, isEnvironment: false };

/**
 * Masks the secrets of a setting, a block or a whole config. Masks more than `maskSecrets`, because a config contains
 * credentials of the operator: also all headers, paths of webhooks, values whose name ends with `key`, and variables in
 * `env` whose name contains `key`. Booleans and empty values are not masked.
 *
 * @param path names that lead to the value, e.g. `["engine", "token"]`. In an object with a string `key` or `name`, the
 *   member `value` is treated as if this string were its name.
 */
export function maskConfig(value: unknown, path: readonly string[] = []): unknown {
  return masked(value, path.reduce(below, TOP));
}

/** Masks a string of a config as `maskConfig` does. */
export function maskConfigText(text: string): string {
  const cut = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}…` : text;
  return mask
    .text(cut)
    .replace(KEY_PARAMETER, `$1${MASK}`)
    .replace(SCHEME_AND_TOKEN, `$1 ${MASK}`)
    .replace(BARE_CREDENTIALS, `$1${MASK}@`);
}

function below(place: Place, name: string): Place {
  return {
    name,
    isSecret:
      place.isSecret ||
      mask.isSecretName(name) ||
      isKey(place, name) ||
      (place.name === "env" && ENVIRONMENT.test(name)),
    isHeader: place.isHeader || HEADERS.test(name),
    isWebhook: place.isWebhook || WEBHOOK.test(name),
    isEnvironment: place.isEnvironment || place.name === "env",
  };
}

/** Returns whether the name is the name of a key. In `tls`, `key` is the path of a file, so it is no secret. */
function isKey(place: Place, name: string): boolean {
  return KEY.test(name) && !PUBLIC_KEY.test(name) && place.name !== "tls";
}

function masked(value: unknown, place: Place): unknown {
  if (value === null || value === undefined || value === "" || typeof value === "boolean") return value;
  if (place.isSecret) return isTokenRule(value, place) ? value : MASK;
  if (Array.isArray(value)) return value.map((item) => masked(item, place));
  if (typeof value === "object") return maskedMembers(value, place);
  if (place.isHeader) return MASK;
  if (typeof value !== "string") return value;
  const text = maskConfigText(value);
  return place.isWebhook ? text.replace(ADDRESS, originOnly) : text;
}

function maskedMembers(value: object, place: Place): unknown {
  const { key, name, type } = value as { readonly key?: unknown; readonly name?: unknown; readonly type?: unknown };
  const own = type === "webhook" ? { ...place, isWebhook: true } : place;
  const label = typeof key === "string" ? key : name;
  const nameOf = (member: string): string => {
    if (member === "value" && typeof label === "string") return label.slice(label.lastIndexOf(".") + 1);
    return member === "key" && "value" in value ? "name" : member;
  };
  return Object.fromEntries(
    Object.entries(value).map(([member, item]) => [maskConfigText(member), masked(item, below(own, nameOf(member)))]),
  );
}

/** A listener's `token: required` is not a token: tokens have at least 16 characters. */
function isTokenRule(value: unknown, { name, isEnvironment }: Place): boolean {
  return name === "token" && !isEnvironment && (value === "required" || value === "optional");
}

function originOnly(_address: string, scheme: string, host: string, rest = ""): string {
  return `${scheme}${host}${rest === "" || rest === "/" ? rest : `/${MASK}`}`;
}
