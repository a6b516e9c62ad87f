import type { Caller, Job } from "@svc/protocol";
import type { Attributes, AttributeValue } from "../../../kernel/telemetry-contract.ts";
import type { Resource, SpanEvent } from "../model.ts";
import type { CallFailure } from "./call-failure.ts";
import { cutText } from "./payload-preview.ts";

/** What the span of a call tells of it. */
interface CallFacts {
  /** The function's id. */
  readonly name: string;
  readonly invocationId: string;
  readonly resource: Resource;
  readonly caller: Caller | undefined;
  readonly job: Job | undefined;
  readonly failure: CallFailure | undefined;
}

interface CallPayloads {
  readonly failure: CallFailure | undefined;
  readonly startUnixNano: bigint;
  /** Undefined while it is pending. */
  readonly endUnixNano: bigint | undefined;
  /** What is kept; undefined where nothing is. */
  readonly input: string | undefined;
  readonly output: string | undefined;
  /** There was more than is kept. */
  readonly inputCut: boolean;
  readonly outputCut: boolean;
  /** Of the whole. */
  readonly inputBytes: number;
  readonly outputBytes: number;
}

export function attributesOf({ name, invocationId, resource, caller, job, failure }: CallFacts): Attributes {
  const attributes: Record<string, AttributeValue> = { "svc.function_id": name, "svc.invocation_id": invocationId };
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

/** `svc.input`, `svc.output` and `exception`, as far as the call has them. `previewLength` is that of each payload, in characters. */
export function eventsOf(call: CallPayloads, previewLength: number): readonly SpanEvent[] {
  const { input, output, failure } = call;
  const events: SpanEvent[] = [];
  if (input !== undefined) {
    events.push(payloadEvent("svc.input", call.startUnixNano, { text: input, isCut: call.inputCut, bytes: call.inputBytes }, previewLength));
  }
  const end = call.endUnixNano;
  if (end === undefined) return events;
  if (output !== undefined) {
    events.push(payloadEvent("svc.output", end, { text: output, isCut: call.outputCut, bytes: call.outputBytes }, previewLength));
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

function payloadEvent(name: string, timeUnixNano: bigint, { text, isCut, bytes }: KeptPayload, previewLength: number): SpanEvent {
  const isLonger = text.length > previewLength;
  const json = isLonger ? cutText(text, previewLength) : text;
  return { name, timeUnixNano, attributes: { "svc.payload.json": json, "svc.payload.truncated": isCut || isLonger, "svc.payload.bytes": bytes } };
}
