import { CallError, type ChannelRef } from "@svc/protocol";
import type { Clock } from "../clock.ts";
import type { ChannelHost, OpenEnd } from "./channel-link.ts";
import { ChannelReader, type ReadRef } from "./channel-reader.ts";
import { isChannelRef, replaceChannelRefs } from "./channel-refs.ts";
import type { OpenChannelSocket } from "./channel-socket.ts";
import { ChannelWriter, type WriteRef } from "./channel-writer.ts";

export interface ChannelOptions {
  /** Items that may wait in the engine between writer and reader, 1 to 1,024. Default 64. */
  readonly bufferItems?: number | undefined;
}

/** Both ends of a new channel. An end is used here, or passed on in a payload or a result and used there; never both. */
export interface Channel {
  readonly reader: ChannelReader;
  readonly writer: ChannelWriter;
  readonly readerRef: ReadRef;
  readonly writerRef: WriteRef;
}

/** The ends of channels that a worker holds. */
export class Channels implements ChannelHost {
  readonly address: string;
  readonly openSocket: OpenChannelSocket;
  readonly clock: Clock;
  readonly #open = new Set<OpenEnd>();
  #isClosed = false;

  constructor(options: { readonly address: string; readonly openSocket: OpenChannelSocket; readonly clock: Clock }) {
    this.address = options.address;
    this.openSocket = options.openSocket;
    this.clock = options.clock;
  }

  refusal(): CallError | undefined {
    return this.#isClosed ? new CallError("draining", "the worker was shut down; no channel can be connected any more") : undefined;
  }

  keep(end: OpenEnd): () => void {
    this.#open.add(end);
    return () => {
      this.#open.delete(end);
    };
  }

  /** Both ends of the channel that the engine's answer names. */
  created(answer: unknown): Channel {
    const { reader, writer } = (typeof answer === "object" && answer !== null ? answer : {}) as Readonly<Record<string, unknown>>;
    const ends = { reader: isChannelRef(reader) && this.#endOf(reader), writer: isChannelRef(writer) && this.#endOf(writer) };
    if (!(ends.reader instanceof ChannelReader && ends.writer instanceof ChannelWriter)) {
      throw new CallError("invalid_message", "the engine's answer to engine::channels::create names no channel");
    }
    return { reader: ends.reader, writer: ends.writer, readerRef: ends.reader.ref, writerRef: ends.writer.ref };
  }

  /** An end by its ref. Throws TypeError for what is no ref. */
  end(ref: ChannelRef): ChannelReader | ChannelWriter {
    if (!isChannelRef(ref)) throw new TypeError("not the ref of a channel: it wants channel_id, access_key and a direction of read or write");
    return this.#endOf(ref);
  }

  /** The payload with every ref in it replaced by an end, and those ends. */
  revive(payload: unknown): { readonly payload: unknown; readonly ends: readonly (ChannelReader | ChannelWriter)[] } {
    const ends: (ChannelReader | ChannelWriter)[] = [];
    const revived = replaceChannelRefs(payload, (ref) => {
      const end = this.#endOf(ref);
      ends.push(end);
      return end;
    });
    return { payload: revived, ends };
  }

  #endOf({ channel_id, access_key, direction }: ChannelRef): ChannelReader | ChannelWriter {
    return direction === "read"
      ? new ChannelReader(this, { channel_id, access_key, direction })
      : new ChannelWriter(this, { channel_id, access_key, direction });
  }

  /** One promise for each end that is connected, resolved when it no longer is. */
  ends(): readonly Promise<void>[] {
    return [...this.#open].map(({ closed }) => closed);
  }

  /** Breaks off what is still connected; nothing can be connected from now on. */
  close(): void {
    this.#isClosed = true;
    for (const end of [...this.#open]) end.breakOff(new CallError("channel_closed", "the worker was shut down before the channel ended"));
  }
}
