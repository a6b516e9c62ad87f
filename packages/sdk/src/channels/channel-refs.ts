import type { ChannelRef } from "@svc-runtime/protocol/client";

/**
 * Returns true if the value is an object with the own string members `channel_id` and `access_key`, and with a valid
 * direction.
 */
export function isChannelRef(value: unknown): value is ChannelRef {
  // This fast check already rejects nearly every object that is not a reference.
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
