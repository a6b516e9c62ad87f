import { randomUUID } from "node:crypto";
import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../../kernel/module.ts";
import type { Exchange } from "./exchanges.ts";
import { readHead, type StreamHead } from "./response-head.ts";

/**
 * The channels that a function is told of with a request: one to read the body, one to write the answer. Published clients look for
 * both in every request, and nothing tells before the call whether a function will use them; so both are named in every request
 * (unless the route says `streaming: false`) under one id and key, and made only when the function comes for them.
 */
export class ExchangeChannels implements ChannelOffer {
  readonly key = randomUUID();
  /** How the function's answer begins; undefined when it broke off before. Settles only when the function came to write. */
  readonly begun: Promise<StreamHead | undefined>;
  /** Set when the function came to write. */
  reader: ChannelReader | undefined;
  readonly #exchange: Exchange;
  readonly #fill: (writer: ChannelWriter) => void;
  readonly #closers: ((reason: string) => void)[] = [];
  #begin: (head: Promise<StreamHead | undefined> | undefined) => void = () => {};
  #fail: (reason: Error) => void = () => {};

  constructor(exchange: Exchange, fill: (writer: ChannelWriter) => void) {
    this.#exchange = exchange;
    this.#fill = fill;
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve;
      this.#fail = reject;
    });
    // It may fail when nobody waits any more.
    this.begun.catch(() => {});
    exchange.channels = this;
  }

  /** The refs as members of a JSON object, with a comma before. Ids and keys are UUIDs, which need no escaping. */
  get members(): string {
    const ref = `{"channel_id":"${this.#exchange.id}","access_key":"${this.key}","direction":`;
    return `,"request_body":${ref}"read"},"response":${ref}"write"}`;
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

  /** Makes `begun` reject, if it has not settled. */
  fail(reason: Error): void {
    this.#fail(reason);
  }

  /** Takes both down; nobody can come for them any more. */
  close(): void {
    this.#exchange.channels = undefined;
    // A pending promise would keep the result that won the race against it for as long as the exchange lasts.
    this.#begin(undefined);
    for (const close of this.#closers.splice(0)) close("the request is over");
  }
}
