import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";

/** Prefix of the attributes that the engine and its SDKs set. */
const PREFIX = "svc.";
/**
 * Names of the attribute with the function that a record belongs to: our name and that of published clients. It decides
 * who may read a span.
 */
const FUNCTION_NAMES: ReadonlySet<string> = new Set(["svc.function_id", "function_id"]);
/** Names of reserved attributes that published clients use, see query/attributes.ts. */
const ALIASES: ReadonlySet<string> = new Set(["invocation_id", "worker_id"]);
/**
 * Attribute with the id of a log entry. It is needed to recognize an entry that arrives both as a frame and in the
 * worker's output.
 */
const LOG_ID = "svc.log.id";
/** Labels that identify the owner of a metric, with the names that Prometheus uses. */
const IDENTITY_LABELS: ReadonlySet<string> = new Set(["service_name", "worker_id"]);

/**
 * Returns true for an attribute that a restricted sender may not set. `svc.function_id` is allowed if it names a
 * function of the sender.
 */
export function isReserved(
  name: string,
  value: AttributeValue | undefined,
  origin: { readonly providesFunction?: ((functionId: string) => boolean) | undefined },
): boolean {
  if (FUNCTION_NAMES.has(name)) return typeof value !== "string" || origin.providesFunction?.(value) !== true;
  return ALIASES.has(name) || (name.startsWith(PREFIX) && name !== LOG_ID);
}

/** Returns true for a label that names another service or worker. `workerId` is the sender's own id. */
export function isForeignLabel(name: string, value: AttributeValue | undefined, workerId: string | undefined): boolean {
  const plain = name.replace(/[^a-zA-Z0-9_]/g, "_");
  return IDENTITY_LABELS.has(plain) && !(plain === "worker_id" && workerId !== undefined && value === workerId);
}

/**
 * Returns the attributes without those for which `isRemoved` is true. Returns the same object if nothing is removed.
 */
export function withoutAttributes(
  attributes: Attributes,
  isRemoved: (name: string, value: AttributeValue | undefined) => boolean,
): Attributes {
  const removed = Object.keys(attributes).filter((name) => isRemoved(name, attributes[name]));
  if (removed.length === 0) return attributes;
  const kept = Object.assign(Object.create(null) as Record<string, AttributeValue>, attributes);
  for (const name of removed) delete kept[name];
  return kept;
}
