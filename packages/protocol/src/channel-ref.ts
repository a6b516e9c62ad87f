import { z } from "zod";

/**
 * Reference to one end of a channel in a payload. Its owner may open that end, once. Both ends of a channel share id
 * and key. The engine's function `engine::channels::create` creates them.
 */
export const channelRefSchema = z.object({
  /** UUID. */
  channel_id: z.string(),
  access_key: z.string(),
  direction: z.enum(["read", "write"]),
});
export type ChannelRef = z.output<typeof channelRefSchema>;
