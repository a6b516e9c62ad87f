import { Payload } from "@svc/protocol";
import type { StreamEvent } from "../../kernel/stream-contract.ts";

/** Where the cause of an event stands in a trace, handed on to the functions that it calls. */
export interface Origin {
  readonly traceparent: string | undefined;
  readonly baggage: string | undefined;
}

/** An event that was published. */
export interface PublishedEvent {
  readonly event: StreamEvent;
  /** Its number in (stream, group). */
  readonly seq: number;
  /** Milliseconds since 1970. */
  readonly at: number;
  readonly origin: Origin;
}

/**
 * What a trigger of type `stream` hands to its function: the message that plain clients get (`{type: "stream", timestamp, streamName, groupId, id, event}`),
 * with `seq` and, where the item has one, `version`.
 */
export function eventMessage({ event, seq, at }: PublishedEvent): Payload {
  const { stream, group, id, type, json, version } = event;
  const head = `{"type":"stream","timestamp":${at},"streamName":${JSON.stringify(stream)},"groupId":${JSON.stringify(group)},"id":${JSON.stringify(id)}`;
  const inner = `"event":{"type":"${type}","${type === "event" ? "event" : "data"}":${json}}`;
  return Payload.fromText(`${head},${inner},"seq":${seq}${version === undefined ? "" : `,"version":${version}`}}`);
}
