import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type ByteBudget, Channel } from "../../kernel/channels/channel.ts";
import { Channels } from "../../kernel/channels/channels.ts";
import { localReader, localWriter } from "../../kernel/channels/local-ends.ts";
import type { ChannelItem } from "../../kernel/module.ts";
import { inMemoryEngine, manualClock } from "../../testing/index.ts";
import { engineFunctions } from "./index.ts";

const text = (value: string): ChannelItem => ({ kind: "text", text: value });
const binary = (length: number): ChannelItem => ({ kind: "binary", bytes: Buffer.alloc(length) });

function channelOf(options: { readonly maxItems?: number; readonly budget?: ByteBudget } = {}): {
  readonly channel: Channel;
  readonly over: () => boolean;
} {
  let isOver = false;
  const channel = new Channel({
    id: "c",
    key: "k",
    createdAtMs: 0,
    maxItems: options.maxItems ?? 4,
    budget: options.budget ?? { waiting: 0, perChannel: 1_000 },
    onOver: () => {
      isOver = true;
    },
  });
  return { channel, over: () => isOver };
}

describe("a channel", () => {
  it("hands on every item once, in order, however writes and reads interleave", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.oneof(fc.string().map(text), fc.nat(400).map(binary)), { maxLength: 60 }),
        fc.integer({ min: 1, max: 8 }),
        async (items, maxItems) => {
          const { channel, over } = channelOf({ maxItems });
          const reader = localReader(channel);
          const writer = localWriter(channel);
          const writing = (async () => {
            for (const item of items) await writer.write(item);
            writer.end();
          })();
          const read: ChannelItem[] = [];
          for (let item = await reader.read(); item !== undefined; item = await reader.read()) read.push(item);
          await writing;
          expect(read).toEqual(items);
          expect(reader.ended).toBe("finished");
          expect(over()).toBe(true);
        },
      ),
      { numRuns: 100 },
    );
  });

  it("asks the writer to wait at its bound of items, and at its bound of bytes", () => {
    const { channel } = channelOf({ maxItems: 3 });
    expect([channel.push(text("a")), channel.push(text("b")), channel.push(text("c"))]).toEqual([true, true, false]);
    const wide = channelOf({ maxItems: 100, budget: { waiting: 0, perChannel: 1_000 } });
    expect([wide.channel.push(binary(999)), wide.channel.push(binary(5_000))]).toEqual([true, false]);
  });

  it("gives each end out once", () => {
    const { channel } = channelOf();
    localReader(channel);
    localWriter(channel);
    expect(() => localReader(channel)).toThrow("taken");
    expect(() => localWriter(channel)).toThrow("taken");
  });

  it("lets the reader finish what waits before it says that the writer broke off", async () => {
    const { channel } = channelOf();
    const writer = localWriter(channel);
    await writer.write(text("a"));
    writer.abort("boom");
    const reader = localReader(channel);
    expect(reader.ended).toBe("open");
    expect(await reader.read()).toEqual(text("a"));
    expect(await reader.read()).toBeUndefined();
    expect(reader.ended).toBe("aborted");
  });

  it("tells a writer that waits, and one that comes later, that the reader has left", async () => {
    const { channel, over } = channelOf({ maxItems: 1 });
    const writer = localWriter(channel);
    let told = 0;
    writer.onClosed(() => told++);
    const waiting = writer.write(text("a"));
    localReader(channel).cancel();
    expect(await waiting).toBe(false);
    expect(await writer.write(text("b"))).toBe(false);
    expect(told).toBe(1);
    expect(over()).toBe(true);
  });

  it("keeps a finished stream for a reader that comes later", async () => {
    const { channel, over } = channelOf();
    const writer = localWriter(channel);
    await writer.write(text("a"));
    writer.end();
    expect(over()).toBe(false);
    const reader = localReader(channel);
    expect(await reader.read()).toEqual(text("a"));
    expect(await reader.read()).toBeUndefined();
    expect(over()).toBe(true);
  });
});

