import { randomUUID } from "node:crypto";
import type { ChannelRef } from "@svc/protocol";
import type { ChannelOffer, ChannelReader, ChannelWriter } from "../../../kernel/module.ts";
import { FileContent } from "./file-content.ts";

/** What the function is told of a file. */
export interface FileFacts {
  readonly name: string;
  /** As the client calls it, without folders; null when it does not say. */
  readonly filename: string | null;
  readonly contentType: string;
}

/**
 * A file of a form that has come whole. Its channel is made when the function comes to read it: clients may send many files to
 * functions that want none.
 */
export class FilePart implements ChannelOffer {
  readonly facts: FileFacts;
  readonly content = new FileContent();
  readonly ref: ChannelRef = { channel_id: randomUUID(), access_key: randomUUID(), direction: "read" };
  readonly #onRead: (bytes: number) => void;
  readonly #closers: ((reason: string) => void)[] = [];

  /** `onRead` hears of each piece that the function's channel has taken. */
  constructor(facts: FileFacts, onRead: (bytes: number) => void) {
    this.facts = facts;
    this.#onRead = onRead;
  }

  get key(): string {
    return this.ref.access_key;
  }

  /** What the function is told, as JSON text. */
  get json(): string {
    const { name, filename, contentType } = this.facts;
    return JSON.stringify({ name, filename, content_type: contentType, body: this.ref });
  }

  /** Takes its channel down, if there is one. */
  close(reason: string): void {
    for (const close of this.#closers.splice(0)) close(reason);
  }

  onReader(writer: ChannelWriter, close: (reason: string) => void): void {
    this.#closers.push(close);
    void this.#send(writer);
  }

  /** Nobody has anything to write to a file, and nobody reads it. */
  onWriter(_reader: ChannelReader, close: (reason: string) => void): void {
    this.#closers.push(close);
  }

  /** At the reader's pace. */
  async #send(writer: ChannelWriter): Promise<void> {
    try {
      for await (const bytes of this.content.pieces()) {
        if (!(await writer.write({ kind: "binary", bytes }))) return;
        this.#onRead(bytes.byteLength);
      }
      writer.end();
    } catch {
      // Either the request is over, and its channel with it, or the disk failed: half a file must not look like a whole one.
      writer.abort("the file could not be read back from the engine's disk");
    }
  }
}
