import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import type { ChannelRef } from "@svc/protocol";
import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../kernel/module.ts";

/** What the function is told of a file. */
export interface FileFacts {
  readonly name: string;
  /** As the client calls it, without folders; null when it does not say. */
  readonly filename: string | null;
  readonly contentType: string;
}

/**
 * A file of a form on its way into its channel, which is made when the function comes to read it: clients may send many files to
 * functions that want none. Until then its pieces are held.
 */
export class FilePart implements ChannelOffer {
  readonly facts: FileFacts;
  readonly ref: ChannelRef = { channel_id: randomUUID(), access_key: randomUUID(), direction: "read" };
  readonly #held: Buffer[] = [];
  #source: Readable | undefined;
  #writer: ChannelWriter | undefined;
  readonly #closers: ((reason: string) => void)[] = [];
  #writing = false;
  #complete = false;
  #torn: string | undefined;
  #onPace: (isWaitingForClient: boolean) => void = () => {};
  #onReaderGone: () => void = () => {};

  constructor(facts: FileFacts, source: Readable) {
    this.facts = facts;
    this.#source = source;
    source.on("end", () => {
      this.#source = undefined;
    });
  }

  get key(): string {
    return this.ref.access_key;
  }

  push(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#write();
  }

  /** From now on it comes only as fast as it is read. `onPace` hears with true when the client is waited for, with false when the reader is. */
  stream(on: { pace(isWaitingForClient: boolean): void; readerGone(): void }): void {
    this.#onPace = on.pace;
    this.#onReaderGone = on.readerGone;
    this.#source?.pause();
    this.#onPace(false);
  }

  /** All of the file has come. */
  complete(): void {
    this.#complete = true;
    this.#write();
  }

  /** No more of it will come. */
  abort(reason: string): void {
    this.#torn = reason;
    this.#writer?.abort(reason);
  }

  /** Takes its channel down, if there is one. */
  close(reason: string): void {
    for (const close of this.#closers.splice(0)) close(reason);
  }

  onReader(writer: ChannelWriter, close: (reason: string) => void): void {
    this.#writer = writer;
    this.#closers.push(close);
    writer.onClosed(() => this.#onReaderGone());
    this.#write();
  }

  /** Nobody has anything to write to a file, and nobody reads it. */
  onWriter(_reader: ChannelReader, close: (reason: string) => void): void {
    this.#closers.push(close);
  }

  #write(): void {
    if (this.#writing || this.#writer === undefined) return;
    this.#writing = true;
    void this.#pump(this.#writer);
  }

  async #pump(writer: ChannelWriter): Promise<void> {
    this.#source?.pause();
    this.#onPace(false);
    for (let bytes = this.#held.shift(); bytes !== undefined; bytes = this.#held.shift()) {
      if (!(await writer.write({ kind: "binary", bytes }))) return;
    }
    this.#writing = false;
    if (this.#complete) writer.end();
    else if (this.#torn !== undefined) writer.abort(this.#torn);
    else {
      this.#onPace(true);
      this.#source?.resume();
    }
  }
}
