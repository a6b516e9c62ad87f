import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import type { ChannelReader } from "../module.ts";
import type { Scope } from "../scope.ts";
import type { Channels } from "./channels.ts";
import { localReader } from "./local-ends.ts";

/**
 * Takes a reading end for a module; see `ModuleContext.takeChannelReader`. The key in the reference is sufficient, like
 * for a WebSocket that opens the end.
 */
export function takeChannelReader(ref: ChannelRef, channels: Channels, scope: Scope): ChannelReader {
  const { channel_id: id, access_key: key, direction } = ref;
  if (direction !== "read") {
    throw new CallError(
      "invalid_input",
      "the channel's writing end was sent where its reading end is wanted; send the channel's `readerRef` and keep the other",
    );
  }
  const channel = channels.find(id, key, "read");
  if (channel === undefined)
    throw new CallError("NOT_FOUND", `there is no channel ${JSON.stringify(id)} that this key opens`);
  if (channel.readerIsTaken) throw new CallError("NOT_FOUND", `the reading end of the channel ${id} is already taken`);
  const reader = localReader(channel);
  let isOpen = true;
  // When the module stops, the reader leaves, so that the writer does not wait for it.
  const cancel = scope.add(() => {
    isOpen = false;
    reader.cancel();
  });
  return {
    get ended() {
      return reader.ended;
    },
    async read() {
      const item = await reader.read();
      if (item === undefined && isOpen) cancel();
      return item;
    },
    cancel,
  };
}
