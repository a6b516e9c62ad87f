import { type ChannelRef, MAX_DEPTH } from "@svc-runtime/protocol/client";

/** Whether the value is an object with its own string members `channel_id` and `access_key` and a direction. */
export function isChannelRef(value: unknown): value is ChannelRef {
  // This check is enough for nearly every object.
  if (typeof value !== "object" || value === null || !("access_key" in value)) return false;
  const own = (name: string): unknown =>
    Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined;
  const direction = own("direction");
  return (
    typeof own("channel_id") === "string" &&
    typeof own("access_key") === "string" &&
    (direction === "read" || direction === "write")
  );
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
export function replaceChannelRefs(value: unknown, endOf: (ref: ChannelRef) => object, depth = 0): unknown {
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
