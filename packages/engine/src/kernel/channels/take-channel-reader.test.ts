import type { ChannelRef } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/index.ts";
import { type ChannelReader, defineModule, type ModuleContext } from "../module.ts";

let engine: InMemoryEngine;
let context: ModuleContext<unknown>;

const taker = defineModule({
  name: "taker",
  summary: "Hands its context to the test",
  config: z.unknown(),
  start(own) {
    context = own;
    return { stop() {} };
  },
});

beforeEach(async () => {
  engine = await inMemoryEngine({ modules: [taker] });
});
afterEach(() => engine.stop());

async function allOf(reader: ChannelReader): Promise<string[]> {
  const texts: string[] = [];
  for (let item = await reader.read(); item !== undefined; item = await reader.read())
    texts.push(item.kind === "text" ? item.text : item.bytes.toString());
  return texts;
}

describe("a channel's reading end that a module takes by its ref", () => {
  it("gets what the writer wrote, to the end", async () => {
    const channel = context.createChannel();
    const reader = context.takeChannelReader(channel.readerRef);
    const writer = channel.takeWriter();
    await writer.write({ kind: "text", text: "a" });
    await writer.write({ kind: "binary", bytes: Buffer.from("b") });
    writer.end();
    expect(await allOf(reader)).toEqual(["a", "b"]);
    expect(reader.ended).toBe("finished");
  });

  it("is refused for a ref that opens nothing, for the other end, and for one that is taken", () => {
    const channel = context.createChannel();
    const ref: ChannelRef = channel.readerRef;
    expect(() => context.takeChannelReader({ ...ref, access_key: "guessed" })).toThrow("that this key opens");
    expect(() => context.takeChannelReader({ ...ref, channel_id: "nothing" })).toThrow('there is no channel "nothing"');
    expect(() => context.takeChannelReader(channel.writerRef)).toThrow("writing end was sent");
    context.takeChannelReader(ref);
    expect(() => context.takeChannelReader(ref)).toThrow("is already taken");
  });

  it("is given up when the module stops, and the writer learns it", async () => {
    const channel = engine.kernel.channels.create();
    const writer = engine.takeWriter(channel.ref("write"));
    const gone = new Promise<void>((resolve) => writer.onClosed(resolve));
    context.takeChannelReader(channel.ref("read"));
    await engine.applyModules([]);
    await gone;
    expect(await writer.write({ kind: "text", text: "too late" })).toBe(false);
  });
});
