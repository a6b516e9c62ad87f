import { Payload } from "@svc/protocol";
import type { ItemChange } from "../../../items/outbox.ts";

/** Largest JSON of both values in an event, in bytes: a frame holds 16 MiB, and each value alone fits. */
const MAX_VALUES_BYTES = 15.5 * 1024 * 1024;

/**
 * What the bound function gets. The values are the stored texts, digits and all. When old and new value together do not fit a frame, `old_value` is null
 * and `old_value_omitted` says so.
 */
export function eventPayload({ kind, scope, key, version, previous, json, at }: ItemChange): Payload {
  const omitted = previous !== undefined && json !== undefined && !fitsFrame(previous, json);
  const oldValue = previous === undefined || omitted ? "null" : previous;
  const members = [
    `"type":"state","event_type":"state:${kind}","scope":${JSON.stringify(scope)},"key":${JSON.stringify(key)}`,
    `"old_value":${oldValue}`,
    ...(omitted ? ['"old_value_omitted":true'] : []),
    `"new_value":${json ?? "null"}`,
    `"version":${version},"updated_at":"${new Date(at).toISOString()}"`,
  ];
  return Payload.fromText(`{${members.join(",")}}`);
}

function fitsFrame(previous: string, json: string): boolean {
  // A text of n UTF-16 units has at most 3n bytes, so most need no counting.
  if ((previous.length + json.length) * 3 <= MAX_VALUES_BYTES) return true;
  return Buffer.byteLength(previous) + Buffer.byteLength(json) <= MAX_VALUES_BYTES;
}
