import type { Attributes, AttributeValue } from "@svc-runtime/engine/module";
import type { Caller, Job } from "@svc-runtime/protocol";
import type { Resource, SpanEvent } from "../telemetry-records.ts";
import type { CallFailure } from "./call-failure.ts";
import { cutText } from "./payload-preview.ts";

interface CallFacts {
  /** The function's id. */
  readonly name: string;
  readonly invocationId: string;
  /** Origin of the call: `call`, `http`, `queue`, … */
  readonly source: string;
  readonly resource: Resource;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
  readonly failure: CallFailure | undefined;
}

interface CallPayloads {
  readonly failure: CallFailure | undefined;
  readonly startUnixNano: bigint;
  /** Undefined while the call is pending. */
  readonly endUnixNano: bigint | undefined;
  /** Stored text of the input; undefined if none is stored. */
  readonly input: string | undefined;
  readonly output: string | undefined;
  /** True if the stored text is only the beginning of the payload. */
  readonly inputCut: boolean;
  readonly outputCut: boolean;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

export function attributesOf({ name, invocationId, source, resource, caller, job, failure }: CallFacts): Attributes {
  const attributes: Record<string, AttributeValue> = { "svc.function_id": name, "svc.invocation_id": invocationId };
  if (source !== "") attributes["svc.source"] = source;
  if (resource.workerId !== undefined) attributes["svc.worker.id"] = resource.workerId;
  attributes["svc.worker.name"] = resource.service;
  if (caller !== undefined) {
    attributes["svc.caller.name"] = caller.name;
    attributes["svc.caller.worker_id"] = caller.worker_id;
  }
  if (job !== undefined) {
    attributes["svc.job.queue"] = job.queue;
    attributes["svc.job.id"] = job.id;
    attributes["svc.job.attempt"] = job.attempt;
  }
  if (failure !== undefined) attributes["svc.error.code"] = failure.code;
  return attributes;
}

/** Returns the events `svc.input`, `svc.output` and `exception`. `previewLength` limits each payload, in characters. */
export function eventsOf(call: CallPayloads, previewLength: number): readonly SpanEvent[] {
  const { input, output, failure } = call;
  const events: SpanEvent[] = [];
  if (input !== undefined) {
    events.push(
      payloadEvent(
        "svc.input",
        call.startUnixNano,
        { text: input, isCut: call.inputCut, bytes: call.inputBytes },
        previewLength,
      ),
    );
  }
  const end = call.endUnixNano;
  if (end === undefined) return events;
  if (output !== undefined) {
    events.push(
      payloadEvent("svc.output", end, { text: output, isCut: call.outputCut, bytes: call.outputBytes }, previewLength),
    );
  }
  if (failure !== undefined) {
    const { code, message, stacktrace } = failure;
    const attributes: Record<string, AttributeValue> = { "exception.type": code, "exception.message": message };
    if (stacktrace !== undefined) attributes["exception.stacktrace"] = stacktrace;
    events.push({ name: "exception", timeUnixNano: end, attributes });
  }
  return events;
}

interface KeptPayload {
  readonly text: string;
  readonly isCut: boolean;
  readonly bytes: number;
}

function payloadEvent(
  name: string,
  timeUnixNano: bigint,
  { text, isCut, bytes }: KeptPayload,
  previewLength: number,
): SpanEvent {
  const isLonger = text.length > previewLength;
  const json = isLonger ? cutText(text, previewLength) : text;
  return {
    name,
    timeUnixNano,
    attributes: { "svc.payload.json": json, "svc.payload.truncated": isCut || isLonger, "svc.payload.bytes": bytes },
  };
}
