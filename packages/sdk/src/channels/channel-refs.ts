import { type ChannelRef, MAX_DEPTH } from "@svc/protocol";

/** True for an object with its own text members `channel_id` and `access_key` and a direction. */
export function isChannelRef(value: unknown): value is ChannelRef {
  // Of nearly every object this one look is enough.
  if (typeof value !== "object" || value === null || !("access_key" in value)) return false;
  const own = (name: string): unknown => (Object.hasOwn(value, name) ? (value as Readonly<Record<string, unknown>>)[name] : undefined);
  const direction = own("direction");
  return typeof own("channel_id") === "string" && typeof own("access_key") === "string" && (direction === "read" || direction === "write");
}

/**
 * True when JSON text may hold a ref, which is far cheaper to see than to walk its value. A member name written with escapes is
 * missed; no JSON writer escapes letters.
 */
export function mayHoldChannelRefs(json: string): boolean {
  return json.includes('"access_key"');
}

/** Replaces every ref inside a parsed JSON value, in place, down to the depth that frames may have. Returns the value, or what replaces it. */
export function replaceChannelRefs(value: unknown, endOf: (ref: ChannelRef) => object, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  if (isChannelRef(value)) return endOf(value);
  if (depth >= MAX_DEPTH) return value;
  for (const key of Object.keys(value)) {
    const before = (value as Readonly<Record<string, unknown>>)[key];
    const after = replaceChannelRefs(before, endOf, depth + 1);
    // Defined, not assigned: a member may be called `__proto__`.
    if (after !== before) Object.defineProperty(value, key, { value: after, writable: true, enumerable: true, configurable: true });
  }
  return value;
}
