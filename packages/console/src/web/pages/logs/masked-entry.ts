import type { JsonValue } from "../../lib/json.ts";
import { maskedMember, maskedNamed, maskedText } from "../../lib/secrets.ts";

type Values = Readonly<Record<string, JsonValue>>;

/** A body that is JSON has members that may be secrets; what else it says nobody can tell apart. */
export function maskedBody(body: string): string {
  return /^\s*[[{]/.test(body) ? maskedText(body) : body;
}

/** An entry as it may be copied while its secrets are not revealed. */
export function maskedEntry(entry: Values): Values {
  const { body, attributes, resource } = entry;
  return {
    ...entry,
    ...(typeof body === "string" ? { body: maskedBody(body) } : {}),
    ...(isRecord(attributes) ? { attributes: maskedValues(attributes) } : {}),
    ...(isRecord(resource) ? { resource: maskedValues(resource) } : {}),
  };
}

/** Values by name, attributes for example, with secrets masked; also inside of texts that are JSON. */
export function maskedValues(values: Values): Values {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, maskedOne(name, value)]));
}

function maskedOne(name: string, value: JsonValue): JsonValue {
  return typeof value === "string" ? maskedNamed(name, value) : maskedMember(name, value);
}

/** Whether masking changes anything of it. */
export function holdsSecrets({ body, attributes, resource }: { readonly body: string; readonly attributes: Values; readonly resource: Values }): boolean {
  const isChanged = (values: Values): boolean => Object.entries(values).some(([name, value]) => maskedOne(name, value) !== value);
  return maskedBody(body) !== body || isChanged(attributes) || isChanged(resource);
}

function isRecord(value: JsonValue | undefined): value is Values {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
