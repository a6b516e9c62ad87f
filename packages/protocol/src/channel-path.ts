import type { ChannelRef } from "./channel-ref.ts";

/** Returns path and query of that end's WebSocket, below the bridge's address. */
export function channelPath({ channel_id, access_key, direction }: ChannelRef): string {
  return `/ws/channels/${encodeURIComponent(channel_id)}?key=${encodeURIComponent(access_key)}&dir=${direction}`;
}
