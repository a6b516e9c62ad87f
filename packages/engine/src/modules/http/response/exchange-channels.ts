import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../../kernel/module.ts";
import type { Exchange } from "./exchanges.ts";
import { readHead, type StreamHead } from "./response-head.ts";

/**
 * The channels that a request offers to its function: one to read the body, one to write the response. Published
 * clients expect both in every request, and before the call it is not known whether the function uses them. So every
 * request names both under one id and key (unless the route has `streaming: false`), and each is created only when the
 * function opens it.
 */
export class ExchangeChannels implements ChannelOffer {
  readonly key: string;
  /**
   * The start of the function's response; undefined if the function aborted before. Settles only if the function opens
   * the channel.
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
    // It may reject when its result is no longer awaited.
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
    this.#begin(readHead(reader));
  }

  /** Rejects `begun` if it has not settled. */
  fail(reason: Error): void {
    this.#fail(reason);
  }

  /** Closes both channels; they can no longer be opened. */
  close(): void {
    this.#exchange.channels = undefined;
    // A pending promise would keep the winner of a race against it in memory for as long as the exchange exists.
    this.#begin(undefined);
    for (const close of this.#closers.splice(0)) close("the request is over");
  }
}

/** Returns the refs of both channels as JSON members, with a leading comma. Both are UUIDs, which need no escaping. */
export function channelMembers(id: string, key: string): string {
  const ref = `{"channel_id":"${id}","access_key":"${key}","direction":`;
  return `,"request_body":${ref}"read"},"response":${ref}"write"}`;
}
