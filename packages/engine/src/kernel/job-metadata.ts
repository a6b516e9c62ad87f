import { type Job, Payload } from "@svc/protocol";

/**
 * Returns the metadata of a call to a client that does not support jobs, with queue, id and attempt as `svc.job`.
 * Metadata that is not an object, or whose `svc` is not one, is left unchanged.
 */
export function metadataWithJob(metadata: Payload | undefined, job: Job | undefined): Payload | undefined {
  if (job === undefined) return metadata;
  const own = metadata?.value() ?? {};
  if (!isObject(own)) return metadata;
  const svc = Object.hasOwn(own, "svc") ? own.svc : {};
  return isObject(svc) ? Payload.fromValue({ ...own, svc: { ...svc, job } }) : metadata;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
