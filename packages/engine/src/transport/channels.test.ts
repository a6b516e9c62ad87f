import { once } from "node:events";
import { channelPath } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { createKernel } from "../create-kernel.ts";
import { localReader, localWriter } from "../kernel/channels/local-ends.ts";
import { systemClock } from "../kernel/clock.ts";
import { silentLogger } from "../kernel/logger.ts";
import { Bridge } from "./bridge.ts";

const undo: (() => void)[] = [];
afterEach(() => {
  for (const close of undo.splice(0).reverse()) close();
});

async function site() {
  const kernel = createKernel({
    clock: systemClock,
    log: silentLogger,
    version: "0",
    deadlines: { defaultTimeoutMs: 30_000, legacyCallTimeoutMs: 900_000 },
  });
  const bridge = new Bridge(kernel, () => ({ allowedOrigins: [], allowedHosts: [] }));
  bridge.startServing();
  await bridge.listener.bind({ host: "127.0.0.1", port: 0 });
  undo.push(() => bridge.listener.close());
  return { kernel, bridge, channel: kernel.channels.create(), url: `ws://127.0.0.1:${bridge.listener.port}` };
}

function dial(url: string, options: { readonly origin?: string } = {}): WebSocket {
  const socket = new WebSocket(url, { handshakeTimeout: 5_000, ...options });
  socket.on("error", () => {});
  undo.push(() => socket.terminate());
  return socket;
}

async function closeOf(socket: WebSocket): Promise<{ readonly code: number; readonly reason: string }> {
  const [code, reason] = (await once(socket, "close")) as [number, Buffer];
  return { code, reason: reason.toString() };
}

async function statusOf(
  url: string,
  options: { readonly origin?: string } = {},
): Promise<{ readonly status: number | undefined; readonly body: string }> {
  const [, response] = (await once(dial(url, options), "unexpected-response")) as [
    unknown,
    import("node:http").IncomingMessage,
  ];
  let body = "";
  for await (const chunk of response) body += String(chunk);
  return { status: response.statusCode, body };
}

