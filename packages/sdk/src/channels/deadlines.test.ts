import { describe, expect, it } from "vitest";
import { ManualClock } from "../manual-clock.test.support.ts";
import type { ChannelReader } from "./channel-reader.ts";
import type { ChannelItem, ChannelSocket, ChannelSocketEvents } from "./channel-socket.ts";
import { channelStreams } from "./channel-streams.ts";
import type { ChannelWriter } from "./channel-writer.ts";
import { Channels } from "./channels.ts";
import {
  HANDSHAKE_TIMEOUT_MS,
  IDLE_LIMIT_MS,
  MAX_SENDING_BYTES,
  MAX_UNREAD_BYTES,
  MAX_UNREAD_UNPAUSABLE_BYTES,
  PING_EVERY_MS,
  STALL_LIMIT_MS,
} from "./limits.ts";

/** A socket in memory. The test calls `events` in place of the engine. */
class MemorySocket implements ChannelSocket {
  readonly events: ChannelSocketEvents;
  isOpen = true;
  bufferedBytes = 0;
  pings = 0;
  isPaused = false;
  terminated = false;
  closed = false;
  #drained: (() => void)[] = [];

  constructor(events: ChannelSocketEvents) {
    this.events = events;
  }
  send(item: ChannelItem): void {
    this.bufferedBytes += item.length;
  }
  drained(limitBytes: number): Promise<void> {
    if (this.bufferedBytes <= limitBytes) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }
  drain(): void {
    this.bufferedBytes = 0;
    for (const resolve of this.#drained.splice(0)) resolve();
  }
  ping(): void {
    this.pings++;
  }
  pause(): void {
    this.isPaused = true;
  }
  resume(): void {
    this.isPaused = false;
  }
  close(): void {
    this.closed = true;
  }
  terminate(): void {
    this.terminated = true;
    for (const resolve of this.#drained.splice(0)) resolve();
    this.events.closed(1006, "");
  }
}

/** A socket as in browsers, without pause. */
class UnpausableSocket extends MemorySocket {
  override readonly pause = undefined as never;
  override readonly resume = undefined as never;
  override readonly ping = undefined as never;
}

function setUp(kind: new (events: ChannelSocketEvents) => MemorySocket = MemorySocket) {
  const clock = new ManualClock();
  const sockets: MemorySocket[] = [];
  const openSocket = (_address: string, events: ChannelSocketEvents): ChannelSocket => {
    const socket = new kind(events);
    sockets.push(socket);
    return socket;
  };
  const channels = new Channels({ address: () => "ws://engine:1", streams: () => channelStreams(openSocket), clock });
  const ref = { channel_id: "c", access_key: "k" };
  return {
    clock,
    channels,
    socket: () => sockets[0] as MemorySocket,
    reader: () => channels.end({ ...ref, direction: "read" }) as ChannelReader,
    writer: () => channels.end({ ...ref, direction: "write" }) as ChannelWriter,
  };
}

/** Runs the continuations of settled promises. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("an end of a channel", () => {
  it("aborts a handshake after ten seconds", async () => {
    const { clock, socket, reader, channels } = setUp();
    const reading = reader().read();
    clock.advance(HANDSHAKE_TIMEOUT_MS - 1);
    expect(socket().terminated).toBe(false);
    clock.advance(1);
    expect(socket().terminated).toBe(true);
    await expect(reading).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("handshake"),
    });
    expect([clock.timers, channels.ends()]).toEqual([0, []]);
  });

  it("that reads pings, and aborts if it receives nothing for a minute", async () => {
    const { clock, socket, reader } = setUp();
    const reading = reader().read();
    socket().events.opened();
    clock.advance(PING_EVERY_MS);
    socket().events.alive();
    clock.advance(IDLE_LIMIT_MS - PING_EVERY_MS);
    expect([socket().pings, socket().terminated]).toEqual([3, false]);
    clock.advance(PING_EVERY_MS);
    expect(socket().terminated).toBe(true);
    await expect(reading).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("nothing was received"),
    });
    expect(clock.timers).toBe(0);
  });

  it("that is paused does not abort because it receives nothing", async () => {
    const { clock, socket, reader } = setUp();
    const end = reader();
    const reading = end.read();
    socket().events.opened();
    socket().events.item(new Uint8Array(1));
    await reading;
    socket().events.item(new Uint8Array(MAX_UNREAD_BYTES + 1));
    expect(socket().isPaused).toBe(true);
    clock.advance(10 * IDLE_LIMIT_MS);
    expect(socket().terminated).toBe(false);
    await end.read();
    expect(socket().isPaused).toBe(false);
    clock.advance(IDLE_LIMIT_MS + PING_EVERY_MS);
    expect(socket().terminated).toBe(true);
  });

  it("that writes aborts if nothing is accepted for five minutes", async () => {
    const { clock, socket, writer } = setUp();
    const end = writer();
    const write = end.write(new Uint8Array(MAX_SENDING_BYTES + 1));
    write.catch(() => {});
    await settled();
    socket().events.opened();
    await settled();
    clock.advance(STALL_LIMIT_MS);
    await expect(write).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("accepted nothing"),
    });
    expect(socket().terminated).toBe(true);
  });

  it("that writes keeps waiting while something is accepted", async () => {
    const { clock, socket, writer } = setUp();
    const write = writer().write(new Uint8Array(4 * MAX_SENDING_BYTES));
    write.catch(() => {});
    await settled();
    socket().events.opened();
    for (let round = 0; round < 3; round++) {
      await settled();
      clock.advance(STALL_LIMIT_MS - 1);
      socket().drain();
    }
    await write;
    expect(socket().terminated).toBe(false);
    expect(clock.timers).toBe(0);
  });

  it("that ends aborts if the engine does not confirm within five minutes", async () => {
    const { clock, socket, writer } = setUp();
    const end = writer().end();
    end.catch(() => {});
    await settled();
    socket().events.opened();
    await settled();
    expect(socket().closed).toBe(true);
    clock.advance(STALL_LIMIT_MS);
    await expect(end).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("did not confirm its end"),
    });
  });

  it("aborts if the platform cannot pause the writer and over 64 MiB are unread", async () => {
    const { clock, socket, reader } = setUp(UnpausableSocket);
    const end = reader();
    const reading = end.read();
    socket().events.opened();
    expect(clock.timers).toBe(0);
    const items = MAX_UNREAD_UNPAUSABLE_BYTES / 65_536;
    for (let n = 0; n < items; n++) socket().events.item(new Uint8Array(65_536));
    await reading;
    expect(socket().terminated).toBe(false);
    socket().events.item(new Uint8Array(65_536));
    expect(socket().terminated).toBe(false);
    socket().events.item(new Uint8Array(1));
    expect(socket().terminated).toBe(true);
    let read = 1;
    const rest = (async () => {
      while ((await end.read()) !== undefined) read++;
    })();
    await expect(rest).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("are unread"),
    });
    expect(read).toBeGreaterThanOrEqual(items);
  });
});
