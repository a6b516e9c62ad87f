import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import { createReadStream, createWriteStream, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { freePorts } from "@svc-runtime/protocol/testing";
import { type ChannelReader, type ChannelRef, type ChannelWriter, connect, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { eventually } from "./support/processes.ts";

const MB = 1024 * 1024;
const project = mkdtempSync(join(tmpdir(), "svc-channels-"));
let ports: Ports;
let engine: EngineProcess;
let near: Worker;
let far: Worker;

const open = (name: string): Worker => connect(`ws://localhost:${ports.bridge}`, { name, handleSignals: false });

beforeAll(async () => {
  ports = await freePorts();
  writeFileSync(join(project, "config.yaml"), "workers: []\n");
  engine = await startEngine({ cwd: project, ports });
  near = open("near");
  far = open("far");
  await Promise.all([near.connected(), far.connected()]);
});

afterAll(async () => {
  await Promise.all([near?.shutdown({ timeoutMs: 1 }), far?.shutdown({ timeoutMs: 1 })]);
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(project, { recursive: true, force: true });
});

/** Registers a function of the remote worker for one test. */
async function provide<Input>(id: string, handler: (input: Input) => unknown): Promise<() => void> {
  const { unregister } = far.registerFunction<Input>(id, (input) => handler(input));
  // A call over the same connection proves that the registration has arrived.
  await far.call({ function_id: "engine::info", payload: {} });
  return unregister;
}

const rssOf = (pid: number): number =>
  Number(/VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]) * 1024;

describe("a channel between two workers", () => {
  it("carries a file as a payload's reader, with item types and order, and a result back", async () => {
    const file = join(project, "up.bin");
    const bytes = randomBytes(5_000_001);
    writeFileSync(file, bytes);
    const done = await provide("files::hash", async ({ name, content }: { name: string; content: ChannelReader }) => {
      const hash = createHash("sha256");
      const notes: string[] = [];
      for await (const item of content) {
        if (typeof item === "string") notes.push(item);
        else hash.update(item);
      }
      return { name, notes, sha256: hash.digest("hex") };
    });
    const { reader, writer } = await near.createChannel();
    const answer = near.call({ function_id: "files::hash", payload: { name: "up.bin", content: reader } });
    await writer.send("first");
    for await (const piece of createReadStream(file)) await writer.write(piece as Buffer);
    await writer.send("last");
    await writer.end();
    expect(await answer).toEqual({
      name: "up.bin",
      notes: ["first", "last"],
      sha256: createHash("sha256").update(bytes).digest("hex"),
    });
    done();
  });

  it("carries a file back by a ref in the result", async () => {
    const bytes = randomBytes(3_000_000);
    const done = await provide("files::read", async () => {
      const { readerRef, writer } = await far.createChannel();
      // The result carries the reader, so the writing continues after it.
      void Readable.toWeb(Readable.from([bytes])).pipeTo(
        writer.stream as unknown as Parameters<ReturnType<typeof Readable.toWeb>["pipeTo"]>[0],
      );
      return { content: readerRef };
    });
    const { content } = await near.call<{ content: ChannelRef & { direction: "read" } }>({
      function_id: "files::read",
    });
    const target = join(project, "down.bin");
    await pipeline(
      Readable.fromWeb(near.openChannel(content).stream as Parameters<typeof Readable.fromWeb>[0]),
      createWriteStream(target),
    );
    expect(readFileSync(target).equals(bytes)).toBe(true);
    done();
  });

  it("answers through a writer in the payload", async () => {
    const done = await provide("count::down", async ({ from, out }: { from: number; out: ChannelWriter }) => {
      for (let n = from; n > 0; n--) await out.send(String(n));
      await out.end();
    });
    const { reader, writerRef } = await near.createChannel({ bufferItems: 1 });
    const call = near.call({ function_id: "count::down", payload: { from: 500, out: writerRef } });
    let next = 500;
    for await (const item of reader) expect(item).toBe(String(next--));
    expect(next).toBe(0);
    await call;
    done();
  });

  /**
   * Writes `bytes` to a channel whose reader reads nothing at first. Returns the number of bytes written before
   * backpressure.
   */
  async function transfer(bytes: number): Promise<number> {
    const { reader, writer } = await near.createChannel();
    const readerThere = far.openChannel(reader.ref);
    await writer.send("start");
    expect(await readerThere.read()).toBe("start");
    const piece = randomBytes(MB);
    let written = 0;
    const writing = (async () => {
      for (; written < bytes; written += piece.length) await writer.write(piece);
      await writer.end();
    })();
    // The buffers on the way fill, then nothing is written any more: half a second without a change.
    let last = -1;
    let looksWithoutChange = 0;
    await eventually("the writer stands still", () => {
      looksWithoutChange = written > 0 && written === last ? looksWithoutChange + 1 : 0;
      last = written;
      return looksWithoutChange === 10;
    });
    const held = written;
    let read = 0;
    for await (const item of readerThere) read += item.length;
    await writing;
    expect(read).toBe(bytes);
    return held;
  }

  it("applies backpressure to the writer while the reader pauses, and the engine's memory does not grow over 200 MB", async () => {
    // The engine's heap grows once for the first buffers.
    await transfer(64 * MB);
    const before = rssOf(engine.pid);
    expect(await transfer(200 * MB)).toBeLessThan(64 * MB);
    expect(rssOf(engine.pid) - before).toBeLessThan(50 * MB);
  });

  it("fails at the reader when the writer aborts, after the items that arrived", async () => {
    const { reader, writer } = await near.createChannel();
    const there = far.openChannel(reader.ref);
    await writer.send("half");
    expect(await there.read()).toBe("half");
    writer.abort();
    await expect(there.read()).rejects.toMatchObject({ code: "channel_closed" });
  });

  it("fails at the writer when the reader cancels", async () => {
    const { reader, writer } = await near.createChannel();
    const there = far.openChannel(reader.ref);
    await writer.send("a");
    await there.read();
    there.cancel();
    const writes = (async () => {
      for (;;) await writer.write(new Uint8Array(1024));
    })();
    await expect(writes).rejects.toMatchObject({ code: "channel_closed" });
  });

  it("opens each end once, and none with a wrong key", async () => {
    const { reader, writer } = await near.createChannel();
    await writer.send("a");
    expect(await far.openChannel(reader.ref).read()).toBe("a");
    await expect(near.openChannel(reader.ref).read()).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("taken"),
    });
    await expect(near.openChannel({ ...reader.ref, access_key: "guessed" }).read()).rejects.toMatchObject({
      code: "channel_closed",
      message: expect.stringContaining("404"),
    });
    writer.abort();
  });

  it("is removed when its creator disconnects before the other end was opened", async () => {
    const guest = open("guest");
    const { readerRef, writer } = await guest.createChannel();
    await writer.send("a");
    await guest.shutdown({ timeoutMs: 1 });
    await expect(far.openChannel(readerRef).read()).rejects.toMatchObject({ code: "channel_closed" });
  });

  it("fails at both ends when the engine is killed", async () => {
    const otherPorts = await freePorts();
    const otherProject = mkdtempSync(join(tmpdir(), "svc-channels-killed-"));
    writeFileSync(join(otherProject, "config.yaml"), "workers: []\n");
    const other = await startEngine({ cwd: otherProject, ports: otherPorts });
    const worker = connect(`ws://localhost:${otherPorts.bridge}`, { name: "left alone", handleSignals: false });
    const { reader, writer } = await worker.createChannel();
    await writer.send("a");
    await reader.read();
    const reading = reader.read();
    reading.catch(() => {});
    other.child.kill("SIGKILL");
    await once(other.child, "close");
    await expect(reading).rejects.toMatchObject({ code: "channel_closed" });
    await expect(writer.end()).rejects.toMatchObject({ code: "channel_closed" });
    await worker.shutdown({ timeoutMs: 1 });
    rmSync(otherProject, { recursive: true, force: true });
  });
});
