import type { ChannelItem, ChannelReader, ChannelWriter } from "../module.ts";
import { Scope } from "../scope.ts";
import type { Channel } from "./channel.ts";

/** Takes the reading end of a channel for a module. Throws TypeError if it is already taken. */
export function localReader(channel: Channel): ChannelReader {
  let wake: (() => void) | undefined;
  const isOurs = channel.takeReader({
    onChange: () => {
      wake?.();
      wake = undefined;
    },
  });
  if (!isOurs) throw new TypeError("the reading end of this channel is already taken");
  return {
    get ended() {
      return channel.isEmpty ? channel.state : "open";
    },
    async read(): Promise<ChannelItem | undefined> {
      if (wake !== undefined) throw new TypeError("a read of this channel is already in progress");
      for (;;) {
        const item = channel.take();
        if (item !== undefined || channel.state !== "open") return item;
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
    },
    cancel() {
      channel.leave("the reader left the channel");
      // A reader that has left gets no more callbacks, so a pending read is woken here.
      wake?.();
      wake = undefined;
    },
  };
}

/** Takes the writing end of a channel for a module. Throws TypeError if it is already taken. */
export function localWriter(channel: Channel): ChannelWriter {
  const closedListeners = new Scope();
  let hasRoom: ((stillRead: boolean) => void) | undefined;
  let isOpen = true;
  const settleRoom = (stillRead: boolean): void => {
    hasRoom?.(stillRead);
    hasRoom = undefined;
  };
  const close = (): void => {
    isOpen = false;
    settleRoom(false);
  };
  const isOurs = channel.takeWriter({
    onRoom: () => settleRoom(true),
    onGone: () => {
      close();
      closedListeners.end();
    },
  });
  if (!isOurs) throw new TypeError("the writing end of this channel is already taken");
  return {
    write(item: ChannelItem): Promise<boolean> {
      if (hasRoom !== undefined) return Promise.reject(new TypeError("a write to this channel is already in progress"));
      if (!isOpen) return Promise.resolve(false);
      if (channel.push(item)) return Promise.resolve(true);
      return new Promise((resolve) => {
        hasRoom = resolve;
      });
    },
    end() {
      if (!isOpen) return;
      close();
      channel.finish();
    },
    abort(reason) {
      if (!isOpen) return;
      close();
      channel.abort(reason);
    },
    onClosed: (listener) => closedListeners.add(listener),
  };
}
