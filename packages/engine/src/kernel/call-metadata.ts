import { type Job, Payload } from "@svc-runtime/protocol";

/** Matches JSON text that may contain a member `svc`, which may be written with escapes. */
const MAY_HOLD_SVC = /"svc"|\\u/;

/**
 * Returns the metadata without the member `svc`. Only the engine sets it, e.g. to name the job or topic of a call, so
 * callers must not.
 */
export function metadataOfCaller(metadata: Payload | undefined): Payload | undefined {
  if (metadata === undefined || !MAY_HOLD_SVC.test(metadata.text()) || !metadata.isJson()) return metadata;
  const value = metadata.value();
  const rest = withoutSvc(value);
  return rest === value ? metadata : Payload.fromValue(rest);
}

/** Like `metadataOfCaller`, for parsed metadata of a trigger. */
export function withoutSvc(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, "svc")) return metadata;
  const { svc: _, ...rest } = metadata as Readonly<Record<string, unknown>>;
  return rest;
}

/**
 * Returns the metadata of a call to a client that does not support jobs, with queue, id and attempt as `svc.job`.
 * If the metadata or its member `svc` is not an object, the metadata is left unchanged.
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
