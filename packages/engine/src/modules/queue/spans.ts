import { addTrigger } from "../../deliveries/trigger-span.ts";
import type { SpanStart } from "../../kernel/telemetry-contract.ts";
import type { LeasedJob } from "./store/job.ts";

/** The trace context that is stored with jobs. */
export interface Trace {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

export const NO_TRACE: Trace = { traceparent: undefined, baggage: undefined };

/** Span of adding jobs: `enqueue <queue>`. The trace context of the span is stored with the jobs. */
export function enqueueSpan(
  jobs: readonly { readonly queue: string; readonly id?: string | undefined }[],
  { traceparent, baggage }: Trace,
): SpanStart {
  const first = jobs[0]?.queue ?? "";
  const queue = jobs.every((job) => job.queue === first) ? first : undefined;
  const attributes = {
    "messaging.system": "svc",
    "messaging.operation.type": "send",
    "messaging.destination.name": queue,
    "messaging.batch.message_count": jobs.length === 1 ? undefined : jobs.length,
  };
  return {
    name: queue === undefined ? "enqueue on several queues" : `enqueue ${queue}`,
    kind: "producer",
    traceparent,
    baggage,
    attributes,
  };
}

/** Span of publishing to a durable topic: `publish <topic>`. */
export function publishSpan(topic: string, { traceparent, baggage }: Trace): SpanStart {
  const attributes = {
    "messaging.system": "svc",
    "messaging.operation.type": "send",
    "messaging.destination.name": topic,
  };
  return { name: `publish ${topic}`, kind: "producer", traceparent, baggage, attributes };
}

/** Span of one attempt of a job: `queue <queue>`, in the trace of the job's maker. */
export function attemptSpan({ queue, id, traceparent, baggage, functionId }: LeasedJob, attempt: number): SpanStart {
  const attributes = {
    "messaging.system": "svc",
    "messaging.operation.type": "process",
    "messaging.destination.name": queue,
    "messaging.message.id": id,
    "svc.job.queue": queue,
    "svc.job.id": id,
    "svc.job.attempt": attempt,
    "svc.function_id": functionId,
  };
  return {
    name: `queue ${queue}`,
    kind: "consumer",
    traceparent,
    baggage,
    attributes: addTrigger(attributes, "queue"),
    links: traceparent === undefined ? [] : [traceparent],
  };
}
