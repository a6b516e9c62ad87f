import { CallError, type ChannelRef, Payload } from "@svc-runtime/protocol";
import type { NodeFrameOf } from "@svc-runtime/protocol/nodes";
import type { Channel } from "../channels/channel.ts";
import type { Channels } from "../channels/channels.ts";
import type { ChannelItem } from "../module.ts";
import type { Peer } from "./peer.ts";

/** Bytes of items that may be under way in one channel. One more item of any size is sent as long as some are left. */
const WINDOW_BYTES = 256 * 1024;
/** What an item counts besides its bytes, so that many small ones are bounded as well. */
const ITEM_BYTES = 256;
/** Maximum number of channels between two nodes that one of them opened. */
const MAX_OPENED = 10_000;

type Direction = ChannelRef["direction"];

/** One end of a channel that is at this node, of which the other end is at the peer. */
interface End {
  onItem(item: ChannelItem): void;
  onCredit(bytes: number): void;
  /** The peer's end has ended; without a reason, its writer has finished. */
  onEnd(reason: string | undefined): void;
}

/**
 * Channels between this node and one peer. A channel is at the node that created it, its home. A node that opens an end
 * of a channel of another one has a channel of its own, which is connected with the one at home in both directions:
 * items one way, credit and ends the other way.
 */
export class RemoteChannels {
  readonly #peer: Peer;
  readonly #channels: Channels;
  readonly #ends = new Map<number, End>();
  /** Opened here, by id and direction: a second one who wants an end must find it taken. */
  readonly #opened = new Map<string, Channel>();
  #next: number;

  constructor(peer: Peer, channels: Channels, self: string) {
    this.#peer = peer;
    this.#channels = channels;
    // Both nodes choose numbers. One takes the odd ones, the other one the even ones.
    this.#next = self < peer.run ? 1 : 2;
  }

  /** Returns a channel that stands for the one at the peer. If there is no such one, it ends as soon as that is known. */
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
    // A local reader reads what the peer writes, and the other way round.
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

  /** The peer opens an end of a channel of this node. Throws an Error with a sentence if it breaks the protocol. */
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
    /** What the peer may still send. */
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
        // Credit in small amounts would cost a frame for each item.
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
