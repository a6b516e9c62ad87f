import { CallError, type ChannelRef } from "@svc-runtime/protocol";
import { itemLine } from "../../../items/entry-json.ts";
import type { ItemStore } from "../../../items/item-store.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { Channel, ChannelWriter } from "../../../kernel/module.ts";

/** Maximum number of concurrent exports. Each holds a page in memory. */
const MAX_EXPORTS = 16;
const PAGE_BYTES = 1024 * 1024;
/** Lines are written to the channel in chunks of about this length. */
const CHUNK_CHARACTERS = 64 * 1024;
const PAGE_ITEMS = 500;
/** An export is aborted if its reader reads nothing for this time, in milliseconds. */
const STALL_LIMIT_MS = 300_000;

export interface ExportRequest {
  /** Undefined: all scopes. */
  readonly scope: string | undefined;
  /** Prefix of the keys; "" for all. */
  readonly prefix: string;
}

/** Running exports. Each writes to a channel page by page, as fast as the reader reads. */
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

  /** Starts an export to the channel. Throws `overloaded` if the maximum number is running. */
  start(channel: Channel, request: ExportRequest): ChannelRef {
    if (this.#running.size >= MAX_EXPORTS) {
      channel.close("too many exports");
      throw new CallError(
        "overloaded",
        `the maximum of ${MAX_EXPORTS} concurrent exports is reached; read them to the end or close them`,
      );
    }
    const done = this.#run(channel.takeWriter(), request).then(() => {
      this.#running.delete(running);
    });
    const running = { channel, done };
    this.#running.add(running);
    return channel.readerRef;
  }

  /** Aborts running exports. Their readers see that the export is incomplete. */
  async stop(): Promise<void> {
    const running = [...this.#running];
    for (const { channel } of running) channel.close("svc-state is stopping");
    await Promise.all(running.map(({ done }) => done));
  }

  /** Never rejects. Aborts the channel on an error. */
  async #run(writer: ChannelWriter, request: ExportRequest): Promise<void> {
    try {
      let chunk = "";
      for await (const line of this.#lines(request)) {
        chunk += `${line}\n`;
        if (chunk.length < CHUNK_CHARACTERS) continue;
        if (!(await this.#write(writer, chunk))) return;
        chunk = "";
      }
      if (chunk !== "" && !(await this.#write(writer, chunk))) return;
      writer.end();
    } catch (error) {
      this.#log.warn("export failed", { error });
      writer.abort(`the export failed: ${error instanceof Error ? error.message : String(error)}`);
    }
  }

  /** Returns false if the reader has closed the channel or has read nothing for too long. */
  async #write(writer: ChannelWriter, text: string): Promise<boolean> {
    const cancel = this.#clock.after(STALL_LIMIT_MS, () =>
      writer.abort(`nothing was read for ${STALL_LIMIT_MS / 1000} s`),
    );
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