describe("the channels of an engine", () => {
  it("opens a channel to its own key only", () => {
    const channels = new Channels(manualClock());
    const channel = channels.create();
    const { access_key } = channel.ref("read");
    expect(channels.find(channel.id, access_key, "read")).toBe(channel);
    for (const key of ["", "x", access_key.slice(1), `${access_key}x`, access_key.toUpperCase()])
      expect(channels.find(channel.id, key, "read")).toBeUndefined();
    expect(channels.find("__proto__", access_key, "read")).toBeUndefined();
  });

  it("removes a channel with an end that nobody took for 300 s, and none that is in use", () => {
    const clock = manualClock();
    const channels = new Channels(clock);
    const inUse = channels.create();
    localReader(inUse);
    localWriter(inUse);
    const lonely = channels.create();
    let isCut = false;
    localWriter(lonely).onClosed(() => {
      isCut = true;
    });
    clock.advance(240_000);
    expect(channels.size).toBe(2);
    clock.advance(120_000);
    expect([channels.size, isCut]).toEqual([1, true]);
  });

  it("lets each hold less while all together hold much", () => {
    const channels = new Channels(manualClock());
    const big = Array.from({ length: 17 }, () => channels.create());
    for (const channel of big) channel.push(binary(16 * 1024 * 1024));
    const small = channels.create();
    expect(small.push(binary(64 * 1024))).toBe(false);
    for (const channel of big) channel.destroy("done");
    const roomy = channels.create();
    expect(roomy.push(binary(64 * 1024))).toBe(true);
  });

  it("counts nothing that is gone", () => {
    const clock = manualClock();
    const channels = new Channels(clock);
    for (let index = 0; index < 100; index++) {
      const channel = channels.create();
      const writer = localWriter(channel);
      const reader = localReader(channel);
      writer.end();
      expect(reader.ended).toBe("finished");
    }
    expect(channels.size).toBe(0);
  });
});

describe("engine::channels::create", () => {
  it("answers two refs with one id and one key (statement 34)", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as never)] });
    const worker = await engine.connectWorker();
    const frame = await worker.call("engine::channels::create", {});
    const { writer, reader } = frame.result as Record<"writer" | "reader", Record<string, string>>;
    expect(writer).toEqual({ ...reader, direction: "write" });
    expect(reader.direction).toBe("read");
    expect((await worker.call("engine::channels::create", { buffer_size: 0 })).error).toMatchObject({
      code: "invalid_input",
    });
    expect((await worker.call("engine::channels::create", { buffer_size: 1025 })).error).toMatchObject({
      code: "invalid_input",
    });
    expect((await worker.call("engine::channels::create", { buffer_size: null })).error).toBeNull();
    await engine.stop();
  });

  it("takes a worker's channels down with its connection, but leaves a finished one to its reader", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as never)] });
    const worker = await engine.connectWorker();
    const make = async (): Promise<Record<"writer" | "reader", unknown>> =>
      (await worker.call("engine::channels::create", {})).result as never;
    const untaken = await make();
    const finished = await make();
    const writer = engine.takeWriter(finished.writer);
    await writer.write(text("whole"));
    writer.end();
    const lost = await make();
    const reader = engine.takeReader(lost.reader);
    worker.close();
    await worker.closed;
    expect(await reader.read()).toBeUndefined();
    expect(reader.ended).toBe("aborted");
    expect(() => engine.takeReader(untaken.reader)).toThrow("no channel");
    expect(await engine.takeReader(finished.reader).read()).toEqual(text("whole"));
    await engine.stop();
  });

  it("refuses a worker more than 2,000 open channels", async () => {
    const engine = await inMemoryEngine({ modules: [engineFunctions(() => ({}) as never)] });
    const worker = await engine.connectWorker();
    const answers = await Promise.all(Array.from({ length: 2_001 }, () => worker.call("engine::channels::create", {})));
    const refused = answers.filter(({ error }) => error !== null);
    expect([refused.length, refused[0]?.error]).toEqual([1, expect.objectContaining({ code: "overloaded" })]);
    worker.close();
    await worker.closed;
    expect(engine.kernel.channels.size).toBe(0);
    await engine.stop();
  });
});
