import type { ChannelRef } from "@svc-runtime/protocol/client";

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
