import type { Readable } from "node:stream";
import type { Channel, ChannelWriter } from "../../kernel/module.ts";

/** What the function is told of a file. */
export interface FileFacts {
  readonly name: string;
  /** As the client calls it, without folders; null when it does not say. */
  readonly filename: string | null;
  readonly contentType: string;
}

/** A file of a form on its way into its channel. Until `start` its pieces are held; then they go at the reader's pace. */
export class FilePart {
  readonly facts: FileFacts;
  readonly channel: Channel;
  readonly #writer: ChannelWriter;
  readonly #held: Buffer[] = [];
  #source: Readable | undefined;
  #started = false;
  #writing = false;
  #complete = false;
  #whenIdle: (isWaitingForClient: boolean) => void = () => {};

  constructor(facts: FileFacts, channel: Channel, source: Readable) {
    this.facts = facts;
    this.channel = channel;
    this.#writer = channel.takeWriter();
    this.#source = source;
    source.on("end", () => {
      this.#source = undefined;
    });
  }

  push(bytes: Buffer): void {
    this.#held.push(bytes);
    if (this.#started) this.#write();
  }

  /** Lets what is held go. `onPace` hears with true when the client is waited for, with false when the reader is. */
  start(onPace: (isWaitingForClient: boolean) => void = () => {}): void {
    this.#whenIdle = onPace;
    this.#started = true;
    this.#write();
  }

  /** All of the file has come. */
  complete(): void {
    this.#complete = true;
    this.#write();
  }

  abort(reason: string): void {
    this.#writer.abort(reason);
  }

  onReaderGone(listener: () => void): void {
    this.#writer.onClosed(listener);
  }

  #write(): void {
    if (this.#writing || !this.#started) return;
    this.#writing = true;
    void this.#pump();
  }

  async #pump(): Promise<void> {
    this.#source?.pause();
    this.#whenIdle(false);
    for (let bytes = this.#held.shift(); bytes !== undefined; bytes = this.#held.shift()) {
      if (!(await this.#writer.write({ kind: "binary", bytes }))) return;
    }
    this.#writing = false;
    if (this.#complete) {
      this.#writer.end();
      return;
    }
    this.#whenIdle(true);
    this.#source?.resume();
  }
}