describe("a channel's sockets", () => {
  it("carry text and binary items with their boundaries and end without a code when the writer closes", async () => {
    const { channel, url } = await site();
    const writer = dial(url + channelPath(channel.ref("write")));
    await once(writer, "open");
    writer.send("one");
    writer.send(Buffer.from([1, 2, 3]));
    writer.send(Buffer.alloc(0));
    writer.send(Buffer.alloc(70_000, 7));
    writer.close(1000, "stream_complete");
    const reader = dial(url + channelPath(channel.ref("read")));
    const items: unknown[] = [];
    reader.on("message", (data: Buffer, isBinary) => items.push(isBinary ? data.length : data.toString()));
    expect((await closeOf(reader)).code).toBe(1005);
    expect(items).toEqual(["one", 3, 0, 70_000]);
  });

  it("say why a channel broke off in as many whole characters as a close frame takes", async () => {
    const { channel, url } = await site();
    const reader = dial(url + channelPath(channel.ref("read")));
    await once(reader, "open");
    localWriter(channel).abort("é".repeat(200));
    expect(await closeOf(reader)).toEqual({ code: 1011, reason: "é".repeat(61) });
  });

  it("hand 24 MiB through in order while the reader is slow, and hold the writer back", async () => {
    const { channel, url } = await site();
    const [writer, reader] = [
      dial(url + channelPath(channel.ref("write"))),
      dial(url + channelPath(channel.ref("read"))),
    ];
    await Promise.all([once(writer, "open"), once(reader, "open")]);
    reader.pause();
    const chunks = 384;
    for (let index = 0; index < chunks; index++) writer.send(Buffer.alloc(65_536, index % 251));
    const sent = new Promise((resolve) => writer.send("end", resolve));
    writer.close(1000);
    // The operating system buffers some of it; the rest stays with the writer, since the channel holds 1 MiB.
    expect(writer.bufferedAmount).toBeGreaterThan(8 * 1024 * 1024);
    let seen = 0;
    let wrong = 0;
    reader.on("message", (data: Buffer, isBinary) => {
      if (isBinary && data[0] !== seen++ % 251) wrong++;
    });
    reader.resume();
    await Promise.all([sent, closeOf(reader)]);
    expect([seen, wrong]).toEqual([chunks, 0]);
  });

  it("refuse a wrong key, a wrong id and a foreign page before the upgrade, and a malformed query with 400", async () => {
    const { channel, url } = await site();
    const ref = channel.ref("read");
    expect(await statusOf(url + channelPath({ ...ref, access_key: "nope" }))).toMatchObject({
      status: 404,
      body: expect.stringContaining("Channel not found"),
    });
    expect(await statusOf(url + channelPath({ ...ref, channel_id: "nope" }))).toMatchObject({ status: 404 });
    expect(await statusOf(url + channelPath(ref), { origin: "http://evil.example" })).toMatchObject({ status: 403 });
    for (const path of [
      "",
      "?dir=read",
      `?key=${ref.access_key}`,
      `?key=${ref.access_key}&dir=both`,
      "/more?key=x&dir=read",
      "%00?key=%ff&dir=read%",
    ])
      expect((await statusOf(`${url}/ws/channels/${ref.channel_id}${path}`)).status).toBe(400);
  });

  it("close a second reader and a second writer at once (statement 36)", async () => {
    const { channel, url } = await site();
    for (const direction of ["read", "write"] as const) {
      const first = dial(url + channelPath(channel.ref(direction)));
      await once(first, "open");
      const second = dial(url + channelPath(channel.ref(direction)));
      expect(await closeOf(second)).toMatchObject({ code: 1008, reason: expect.stringContaining("taken") });
      expect(first.readyState).toBe(WebSocket.OPEN);
    }
  });

  it("cut the writer off when the reader leaves", async () => {
    const { channel, url, kernel } = await site();
    const writer = dial(url + channelPath(channel.ref("write")));
    const reader = dial(url + channelPath(channel.ref("read")));
    await Promise.all([once(writer, "open"), once(reader, "open")]);
    const cut = closeOf(writer);
    reader.close();
    expect((await cut).code).toBe(1006);
    expect(kernel.channels.size).toBe(0);
  });

  it("tell the reader that it has not got the whole when the writer's connection breaks", async () => {
    const { channel, url } = await site();
    const writer = dial(url + channelPath(channel.ref("write")));
    const reader = dial(url + channelPath(channel.ref("read")));
    await Promise.all([once(writer, "open"), once(reader, "open")]);
    const item = once(reader, "message");
    writer.send("part");
    await item;
    const closed = closeOf(reader);
    writer.terminate();
    expect((await closed).code).toBe(1011);
  });

  it("meet ends that a module holds", async () => {
    const { kernel, channel, url } = await site();
    const reply = kernel.channels.create();
    const socket = dial(url + channelPath(channel.ref("read")));
    const back = dial(url + channelPath(reply.ref("write")));
    socket.on("message", (data, isBinary) => back.send(data, { binary: isBinary }));
    socket.on("close", () => back.close(1000));
    await once(back, "open");
    const writer = localWriter(channel);
    const reader = localReader(reply);
    const writing = (async () => {
      for (let index = 0; index < 200; index++)
        await writer.write({ kind: "binary", bytes: Buffer.alloc(20_000, index) });
      writer.end();
    })();
    let count = 0;
    for (let item = await reader.read(); item !== undefined; item = await reader.read())
      if (item.kind === "binary" && item.bytes[0] === count) count++;
    await writing;
    expect([count, reader.ended]).toEqual([200, "finished"]);
  });

  it("hang up when the engine stops", async () => {
    const { bridge, channel, url } = await site();
    const reader = dial(url + channelPath(channel.ref("read")));
    await once(reader, "open");
    const closed = closeOf(reader);
    bridge.dropAll();
    expect((await closed).code).toBe(1006);
  });
});
