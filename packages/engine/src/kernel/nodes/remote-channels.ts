import { CallError, type ChannelRef, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Channel } from "../channels/channel.ts";
import type { Channels } from "../channels/channels.ts";
import type { ChannelItem } from "../module.ts";
import type { Peer } from "./peer.ts";

/** Bytes of items that may be in transit in one channel. While some of them are left, an item of any size is sent. */
const WINDOW_BYTES = 256 * 1024;
/** Bytes that each item counts in addition to its content, so that the number of small items is limited as well. */
const ITEM_BYTES = 256;
/** Maximum number of channels of the peer that are open at this node. */
const MAX_OPENED = 10_000;

type Direction = ChannelRef["direction"];

/** Callbacks of a channel at this node that is connected with a channel at the peer. */
interface End {
  onItem(item: ChannelItem): void;
  onCredit(bytes: number): void;
  /** The channel at the peer has ended. If there is no reason, its writer has finished. */
  onEnd(reason: string | undefined): void;
}

/**
 * Channels between this node and one peer. The node that created a channel is its home. If a worker opens an end of the
 * channel at another node, that node creates a second channel and connects it with the channel at the home node. Items
 * are sent in one direction, credit in the other direction, and the end in both.
 */
export class RemoteChannels {
  readonly #peer: Peer;
  readonly #channels: Channels;
  readonly #ends = new Map<number, End>();
  /** Channels that were opened at this node. A second connection that opens the same end must find it taken. */
  readonly #opened = new Map<string, Channel>();
  #next: number;

  constructor(peer: Peer, channels: Channels, self: string) {
    this.#peer = peer;
    this.#channels = channels;
    // Both nodes choose channel numbers. So that they differ, one node uses odd numbers and the other even numbers.
    this.#next = self < peer.run ? 1 : 2;
  }

  /**
   * Returns a channel at this node that is connected with the channel at the peer. If the peer has no such channel, the
   * returned channel ends when the peer reports this.
   */
  open({ channel_id: id, access_key: key, direction }: ChannelRef): Channel | undefined {
    const name = `${direction} ${id} ${key}`;
    const known = this.#opened.get(name);
    if (known !== undefined || this.#opened.size >= MAX_OPENED) return known;
    const channel = this.#create(() => this.#opened.delete(name));
    if (channel === undefined) return undefined;
    this.#opened.set(name, channel);
    const number = this.#next;
    this.#next += 2;
    this.#peer.send({ type: "open", channel: number, channel_id: id, access_key: key, direction });
    // If the local end is the reader, the items of the peer are written to the channel, and vice versa.
    this.#connect(number, channel, direction === "read" ? "write" : "read");
    return channel;
  }

  /** Returns undefined if too many channels are open. */
  #create(onOver: () => void): Channel | undefined {
    try {
      return this.#channels.create({ onOver });
    } catch (error) {
      if (CallError.is(error)) return undefined;
      throw error;
    }
  }

  /** The peer opens an end of a channel of this node. Throws an Error if the peer violates the protocol. */
  opened({ channel: number, channel_id: id, access_key: key, direction }: NodeFrameOf<"open">): void {
    if (this.#ends.has(number) || number % 2 === this.#next % 2)
      throw new Error(`it opened the channel ${number} twice`);
    if (this.#ends.size >= 2 * MAX_OPENED) {
      this.#end(number, "too many channels are open between the nodes");
      return;
    }
    const channel = this.#channels.find(id, key, direction);
    if (channel === undefined) this.#end(number, "there is no channel with this id and key");
    else this.#connect(number, channel, direction);
  }

  item({ channel: number, kind }: NodeFrameOf<"item">, payload: Uint8Array): void {
    const bytes = Buffer.from(payload);
    this.#ends.get(number)?.onItem(kind === "binary" ? { kind, bytes } : { kind, text: bytes.toString("utf8") });
  }

  credit({ channel: number, bytes }: NodeFrameOf<"credit">): void {
    this.#ends.get(number)?.onCredit(bytes);
  }

  ended({ channel: number, reason }: NodeFrameOf<"end">): void {
    const end = this.#ends.get(number);
    this.#ends.delete(number);
    end?.onEnd(reason);
  }

  /** The peer is gone: aborts all channels with it. */
  end(reason: string): void {
    for (const end of [...this.#ends.values()]) end.onEnd(`the node of the other end is gone: ${reason}`);
    this.#ends.clear();
  }

  /** Takes the channel's end for the peer: `read` sends its items to the peer, `write` adds the peer's items. */
  #connect(number: number, channel: Channel, direction: Direction): void {
    const isOurs = direction === "read" ? this.#sendItems(number, channel) : this.#receiveItems(number, channel);
    if (isOurs) return;
    this.#end(number, `the ${direction === "read" ? "reading" : "writing"} end of this channel is already taken`);
  }

  #sendItems(number: number, channel: Channel): boolean {
    let credit = 0;
    const pump = (): void => {
      if (!this.#ends.has(number)) return;
      while (credit > 0 && !channel.isEmpty) {
        const item = channel.take() as ChannelItem;
        const bytes = item.kind === "binary" ? item.bytes : Payload.fromText(item.text).bytes();
        credit -= bytes.length + ITEM_BYTES;
        this.#peer.send({ type: "item", channel: number, kind: item.kind }, bytes);
      }
      if (!channel.isEmpty || channel.state === "open") return;
      this.#end(number, channel.state === "finished" ? undefined : channel.reason);
    };
    this.#ends.set(number, {
      onItem: () => {},
      onCredit: (bytes) => {
        credit += bytes;
        pump();
      },
      onEnd: (reason) => channel.leave(reason ?? "the reader left the channel"),
    });
    const isOurs = channel.takeReader({ onChange: pump });
    if (isOurs) pump();
    return isOurs;
  }

  #receiveItems(number: number, channel: Channel): boolean {
    let owed = WINDOW_BYTES;
    /** Bytes that the peer may still send. */
    let credit = 0;
    const grant = (): void => {
      const bytes = owed;
      owed = 0;
      credit += bytes;
      if (bytes > 0) this.#peer.send({ type: "credit", channel: number, bytes });
    };
    const isOurs = channel.takeWriter({ onRoom: grant, onGone: (reason) => this.#end(number, reason) });
    if (!isOurs) return false;
    this.#ends.set(number, {
      onItem: (item) => {
        if (credit <= 0) throw new Error("it sends more items of a channel than it was permitted");
        const bytes = (item.kind === "binary" ? item.bytes.length : Buffer.byteLength(item.text)) + ITEM_BYTES;
        credit -= bytes;
        owed += bytes;
        // Credit is granted in large amounts, because small amounts would cost a frame for each item.
        if (channel.push(item) && owed >= WINDOW_BYTES / 2) grant();
      },
      onCredit: () => {},
      onEnd: (reason) => {
        if (reason === undefined) channel.finish();
        else channel.abort(reason);
      },
    });
    grant();
    return true;
  }

  #end(number: number, reason: string | undefined): void {
    this.#ends.delete(number);
    this.#peer.send({
      type: "end",
      channel: number,
      ...(reason === undefined ? {} : { reason: reason.slice(0, 1024) }),
    });
  }
}
