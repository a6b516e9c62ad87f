import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";

/** Attribute names that published clients and consoles use, with our name for the same attribute. */
const ALIASES: ReadonlyMap<string, string> = new Map([
  ["function_id", "svc.function_id"],
  ["invocation_id", "svc.invocation_id"],
  ["worker_id", "svc.worker.id"],
]);
const PUBLISHED: ReadonlyMap<string, string> = new Map([...ALIASES].map(([published, ours]) => [ours, published]));

export function otherNameOf(key: string): string | undefined {
  return ALIASES.get(key) ?? PUBLISHED.get(key);
}

/** Returns an attribute by its name or by its alias. Returns undefined if it does not exist. */
export function attributeOf(attributes: Attributes, key: string): AttributeValue | undefined {
  if (Object.hasOwn(attributes, key)) return attributes[key];
  const other = otherNameOf(key);
  return other !== undefined && Object.hasOwn(attributes, other) ? attributes[other] : undefined;
}

/** Returns the value in the form that filters and listings use: a string unchanged, any other value as JSON. */
export function textOfValue(value: AttributeValue): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
