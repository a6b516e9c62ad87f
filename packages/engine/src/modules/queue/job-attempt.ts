import { randomBytes } from "node:crypto";
import { CallError, Payload } from "@svc/protocol";
import { DeliveryAttempt, type DeliveryFailure } from "../../deliveries/call-failure.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { attemptSpan } from "./spans.ts";
import type { FailedAttempt, LeasedJob } from "./store/job.ts";

/** Maximum length of a stored failure's message and stack, in characters. */
const MAX_MESSAGE = 4_096;
const MAX_STACK = 16_384;

export interface Attempt {
  readonly error: CallError;
  readonly kind: DeliveryFailure;
  readonly failure: FailedAttempt;
}

export interface AttemptParts {
  readonly job: LeasedJob;
  /** Runs the job by calls with `attempt.callOptions(options)`. */
  readonly run: (payload: Payload, options: CallOptions, attempt: DeliveryAttempt) => Promise<unknown>;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
  readonly now: () => number;
  readonly directory: Pick<Directory, "workerById">;
  readonly telemetry: Pick<Telemetry, "startSpan">;
}

/** Runs a job's handler once. Resolves with undefined if it succeeded, else with the failure. */
export async function attemptJob({
  job,
  run,
  timeoutMs,
  signal,
  now,
  directory,
  telemetry,
}: AttemptParts): Promise<Attempt | undefined> {
  const attempt = job.attempts + 1;
  const span = telemetry.startSpan(attemptSpan(job, attempt));
  const traceparent = span.traceparent ?? newTraceparent();
  let workerId: string | undefined;
  let workerName: string | undefined;
  const calls = new DeliveryAttempt();
  const options: CallOptions = {
    timeoutMs,
    traceparent,
    baggage: job.baggage,
    job: { queue: job.queue, id: job.id, attempt },
    signal,
    onStarted(call) {
      workerId = call.workerId;
      // Read now: the worker may have disconnected when the job fails.
      workerName = directory.workerById(workerId)?.name;
    },
  };
  try {
    await run(Payload.fromText(job.data), options, calls);
    span.end();
    return undefined;
  } catch (thrown) {
    const error = CallError.from(thrown);
    span.end({ error });
    const failure: FailedAttempt = {
      attempt,
      at: now(),
      code: error.code,
      message: messageOf(error, workerName).slice(0, MAX_MESSAGE),
      stack: error.stacktrace?.slice(0, MAX_STACK),
      worker: workerId === undefined ? undefined : `${workerName ?? "worker"} (${workerId})`,
      traceId: traceparent.slice(3, 35),
    };
    return { error, kind: calls.failureOf(error), failure };
  }
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
