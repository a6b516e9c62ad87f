import { Payload } from "@svc-runtime/protocol";
import type { StreamEvent } from "../../kernel/stream-contract.ts";

/** Trace context of the cause of an event. It is passed to the functions that the event triggers. */
export interface Origin {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

/** A published event. */
export interface PublishedEvent {
  readonly event: StreamEvent;
  /** Sequence number in (stream, group). */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly origin: Origin;
}

/**
 * Returns the payload for functions of `stream` triggers: the message that plain clients receive
 * (`{type: "stream", timestamp, streamName, groupId, id, event}`), with `seq` and, if the item has one, `version`.
 */
export function eventMessage({ event, seq, at }: PublishedEvent): Payload {
  const { stream, group, id, type, json, version } = event;
  const head = `{"type":"stream","timestamp":${at},"streamName":${JSON.stringify(stream)},"groupId":${JSON.stringify(group)},"id":${JSON.stringify(id)}`;
  const inner = `"event":{"type":"${type}","${type === "event" ? "event" : "data"}":${json}}`;
  return Payload.fromText(`${head},${inner},"seq":${seq}${version === undefined ? "" : `,"version":${version}`}}`);
}
