import { CallError } from "@svc-runtime/protocol";
import type { ChannelOffer } from "../module.ts";
import type { Scope, Undo } from "../scope.ts";
import { type Channel, isSameSecret } from "./channel.ts";
import type { Channels } from "./channels.ts";
import { localReader, localWriter } from "./local-ends.ts";

/** Lets a module offer channels. A channel is created only when a worker opens one of its ends. */
export function resolveChannels(
  find: (id: string) => ChannelOffer | undefined,
  channels: Channels,
  scope: Scope,
): Undo {
  const made = new WeakMap<ChannelOffer, { read?: Channel; write?: Channel }>();

  function resolve(id: string, key: string, direction: "read" | "write"): Channel | undefined {
    const offer = find(id);
    if (offer === undefined || !isSameSecret(key, offer.key)) return undefined;
    const pair = made.get(offer) ?? {};
    made.set(offer, pair);
    // A second connection gets the same channel and finds its end taken.
    const channel = pair[direction] ?? make(offer, direction);
    if (channel !== undefined) pair[direction] = channel;
    return channel;
  }

  function make(offer: ChannelOffer, direction: "read" | "write"): Channel | undefined {
    let channel: Channel;
    try {
      channel = channels.create();
    } catch (error) {
      if (CallError.is(error)) return undefined;
      throw error;
    }
    const close = (reason: string): void => channel.destroy(reason);
    if (direction === "read") offer.onReader(localWriter(channel), close);
    else offer.onWriter(localReader(channel), close);
    return channel;
  }

  return scope.add(channels.addResolver(resolve));
}
