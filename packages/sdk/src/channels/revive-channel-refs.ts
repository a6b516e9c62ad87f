import { type ChannelRef, MAX_DEPTH } from "@svc-runtime/protocol/client";
import type { ChannelReader } from "./channel-reader.ts";
import { isChannelRef } from "./channel-refs.ts";
import type { ChannelWriter } from "./channel-writer.ts";
import type { Channels } from "./channels.ts";

/** Returns the payload with every ref replaced by an end, and those ends. */
export function reviveChannelRefs(
  payload: unknown,
  channels: Pick<Channels, "end">,
): { readonly payload: unknown; readonly ends: readonly (ChannelReader | ChannelWriter)[] } {
  const ends: (ChannelReader | ChannelWriter)[] = [];
  const revived = replaceChannelRefs(payload, (ref) => {
    const end = channels.end(ref);
    ends.push(end);
    return end;
  });
  return { payload: revived, ends };
}

/**
 * Whether JSON text may contain a ref. Far cheaper than a search in the parsed value. Misses a member name with
 * escapes, but no JSON writer escapes letters.
 */
export function mayHoldChannelRefs(json: string): boolean {
  return json.includes('"access_key"');
}

/**
 * Replaces every ref inside a parsed JSON value, in place, up to the maximum depth of frames. Returns the value, or its
 * replacement if the value itself is a ref.
 */
function replaceChannelRefs(value: unknown, endOf: (ref: ChannelRef) => object, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isChannelRef(value)) return endOf(value);
  if (depth >= MAX_DEPTH) return value;
  for (const key of Object.keys(value)) {
    const before = (value as Readonly<Record<string, unknown>>)[key];
    const after = replaceChannelRefs(before, endOf, depth + 1);
    // Defines the member instead of assigning it: its name may be `__proto__`.
    if (after !== before)
      Object.defineProperty(value, key, { value: after, writable: true, enumerable: true, configurable: true });
  }
  return value;
}
