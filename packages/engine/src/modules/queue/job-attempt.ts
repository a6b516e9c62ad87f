import { randomBytes } from "node:crypto";
import { CallError, Payload } from "@svc-runtime/protocol";
import type { DeliveryAttempt, DeliveryFailure } from "../../deliveries/call-failure.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { attemptSpan } from "./spans.ts";
import type { FailedAttempt, LeasedJob, Outcome } from "./store/job.ts";

/** Maximum length of a stored failure's message and stack, in characters. */
const MAX_MESSAGE = 4_096;
const MAX_STACK = 16_384;

/** Maximum size of a stored result, in bytes. */
export const MAX_RESULT_BYTES = 64 * 1024;

/** A failed attempt. */
export interface Attempt {
  readonly error: CallError;
  readonly kind: DeliveryFailure;
  readonly failure: FailedAttempt;
}

export interface AttemptParts {
  readonly job: LeasedJob;
  /** Runs the job by calls with `attempt.callOptions(options)`. */
  readonly run: (payload: Payload, options: CallOptions, attempt: DeliveryAttempt) => Promise<Payload | undefined>;
  readonly timeoutMs: number;
  /** The calls of the attempt. Cancelling them ends the attempt. */
  readonly calls: DeliveryAttempt;
  readonly clock: Pick<Clock, "now" | "monotonic">;
  /** Called when a call of the attempt starts, with the id of the worker that runs the call. */
  readonly onWorker: (workerId: string) => void;
  readonly directory: Pick<Directory, "workerById">;
  readonly telemetry: Pick<Telemetry, "startSpan">;
}

/** Runs a job's handler once. */
export async function attemptJob({
  job,
  run,
  timeoutMs,
  calls,
  clock,
  directory,
  telemetry,
  onWorker,
}: AttemptParts): Promise<{ readonly outcome: Outcome } | { readonly failed: Attempt }> {
  const attempt = job.attempts + 1;
  const span = telemetry.startSpan(attemptSpan(job, attempt));
  const traceparent = span.traceparent ?? newTraceparent();
  let workerId: string | undefined;
  let workerName: string | undefined;
  const options: CallOptions = {
    timeoutMs,
    traceparent,
    baggage: job.baggage,
    job: { queue: job.queue, id: job.id, attempt },
    onStarted(call) {
      workerId = call.workerId;
      onWorker(workerId);
      // Read the name now, because the worker may have disconnected by the time the job fails.
      workerName = directory.workerById(workerId)?.name;
    },
  };
  const startedAt = clock.monotonic();
  try {
    const result = await run(Payload.fromText(job.data), options, calls);
    span.end();
    const durationMs = Math.round(clock.monotonic() - startedAt);
    return { outcome: { result: keptResult(result), endedAt: clock.now(), durationMs } };
  } catch (thrown) {
    const error = CallError.from(thrown);
    span.end({ error });
    const failure: FailedAttempt = {
      attempt,
      at: clock.now(),
      code: error.code,
      message: messageOf(error, workerName).slice(0, MAX_MESSAGE),
      stack: error.stacktrace?.slice(0, MAX_STACK),
      worker: workerId === undefined ? undefined : `${workerName ?? "worker"} (${workerId})`,
      traceId: traceparent.slice(3, 35),
    };
    return { failed: { error, kind: calls.failureOf(error), failure } };
  }
}

/**
 * Returns the result to store, as JSON; undefined if the result is too large or not JSON. If no function ran, `result`
 * is undefined, and the result to store is null.
 */
function keptResult(result: Payload | undefined): string | undefined {
  if (result === undefined) return "null";
  return result.byteLength <= MAX_RESULT_BYTES && result.isJson() ? result.text() : undefined;
}

/** If the worker disconnected during the job, adds the reason and the worker's name to the message. */
function messageOf({ code, message, details }: CallError, workerName: string | undefined): string {
  const reason = typeof details === "object" && details !== null && "reason" in details ? details.reason : undefined;
  if (code !== "invocation_stopped" || typeof reason !== "string") return message;
  return `${message}: ${reason}${workerName === undefined ? "" : ` (${workerName})`}`;
}

/** Returns a new trace context for a job that has none, so that its attempts have a trace. */
export function newTraceparent(): string {
  return `00-${randomBytes(16).toString("hex")}-${randomBytes(8).toString("hex")}-01`;
}
