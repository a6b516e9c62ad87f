import type { ChannelRef } from "./channel-ref.ts";

/** Returns the path and query of the channel end's WebSocket, relative to the address of the bridge. */
export function channelPath({ channel_id, access_key, direction }: ChannelRef): string {
  return `/ws/channels/${encodeURIComponent(channel_id)}?key=${encodeURIComponent(access_key)}&dir=${direction}`;
}
