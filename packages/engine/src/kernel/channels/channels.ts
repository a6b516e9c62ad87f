import { randomUUID } from "node:crypto";
import { CallError } from "@svc-runtime/protocol";
import { type Clock, every } from "../clock.ts";
import { type ByteBudget, Channel } from "./channel.ts";

/** Default maximum number of items that wait in a channel. */
const DEFAULT_BUFFER_ITEMS = 64;
/** Maximum bytes that wait in one channel (plus one item). */
const MAX_WAITING_BYTES = 1024 * 1024;
/** If more bytes than this wait in all channels together, the limit of each channel is CROWDED_WAITING_BYTES. */
const CROWDED_AT_BYTES = 256 * 1024 * 1024;
const CROWDED_WAITING_BYTES = 64 * 1024;
/** Maximum number of open channels. */
const MAX_CHANNELS = 20_000;
/** A channel is destroyed if one of its ends is not taken within this time, in milliseconds. */
const UNTAKEN_FOR_MS = 300_000;
const SWEEP_EVERY_MS = 60_000;

/** Finds or creates the channel with this id, if the key is right. */
type Resolver = (id: string, key: string, direction: "read" | "write") => Channel | undefined;

/** The engine's channels, by id. */
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
  /** Last digits of the ids of this node's channels. Other nodes find this node by them. Empty outside of a cluster. */
  #home = "";

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  get size(): number {
    return this.#channels.size;
  }

  /** Sets the last hexadecimal digits of the ids (UUIDs) of this node's channels. */
  setHome(digits: string): void {
    this.#home = digits;
  }

  /** Returns an id for a channel of this node, a UUID. */
  newId(): string {
    const id = randomUUID();
    return this.#home === "" ? id : id.slice(0, -this.#home.length) + this.#home;
  }

  /** Creates a channel. Throws CallError `overloaded` if too many are open. */
  create(options: { readonly bufferItems?: number | undefined; readonly onOver?: () => void } = {}): Channel {
    if (this.#channels.size >= MAX_CHANNELS) {
      throw new CallError("overloaded", `${MAX_CHANNELS} channels are open, which is the limit; close unused ones`);
    }
    const channel = new Channel({
      id: this.newId(),
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

  /** Returns the channel with this id, if the key is right. */
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
   * Adds a resolver for channels that are created on first use, because most of them are named in a payload and never
   * used. The resolver's owner stores the offered channels. This class does not, because a Map that is written at each
   * request leaves old tables in the heap, which keep young objects alive.
   */
  addResolver(resolver: Resolver): () => void {
    this.#resolvers.push(resolver);
    return () => this.#resolvers.splice(this.#resolvers.indexOf(resolver), 1);
  }

  /**
   * Handles the end of the channel's owner: destroys the channel unless both ends are taken or the writer has finished.
   */
  ownerLeft(channel: Channel): void {
    if (channel.state === "finished" || (channel.readerIsTaken && channel.writerIsTaken)) return;
    channel.destroy("the worker that created the channel has disconnected");
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
