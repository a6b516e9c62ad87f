import { Payload } from "@svc/protocol";

/** Whether the text of metadata can hold a member `svc`, which may be written with escapes. */
const MAY_HOLD_SVC = /"svc"|\\u/;

/** Metadata without the member `svc`: what is in it the engine says, e.g. which job or topic a call is for, so nobody else may say it. */
export function metadataOfCaller(metadata: Payload | undefined): Payload | undefined {
  if (metadata === undefined || !MAY_HOLD_SVC.test(metadata.text()) || !metadata.isJson()) return metadata;
  const value = metadata.value();
  const rest = withoutSvc(value);
  return rest === value ? metadata : Payload.fromValue(rest);
}

/** The same for metadata that was parsed: a trigger's. */
export function withoutSvc(metadata: unknown): unknown {
  if (typeof metadata !== "object" || metadata === null || !Object.hasOwn(metadata, "svc")) return metadata;
  const { svc: _, ...rest } = metadata as Readonly<Record<string, unknown>>;
  return rest;
}
