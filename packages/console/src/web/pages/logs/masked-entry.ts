import type { JsonValue } from "../../lib/json.ts";
import { maskedMember, maskedNamed, maskedText } from "../../lib/secrets.ts";

type Values = Readonly<Record<string, JsonValue>>;

/** Masks secrets in members of a JSON body. In other texts, secrets cannot be recognized. */
export function maskedBody(body: string): string {
  return /^\s*[[{]/.test(body) ? maskedText(body) : body;
}

/** Returns an entry with its secrets masked. */
export function maskedEntry(entry: Values): Values {
  const { body, attributes, resource } = entry;
  return {
    ...entry,
    ...(typeof body === "string" ? { body: maskedBody(body) } : {}),
    ...(isRecord(attributes) ? { attributes: maskedValues(attributes) } : {}),
    ...(isRecord(resource) ? { resource: maskedValues(resource) } : {}),
  };
}

/** Returns values, for example attributes, with secrets masked. Secrets inside JSON strings are masked too. */
export function maskedValues(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskedOne(name, value)]));
}

function maskedOne(name: string, value: JsonValue): JsonValue {
  return typeof value === "string" ? maskedNamed(name, value) : maskedMember(name, value);
}

/** Returns true if the entry contains secrets that masking would hide. */
export function holdsSecrets({
  body,
  attributes,
  resource,
}: {
  readonly body: string;
  readonly attributes: Values;
  readonly resource: Values;
}): boolean {
  const isChanged = (values: Values): boolean =>
    Object.entries(values).some(([name, value]) => maskedOne(name, value) !== value);
  return maskedBody(body) !== body || isChanged(attributes) || isChanged(resource);
}

function isRecord(value: JsonValue | undefined): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
