import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../../kernel/module.ts";
import type { Exchange } from "./exchanges.ts";
import { readStreamHead, type StreamHead } from "./read-stream-head.ts";

/**
 * The channels that a request offers to its function: one to read the body, one to write the response. Published
 * clients expect references to both channels in every request, and before the call it is not known whether the function
 * uses the channels. So every payload has both references, with one id and one key (unless the route has `streaming:
 * false`). Each channel is created only when the function opens it.
 */
export class ExchangeChannels implements ChannelOffer {
  readonly key: string;
  /**
   * Resolves with the start of the function's streamed response, or with undefined if the function aborted the response
   * before it began. Pending until the function opens the response channel or `fail` or `close` is called.
   */
  readonly begun: Promise<StreamHead | undefined>;
  /** Set when the function has opened the channel for the response. */
  reader: ChannelReader | undefined;
  readonly #exchange: Exchange;
  readonly #fill: (writer: ChannelWriter) => void;
  readonly #closers: ((reason: string) => void)[] = [];
  #begin: (head: Promise<StreamHead | undefined> | undefined) => void = () => {};
  #fail: (reason: Error) => void = () => {};

  constructor(exchange: Exchange, key: string, fill: (writer: ChannelWriter) => void) {
    this.#exchange = exchange;
    this.key = key;
    this.#fill = fill;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
    // Prevents an unhandled rejection if `begun` rejects when nothing waits for it any more.
    this.begun.catch(() => {});
    exchange.channels = this;
  }

  onReader(writer: ChannelWriter, close: (reason: string) => void): void {
    this.#closers.push(close);
    this.#fill(writer);
  }

  onWriter(reader: ChannelReader, close: (reason: string) => void): void {
    this.#closers.push(close);
    this.reader = reader;
    this.#begin(readStreamHead(reader));
  }

  /** Rejects `begun` if it has not settled. */
  fail(reason: Error): void {
    this.#fail(reason);
  }

  /** Closes both channels; they can no longer be opened. */
  close(): void {
    this.#exchange.channels = undefined;
    // `begun` takes part in a `Promise.race` with the call. If it stayed pending, it would keep the result of the race
    // in memory for as long as the exchange exists.
    this.#begin(undefined);
    for (const close of this.#closers.splice(0)) close("the request is over");
  }
}

/** Returns the refs of both channels as JSON members, with a leading comma. Both are UUIDs, which need no escaping. */
export function channelMembers(id: string, key: string): string {
  const ref = `{"channel_id":"${id}","access_key":"${key}","direction":`;
  return `,"request_body":${ref}"read"},"response":${ref}"write"}`;
}
