import { type Job, Payload } from "@svc/protocol";

/**
 * The metadata of a call to a client that does not know jobs: `svc.job` tells it queue, id and attempt. Metadata that is no object, and a `svc` in it
 * that is none, are somebody's own and stay as they are.
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
