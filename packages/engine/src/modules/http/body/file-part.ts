import { randomUUID } from "node:crypto";
import type { ChannelRef } from "@svc-runtime/protocol";
import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../../kernel/module.ts";
import { FileContent } from "./file-content.ts";

/** The description of a file that the function receives. */
export interface FileFacts {
  readonly name: string;
  /** The client's name for the file, without folders; null if it sent none. */
  readonly filename: string | null;
  readonly contentType: string;
}

/**
 * A completely received file of a form. Its channel is created when the function reads it: clients may send many files
 * to functions that need none.
 */
export class FilePart implements ChannelOffer {
  readonly facts: FileFacts;
  readonly content = new FileContent();
  readonly ref: ChannelRef;
  readonly #onRead: (bytes: number) => void;
  readonly #closers: ((reason: string) => void)[] = [];

  /** `channelId` is for its channel. `onRead` is called with the size of each piece that the function's channel accepted. */
  constructor(facts: FileFacts, channelId: string, onRead: (bytes: number) => void) {
    this.facts = facts;
    this.ref = { channel_id: channelId, access_key: randomUUID(), direction: "read" };
    this.#onRead = onRead;
  }

  get key(): string {
    return this.ref.access_key;
  }

  /** The file's JSON in the function's payload. */
  get json(): string {
    const { name, filename, contentType } = this.facts;
    return JSON.stringify({ name, filename, content_type: contentType, body: this.ref });
  }

  /** Closes its channel, if there is one. */
  close(reason: string): void {
    for (const close of this.#closers.splice(0)) close(reason);
  }

  onReader(writer: ChannelWriter, close: (reason: string) => void): void {
    this.#closers.push(close);
    void this.#send(writer);
  }

  /** A file cannot be written, so nothing reads this channel. */
  onWriter(_reader: ChannelReader, close: (reason: string) => void): void {
    this.#closers.push(close);
  }

  /** With backpressure from the reader. */
  async #send(writer: ChannelWriter): Promise<void> {
    try {
      for await (const bytes of this.content.pieces()) {
        if (!(await writer.write({ kind: "binary", bytes }))) return;
        this.#onRead(bytes.byteLength);
      }
      writer.end();
    } catch {
      // The request ended, and its channel with it, or the disk failed. A partial file must not look complete.
      writer.abort("the file could not be read from the engine's disk");
    }
  }
}
