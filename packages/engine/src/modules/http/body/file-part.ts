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
 * A completely received file of a form. Its channel is created only when the function reads the file, because clients
 * may send many files to functions that do not read files.
 */
export class FilePart implements ChannelOffer {
  readonly facts: FileFacts;
  readonly content = new FileContent();
  readonly ref: ChannelRef;
  readonly #onRead: (bytes: number) => void;
  readonly #closers: ((reason: string) => void)[] = [];

  /**
   * `channelId`: id of the file's channel. `onRead`: called with the size of each piece that the channel has accepted.
   */
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

  /** Closes the file's channel, if the function has opened it. */
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

  /** Sends the content to the reader, only as fast as the reader accepts it. */
  async #send(writer: ChannelWriter): Promise<void> {
    try {
      for await (const bytes of this.content.pieces()) {
        if (!(await writer.write({ kind: "binary", bytes }))) return;
        this.#onRead(bytes.byteLength);
      }
      writer.end();
    } catch {
      // Either the request ended, which closed the channel, or the disk failed. The channel is aborted, so that a
      // partial file does not look complete.
      writer.abort("the file could not be read from the engine's disk");
    }
  }
}
