import { z } from "zod";

/**
 * How one end of a channel is named in a payload. Whoever holds it may take that end, once. Both ends of a channel share id and
 * key; the engine's function `engine::channels::create` makes them.
 */
export const channelRefSchema = z.object({
  /** UUID. */
  channel_id: z.string(),
  access_key: z.string(),
  direction: z.enum(["read", "write"]),
});
export type ChannelRef = z.output<typeof channelRefSchema>;

/** Path and query below the bridge's address at which that end is a WebSocket. */
export function channelPath({ channel_id, access_key, direction }: ChannelRef): string {
  return `/ws/channels/${encodeURIComponent(channel_id)}?key=${encodeURIComponent(access_key)}&dir=${direction}`;
}
