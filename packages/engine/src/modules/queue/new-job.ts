import { randomUUID } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import type { JobRequest } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { Trace } from "./spans.ts";
import type { NewJob } from "./store/job.ts";

/**
 * Returns the job to store for a request. `provider`: see `NewJob`. Throws CallError `payload_too_large`, or
 * `invalid_message` if the data is not JSON.
 */
export function newJobOf(
  request: JobRequest,
  settings: QueueSettings,
  { traceparent, baggage }: Trace,
  provider: string | undefined,
): NewJob {
  const { queue, functionId, data } = request;
  const json = data.text();
  const bytes = Buffer.byteLength(json);
  refuseTooLarge(queue, bytes, settings.maxJobBytes);
  if (!data.isJson()) throw new CallError("invalid_message", "the job's data is not JSON");
  return {
    id: request.id ?? randomUUID(),
    queue,
    functionId,
    data: json,
    bytes,
    delayMs: request.delayMs ?? settings.delayMs,
    runAt: request.runAt,
    priority: Math.min(
      settings.maxPriority,
      Math.max(0, Math.round(request.priority ?? priorityIn(data.value(), settings.priorityField))),
    ),
    group: request.group,
    dedupeKey: request.dedupeKey,
    dedupeWindowMs: settings.dedupeWindowMs,
    expiresInMs: request.expiresInMs,
    maxAttempts: request.maxAttempts ?? settings.maxAttempts,
    traceparent,
    baggage,
    maker: request.maker,
    provider,
    limits: settings.limits,
    mayBeDropped: request.mayBeDropped,
  };
}

/** Throws CallError `payload_too_large`. */
export function refuseTooLarge(queue: string, bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new CallError(
    "payload_too_large",
    `the job's data has ${bytes} bytes; queue ${queue} accepts at most ${limit}`,
    { details: { bytes, limit } },
  );
}

/** Returns the priority in `field` of the data, or 0 if there is none. */
function priorityIn(data: unknown, field: string | undefined): number {
  if (field === undefined || typeof data !== "object" || data === null || !Object.hasOwn(data, field)) return 0;
  const value = (data as Readonly<Record<string, unknown>>)[field];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
