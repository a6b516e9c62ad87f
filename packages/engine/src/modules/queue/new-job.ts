import { randomUUID } from "node:crypto";
import { CallError } from "@svc/protocol";
import type { JobRequest } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { NewJob } from "./store/job.ts";

/** What the store is given for a job that is asked for. Throws CallError `payload_too_large`, or `invalid_message` for what is not JSON. */
export function newJobOf(request: JobRequest, settings: QueueSettings, now: number): NewJob {
  const { queue, functionId, data } = request;
  const data_ = data.text();
  const bytes = Buffer.byteLength(data_);
  refuseTooLarge(queue, bytes, settings.maxJobBytes);
  if (!data.isJson()) throw new CallError("invalid_message", "the data of the job is not JSON");
  const delayMs = request.delayMs ?? settings.delayMs;
  const runAt = request.runAt ?? (delayMs > 0 ? now + delayMs : undefined);
  return {
    id: request.id ?? randomUUID(),
    queue,
    functionId,
    data: data_,
    bytes,
    // An instant that has passed is now.
    runAt: runAt !== undefined && runAt <= now ? undefined : runAt,
    runAtIsInstant: request.runAt !== undefined,
    priority: Math.min(settings.maxPriority, Math.max(0, Math.round(request.priority ?? priorityIn(data.value(), settings.priorityField)))),
    group: request.group,
    dedupeKey: request.dedupeKey,
    dedupeWindowMs: settings.dedupeWindowMs,
    expiresAt: request.expiresInMs === undefined ? undefined : now + request.expiresInMs,
    maxAttempts: request.maxAttempts ?? settings.maxAttempts,
    traceparent: request.traceparent,
    baggage: request.baggage,
    maker: request.maker,
    limits: settings.limits,
    mayBeDropped: request.mayBeDropped,
  };
}

/** Throws CallError `payload_too_large`. */
export function refuseTooLarge(queue: string, bytes: number, limit: number): void {
  if (bytes <= limit) return;
  throw new CallError("payload_too_large", `the data of the job has ${bytes} bytes; queue ${queue} takes ${limit}`, { details: { bytes, limit } });
}

/** 0 where the data does not say it. */
function priorityIn(data: unknown, field: string | undefined): number {
  if (field === undefined || typeof data !== "object" || data === null || !Object.hasOwn(data, field)) return 0;
  const value = (data as Readonly<Record<string, unknown>>)[field];
  return typeof value === "number" && Number.isFinite(value) ? value : 0;
}
