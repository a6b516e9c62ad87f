import { createHash } from "node:crypto";
import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type RawData, WebSocket } from "ws";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { type ClientProcess, publishedClients } from "./support/published-client.ts";
import type { TappedFrame, WireTap } from "./support/wire-tap.ts";
import { offer, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 34 to 37: channels.

const { connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

interface Ref {
  readonly channel_id: string;
  readonly access_key: string;
  readonly direction: "read" | "write";
}
interface Refs {
  readonly writer: Ref;
  readonly reader: Ref;
}
interface Outcome {
  readonly refs: Refs;
  readonly answer: Readonly<Record<string, unknown>>;
  readonly bytes: number;
  readonly sha256: string;
  readonly texts: readonly string[];
}

/** The bytes that the clients' programs write. */
function sha256OfPattern(length: number): string {
  const bytes = Buffer.allocUnsafe(length);
  for (let i = 0; i < length; i++) bytes[i] = i % 251;
  return createHash("sha256").update(bytes).digest("hex");
}

const urlOf = ({ channel_id, access_key, direction }: Ref, key = access_key): string =>
  `${engine.address}/ws/channels/${channel_id}?key=${encodeURIComponent(key)}&dir=${direction}`;

describe.each(publishedClients)("channels of $name", (client) => {
  const prefix = `channel-${client.program}`;
  let wire: WireTap;
  let writes: ClientProcess;
  let reads: ClientProcess;
  beforeAll(async () => {
    wire = await tap(engine.address);
    [writes, reads] = await Promise.all([connected(client, wire.address), connected(client, engine.address)]);
    await offer(reads, `${prefix}::read`, { kind: "readChannel" });
    await offer(writes, `${prefix}::write`, { kind: "writeChannel", bytes: 1_000_000, texts: ["t"] });
  });

  it.each([
    [
      "statement 34: one made without a size asks with {} and is answered with two ends of one id and key",
      undefined,
      {},
    ],
    ["one made with a size asks for it", 7, { buffer_size: 7 }],
  ])("%s", async (_title, size, data) => {
    const before = wire.frames.length;
    const since = (wanted: (frame: TappedFrame) => boolean): Promise<TappedFrame> =>
      wire.until(
        () =>
          wire.frames
            .slice(before)
            .find((frame) => frame.json?.function_id === "engine::channels::create" && wanted(frame)),
        "a frame of the creation",
      );
    const { refs } = await writes.run<Outcome>("channelTo", { hold: true, size });
    expect((await since(({ from }) => from === "client")).json).toMatchObject({ type: "invokefunction", data });
    expect((await since(({ from }) => from === "engine")).json?.result).toEqual(refs);
    const { writer, reader } = refs;
    expect(writer).toEqual({
      channel_id: expect.stringMatching(/./),
      access_key: expect.stringMatching(/./),
      direction: "write",
    });
    expect(reader).toEqual({ ...writer, direction: "read" });
  });

  it.each([0, 1, 150_000, 12_000_000])(
    "statement 37: a reader deep inside a call's data is revived, and the written %i bytes arrive completely",
    async (bytes) => {
      // The Node clients connect a writer at its first use, so with no bytes there is still a string.
      const { answer } = await writes.run<Outcome>("channelTo", {
        function_id: `${prefix}::read`,
        write: { bytes, texts: ["first", "second ü"] },
      });
      expect(answer).toMatchObject({
        isReader: true,
        bytes,
        sha256: sha256OfPattern(bytes),
        texts: ["first", "second ü"],
      });
    },
  );

  it("statement 37: a writer deep inside a call's data is revived, and sends to the caller", async () => {
    const outcome = await reads.run<Outcome>("channelTo", { function_id: `${prefix}::write` });
    expect(outcome).toMatchObject({
      answer: { isWriter: true },
      bytes: 1_000_000,
      sha256: sha256OfPattern(1_000_000),
      texts: ["t"],
    });
  });

  // The Python client's frames have the same size, but its end differs.
  const itOfNode = client.runtime === "node" ? it : () => {};
  itOfNode(
    "statement 35: 150,000 bytes are frames of 65,536, 65,536 and 18,928, and the end is close 1000 stream_complete",
    async () => {
      const [frames, closes] = [wire.frames.length, wire.closes.length];
      await writes.run("channelTo", { function_id: `${prefix}::read`, write: { bytes: 150_000 } });
      const closed = await wire.until(
        () => wire.closes.slice(closes).find(({ path }) => path.startsWith("/ws/channels/")),
        "the channel's end",
      );
      expect(closed).toMatchObject({ code: 1000, reason: "stream_complete" });
      const sent = wire.frames
        .slice(frames)
        .filter(({ path, from }) => path.startsWith("/ws/channels/") && from === "client");
      expect(sent.map(({ kind, bytes }) => [kind, bytes.length])).toEqual([
        ["binary", 65_536],
        ["binary", 65_536],
        ["binary", 18_928],
      ]);
    },
  );
});

describe("channels between the published clients", () => {
  it("work between each pair", async () => {
    const workers = await Promise.all(publishedClients.map((client) => connected(client, engine.address)));
    await Promise.all(
      workers.map(async (worker, at) => {
        await offer(worker, `mixed-channel::${at}`, { kind: "readChannel" });
      }),
    );
    for (const worker of workers) {
      for (const at of workers.keys()) {
        const { answer } = await worker.run<Outcome>("channelTo", {
          function_id: `mixed-channel::${at}`,
          write: { bytes: 300_000, texts: ["a"] },
        });
        expect(answer).toMatchObject({ bytes: 300_000, sha256: sha256OfPattern(300_000), texts: ["a"] });
      }
    }
  });
});

describe("channel sockets", () => {
  /** Opens one end and records what it receives. */
  async function openEnd(
    url: string,
  ): Promise<{ socket: WebSocket; items: [string, boolean][]; closed: Promise<number> }> {
    const socket = new WebSocket(url);
    const items: [string, boolean][] = [];
    socket.on("message", (data: RawData, isBinary) => items.push([String(data), isBinary]));
    const closed = once(socket, "close").then(([code]) => code as number);
    await once(socket, "open");
    return { socket, items, closed };
  }
  async function statusOf(url: string): Promise<number | undefined> {
    const socket = new WebSocket(url);
    socket.on("error", () => {});
    const [, response] = (await once(socket, "unexpected-response")) as [
      unknown,
      { statusCode?: number; resume(): void },
    ];
    response.resume();
    return response.statusCode;
  }
  async function newChannel(): Promise<Refs> {
    const worker = await raw(engine.address);
    return (await worker.call("engine::channels::create", { data: {} })).result as Refs;
  }

  it("statement 36: a second reader of a channel is upgraded and closed at once, and the first continues", async () => {
    const { reader, writer } = await newChannel();
    const first = await openEnd(urlOf(reader));
    const second = await openEnd(urlOf(reader));
    await second.closed;
    expect(second.items).toEqual([]);
    const writes = await openEnd(urlOf(writer));
    writes.socket.send("text");
    writes.socket.send(Buffer.from("bytes"));
    writes.socket.close(1000);
    await first.closed;
    expect(first.items).toEqual([
      ["text", false],
      ["bytes", true],
    ]);
  });

  it("statement 36: a second writer likewise", async () => {
    const { writer, reader } = await newChannel();
    const first = await openEnd(urlOf(writer));
    const second = await openEnd(urlOf(writer));
    await second.closed;
    const reads = await openEnd(urlOf(reader));
    first.socket.send("still here");
    first.socket.close();
    await reads.closed;
    expect(reads.items).toEqual([["still here", false]]);
  });

  it("statement 36: with a wrong key, id or direction the upgrade fails", async () => {
    const { reader } = await newChannel();
    expect(await statusOf(urlOf(reader, "wrong"))).toBe(404);
    expect(await statusOf(urlOf({ ...reader, channel_id: "00000000-0000-4000-8000-000000000000" }))).toBe(404);
    const [base] = urlOf(reader).split("?");
    for (const query of ["", "?key=x", "?dir=read", "?key=x&dir=sideways"])
      expect(await statusOf(`${base}${query}`)).toBe(400);
    // None of these attempts has opened the end.
    const { socket } = await openEnd(urlOf(reader));
    expect(socket.readyState).toBe(WebSocket.OPEN);
    socket.terminate();
  });

  it("end with their writer: the reader receives everything, then the end", async () => {
    const { writer, reader } = await newChannel();
    const writes = await openEnd(urlOf(writer));
    for (let n = 0; n < 50; n++) writes.socket.send(String(n));
    writes.socket.close(1000, "channel_close");
    await writes.closed;
    const reads = await openEnd(urlOf(reader));
    await reads.closed;
    expect(reads.items.map(([text]) => Number(text))).toEqual(Array.from({ length: 50 }, (_, n) => n));
  });

  it("end with their reader: the writer is disconnected", async () => {
    const { writer, reader } = await newChannel();
    const [reads, writes] = await Promise.all([openEnd(urlOf(reader)), openEnd(urlOf(writer))]);
    reads.socket.terminate();
    await writes.closed;
  });
});
