import { triggerAttributes } from "../../deliveries/trigger-span.ts";
import type { SpanStart } from "../../kernel/telemetry-contract.ts";
import type { LeasedJob } from "./store/job.ts";

interface Trace {
  readonly traceparent?: string | undefined;
  readonly baggage?: string | undefined;
}

/** Span of adding jobs: `enqueue <queue>`. The trace context of the span is stored with the jobs. */
export function enqueueSpan(
  jobs: readonly { readonly queue: string; readonly id?: string | undefined }[],
  { traceparent, baggage }: Trace,
): SpanStart {
  const queues = new Set(jobs.map(({ queue }) => queue));
  const [queue = ""] = queues;
  const attributes = {
    ...messaging("send", queues.size === 1 ? queue : undefined),
    ...(jobs.length === 1 ? {} : { "messaging.batch.message_count": jobs.length }),
  };
  return {
    name: queues.size === 1 ? `enqueue ${queue}` : "enqueue on several queues",
    kind: "producer",
    traceparent,
    baggage,
    attributes,
  };
}

/** Span of publishing to a durable topic: `publish <topic>`. */
export function publishSpan(topic: string, { traceparent, baggage }: Trace): SpanStart {
  return { name: `publish ${topic}`, kind: "producer", traceparent, baggage, attributes: messaging("send", topic) };
}

/** Span of one attempt of a job: `queue <queue>`, in the trace of the job's maker. */
export function attemptSpan({ queue, id, traceparent, baggage, functionId }: LeasedJob, attempt: number): SpanStart {
  const attributes = {
    ...triggerAttributes("queue"),
    ...messaging("process", queue),
    "messaging.message.id": id,
    "svc.job.queue": queue,
    "svc.job.id": id,
    "svc.job.attempt": attempt,
    ...(functionId === undefined ? {} : { "svc.function_id": functionId }),
  };
  return {
    name: `queue ${queue}`,
    kind: "consumer",
    traceparent,
    baggage,
    attributes,
    links: traceparent === undefined ? [] : [traceparent],
  };
}

function messaging(operation: "send" | "process", destination: string | undefined) {
  return {
    "messaging.system": "svc",
    "messaging.operation.type": operation,
    ...(destination === undefined ? {} : { "messaging.destination.name": destination }),
  };
}
