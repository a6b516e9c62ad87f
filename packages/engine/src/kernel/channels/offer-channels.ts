import { randomUUID } from "node:crypto";
import { CallError } from "@svc/protocol";
import type { Kernel } from "../kernel.ts";
import type { ChannelOffer, ChannelOfferOptions } from "../module.ts";
import type { Scope } from "../scope.ts";
import type { Channel } from "./channel.ts";
import { localReader, localWriter } from "./local-ends.ts";

/** Names a channel to read from and one to write to, and makes each when a worker comes for its end. */
export function offerChannels(options: ChannelOfferOptions, parts: { readonly kernel: Kernel; readonly scope: Scope }): ChannelOffer {
  const { channels } = parts.kernel;
  const id = options.id ?? randomUUID();
  const key = randomUUID();
  let made: { read?: Channel; write?: Channel } | undefined;

  function open(direction: "read" | "write"): Channel | undefined {
    const before = made?.[direction];
    // Whoever comes second finds the end taken.
    if (before !== undefined) return before;
    let channel: Channel;
    try {
      channel = channels.create();
    } catch (error) {
      if (CallError.is(error)) return undefined;
      throw error;
    }
    made ??= {};
    made[direction] = channel;
    if (direction === "read") options.onReader(localWriter(channel));
    else options.onWriter(localReader(channel));
    return channel;
  }

  const close = parts.scope.add(channels.offer(id, key, open));
  return {
    id,
    key,
    close(reason) {
      close();
      made?.read?.destroy(reason);
      made?.write?.destroy(reason);
    },
  };
}
