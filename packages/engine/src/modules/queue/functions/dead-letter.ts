import { z } from "zod";
import { makerShape } from "../../../kernel/module.ts";
import type { JobView } from "../store/job.ts";
import { subscriptionOfQueue } from "../topics/queue-name.ts";
import { failureOutput, failureShape, madeBy, traceIdOf, withRawMember } from "./outputs.ts";

/** The first six members must keep their names and types, because published clients read them. */
export const deadLetterShape = z.object({
  id: z.string(),
  payload: z.unknown(),
  error: z.string(),
  failed_at: z.int().meta({ description: "Seconds since 1970" }),
  retries: z.int().meta({ description: "Failed attempts" }),
  size_bytes: z.int(),
  code: z.string(),
  stacktrace: z.string().nullable(),
  trace_id: z.string().nullable(),
  queue: z.string(),
  function_id: z.string().nullable(),
  made_by: makerShape,
  attempts: z.array(failureShape).meta({ description: "The last 20 failed attempts, oldest first" }),
});

/** Returns a dead letter as JSON. */
export function deadLetterJson(job: JobView): string {
  const last = job.failures.at(-1);
  const members = {
    id: job.id,
    error: last?.message ?? "",
    failed_at: Math.floor((job.failedAt ?? 0) / 1_000),
    retries: job.attempts,
    size_bytes: job.bytes,
    code: last?.code ?? "UNKNOWN",
    stacktrace: last?.stack ?? null,
    trace_id: traceIdOf(job) ?? null,
    queue: job.queue,
    function_id: job.functionId ?? subscriptionOfQueue(job.queue)?.functionId ?? null,
    made_by: madeBy(job),
    attempts: job.failures.map(failureOutput),
  };
  return withRawMember(members, "payload", job.data ?? "null");
}
