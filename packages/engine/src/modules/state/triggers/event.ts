import { Payload } from "@svc-runtime/protocol";
import type { ItemChange } from "../../../items/outbox.ts";

/** Maximum size of both values in an event together, in bytes: a frame has at most 16 MiB. Each value alone fits. */
const MAX_VALUES_BYTES = 15.5 * 1024 * 1024;

/**
 * Returns the payload for the bound function. The values are the stored JSON texts. If the old and the new value
 * together do not fit in a frame, `old_value` is null and `old_value_omitted` is true.
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
  // A string of n UTF-16 units has at most 3n bytes, so the bytes of most values need not be counted.
  if ((previous.length + json.length) * 3 <= MAX_VALUES_BYTES) return true;
  return Buffer.byteLength(previous) + Buffer.byteLength(json) <= MAX_VALUES_BYTES;
}
