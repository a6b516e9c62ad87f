import { CallError, type ChannelRef } from "@svc/protocol";
import { itemLine } from "../../../items/entry-json.ts";
import type { ItemStore } from "../../../items/item-store.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Channel, ChannelWriter } from "../../../kernel/module.ts";

/** Exports at once; each holds a page. */
const MAX_EXPORTS = 16;
/** A page that is read, and a piece of lines that is written, in bytes. */
const PAGE_BYTES = 1024 * 1024;
const PIECE_CHARACTERS = 64 * 1024;
const PAGE_ITEMS = 500;
/** A reader that takes nothing for so long is given up, in milliseconds. */
const STALL_LIMIT_MS = 300_000;

export interface ExportRequest {
  /** Undefined: all. */
  readonly scope: string | undefined;
  /** Of keys. */
  readonly prefix: string;
}

/** Exports under way. Each goes into a channel as fast as its reader takes it, page by page. */
export class Exports {
  readonly #store: ItemStore;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #running = new Set<{ readonly channel: Channel; readonly done: Promise<void> }>();

  constructor(parts: { readonly store: ItemStore; readonly clock: Clock; readonly log: Logger }) {
    this.#store = parts.store;
    this.#clock = parts.clock;
    this.#log = parts.log;
  }

  /** Begins to write into the channel. Throws `overloaded` when as many are under way as may be. */
  start(channel: Channel, request: ExportRequest): ChannelRef {
    if (this.#running.size >= MAX_EXPORTS) {
      channel.close("too many exports");
      throw new CallError("overloaded", `${MAX_EXPORTS} exports are under way, which is the limit; read them to their end, or close them`);
    }
    const done = this.#run(channel.takeWriter(), request).then(() => {
      this.#running.delete(running);
    });
    const running = { channel, done };
    this.#running.add(running);
    return channel.readerRef;
  }

  /** Breaks off what is under way; readers learn that they have not got the whole. */
  async stop(): Promise<void> {
    const running = [...this.#running];
    for (const { channel } of running) channel.close("svc-state stops");
    await Promise.all(running.map(({ done }) => done));
  }

  /** Never rejects: what goes wrong tears the channel. */
  async #run(writer: ChannelWriter, request: ExportRequest): Promise<void> {
    try {
      let piece = "";
      for await (const line of this.#lines(request)) {
        piece += `${line}\n`;
        if (piece.length < PIECE_CHARACTERS) continue;
        if (!(await this.#write(writer, piece))) return;
        piece = "";
      }
      if (piece !== "" && !(await this.#write(writer, piece))) return;
      writer.end();
    } catch (error) {
      this.#log.warn("an export broke off", { error });
      writer.abort(`the export broke off: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** False when the reader is gone or has taken nothing for too long. */
  async #write(writer: ChannelWriter, text: string): Promise<boolean> {
    const cancel = this.#clock.after(STALL_LIMIT_MS, () => writer.abort(`nothing was read for ${STALL_LIMIT_MS / 1000} s`));
    try {
      return await writer.write({ kind: "text", text });
    } finally {
      cancel();
    }
  }

  async *#lines({ scope, prefix }: ExportRequest): AsyncGenerator<string> {
    for await (const name of scope === undefined ? this.#scopes() : [scope]) {
      let after: string | undefined;
      for (let more = true; more; ) {
        const page = await this.#store.page(name, { prefix, after, limit: PAGE_ITEMS, maxBytes: PAGE_BYTES });
        for (const item of page.items) yield itemLine(name, item);
        after = page.items[page.items.length - 1]?.key;
        more = page.more && after !== undefined;
      }
    }
  }

  async *#scopes(): AsyncGenerator<string> {
    let after: string | undefined;
    for (let more = true; more; ) {
      const page = await this.#store.groups({ prefix: "", after, limit: PAGE_ITEMS });
      for (const { scope } of page.groups) yield scope;
      after = page.groups[page.groups.length - 1]?.scope;
      more = page.more && after !== undefined;
    }
  }
}
