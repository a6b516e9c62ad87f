import { z } from "zod";

/**
 * Reference to one end of a channel, sent in a payload. A worker that has the reference may open this end once. The
 * references to both ends of a channel have the same id and key. `engine::channels::create` creates both references.
 */
export const channelRefSchema = z.object({
  /** UUID. */
  channel_id: z.string(),
  access_key: z.string(),
  direction: z.enum(["read", "write"]),
});
export type ChannelRef = z.output<typeof channelRefSchema>;
