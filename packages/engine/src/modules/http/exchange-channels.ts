import type { ChannelOffer, ChannelReader, ChannelWriter, ModuleContext } from "../../kernel/module.ts";
import type { Exchange } from "./exchanges.ts";
import { readHead, type StreamHead } from "./response-head.ts";

/**
 * The channels that a function is told of with a request: one to read the body, one to write the answer. Published clients look for
 * both in every request, and nothing tells before the call whether a function will use them; so both are named in every request
 * (unless the route says `streaming: false`) under one id and key, and made only when the function comes for them.
 */
export class ExchangeChannels {
  /** How the function's answer begins; undefined when it broke off before. Settles only when the function came to write. */
  readonly begun: Promise<StreamHead | undefined>;
  /** Set when the function came to write. */
  reader: ChannelReader | undefined;
  readonly #offer: ChannelOffer;
  #fail: (reason: Error) => void = () => {};

  constructor(context: Pick<ModuleContext<unknown>, "offerChannels">, exchange: Exchange, fill: (writer: ChannelWriter) => void) {
    let begin: (head: Promise<StreamHead | undefined>) => void = () => {};
    this.begun = new Promise((resolve, reject) => {
      begin = resolve;
      this.#fail = reject;
    });
    // It may fail when nobody waits any more.
    this.begun.catch(() => {});
    this.#offer = context.offerChannels({
      id: exchange.id,
      onReader: fill,
      onWriter: (reader) => {
        this.reader = reader;
        begin(readHead(reader));
      },
    });
  }

  /** The refs as members of a JSON object, with a comma before. Ids and keys are UUIDs, which need no escaping. */
  get members(): string {
    const { id, key } = this.#offer;
    const ref = `{"channel_id":"${id}","access_key":"${key}","direction":`;
    return `,"request_body":${ref}"read"},"response":${ref}"write"}`;
  }

  /** Makes `begun` reject, if it has not settled. */
  fail(reason: Error): void {
    this.#fail(reason);
  }

  /** Takes both down. */
  close(): void {
    this.#offer.close("the request is over");
  }
}
