import { type ChannelRef, MAX_DEPTH } from "@svc-runtime/protocol/client";
import type { ChannelReader } from "./channel-reader.ts";
import { isChannelRef } from "./channel-refs.ts";
import type { ChannelWriter } from "./channel-writer.ts";
import type { Channels } from "./channels.ts";

/** Returns the payload with an end in place of each channel reference, and the list of these ends. */
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
 * Returns true if JSON text may contain a channel reference. This is far faster than a search in the parsed value. It
 * does not find a member name that is written with escapes, but no JSON library escapes letters.
 */
export function mayHoldChannelRefs(json: string): boolean {
  return json.includes('"access_key"');
}

/**
 * Replaces each channel reference inside a parsed JSON value, in place, up to the maximum depth of frames. Returns the
 * value, or its replacement if the value itself is a reference.
 */
function replaceChannelRefs(value: unknown, endOf: (ref: ChannelRef) => object, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isChannelRef(value)) return endOf(value);
  if (depth >= MAX_DEPTH) return value;
  for (const key of Object.keys(value)) {
    const before = (value as Readonly<Record<string, unknown>>)[key];
    const after = replaceChannelRefs(before, endOf, depth + 1);
    // Uses defineProperty instead of an assignment, because the member may be named `__proto__`.
    if (after !== before)
      Object.defineProperty(value, key, { value: after, writable: true, enumerable: true, configurable: true });
  }
  return value;
}
