import { Payload } from "@svc/protocol";

/**
 * What the function of a trigger is told besides its payload: the trigger's own metadata and, beside its members, those that the provider of
 * the type adds. Metadata that is no object has no place for them, and stays as it is.
 */
export function fireMetadata(own: unknown, added: Payload | undefined): Payload | undefined {
  if (own === undefined || own === null) return added;
  if (added === undefined || typeof own !== "object" || Array.isArray(own)) return Payload.fromValue(own);
  return Payload.fromValue({ ...own, ...(added.value() as object) });
}
