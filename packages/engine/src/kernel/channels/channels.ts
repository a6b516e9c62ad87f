import { randomUUID } from "node:crypto";
import { CallError } from "@svc/protocol";
import { type Clock, every } from "../clock.ts";
import { type ByteBudget, Channel } from "./channel.ts";

/** Items that wait in a channel of default size, at most. */
const DEFAULT_BUFFER_ITEMS = 64;
/** Bytes that wait in one channel, at most (and one item more). */
const MAX_WAITING_BYTES = 1024 * 1024;
/** When all channels together hold more than this, each may hold only so much. */
const CROWDED_AT_BYTES = 256 * 1024 * 1024;
const CROWDED_WAITING_BYTES = 64 * 1024;
/** Channels open at once, at most. */
const MAX_CHANNELS = 20_000;
/** A channel that still has an end that nobody took after so long is removed, in milliseconds; looked at every minute. */
const UNTAKEN_FOR_MS = 300_000;
const SWEEP_EVERY_MS = 60_000;

/** Finds, or makes, the channel that has such an end, when the key opens it. */
type Resolver = (id: string, key: string, direction: "read" | "write") => Channel | undefined;

/** The channels of this engine, by id. */
export class Channels {
  readonly #clock: Clock;
  readonly #channels = new Map<string, Channel>();
  readonly #resolvers: Resolver[] = [];
  readonly #budget: ByteBudget = {
    waiting: 0,
    get perChannel() {
      return this.waiting > CROWDED_AT_BYTES ? CROWDED_WAITING_BYTES : MAX_WAITING_BYTES;
    },
  };
  #stopSweep: (() => void) | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#channels.size;
  }

  /** Makes a channel. Throws CallError `overloaded` when there are too many. */
  create(options: { readonly bufferItems?: number | undefined; readonly onOver?: () => void } = {}): Channel {
    if (this.#channels.size >= MAX_CHANNELS) {
      throw new CallError("overloaded", `${MAX_CHANNELS} channels are open, which is the limit; close those that are not used`);
    }
    const channel = new Channel({
      id: randomUUID(),
      key: randomUUID(),
      createdAtMs: this.#clock.monotonic(),
      maxItems: options.bufferItems ?? DEFAULT_BUFFER_ITEMS,
      budget: this.#budget,
      onOver: ({ id }) => {
        this.#forget(id);
        options.onOver?.();
      },
    });
    this.#channels.set(channel.id, channel);
    this.#stopSweep ??= every(this.#clock, SWEEP_EVERY_MS, () => this.#sweep());
    return channel;
  }

  /** The channel that has such an end, if the key opens it. */
  find(id: string, key: string, direction: "read" | "write"): Channel | undefined {
    const channel = this.#channels.get(id);
    if (channel !== undefined) return channel.opensWith(key) ? channel : undefined;
    for (const resolve of this.#resolvers) {
      const found = resolve(id, key, direction);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  /**
   * Lets channels be found that are made only then: most are named in a payload and never used. Whoever names them keeps them; a
   * table here that is written at each request would leave old tables behind that hold on to young objects.
   */
  addResolver(resolver: Resolver): () => void {
    this.#resolvers.push(resolver);
    return () => this.#resolvers.splice(this.#resolvers.indexOf(resolver), 1);
  }

  /**
   * The owner of the channel is gone: a channel that not both ends have found will not be found any more. One whose writer has
   * finished stays for its reader; one with both ends at work lives as long as they do.
   */
  ownerLeft(channel: Channel): void {
    if (channel.state === "finished" || (channel.readerIsTaken && channel.writerIsTaken)) return;
    channel.destroy("the worker that made the channel is gone");
  }

  #sweep(): void {
    const oldest = this.#clock.monotonic() - UNTAKEN_FOR_MS;
    for (const channel of this.#channels.values()) {
      if (channel.createdAtMs > oldest || (channel.readerIsTaken && channel.writerIsTaken)) continue;
      channel.destroy(`an end of the channel was not taken for ${UNTAKEN_FOR_MS / 1000} s`);
    }
  }

  #forget(id: string): void {
    this.#channels.delete(id);
    if (this.#channels.size > 0) return;
    this.#stopSweep?.();
    this.#stopSweep = undefined;
  }
}
