import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { ClientFailure, node22, publishedClients, python11 } from "./support/published-client.ts";
import { comesBack, type TappedConnection, upgradesOf } from "./support/wire-tap.ts";
import { offer, quiet, settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 23 to 25 and 28: the frames that a client accepts.

const { client: start, connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

describe.each(publishedClients)("frames to $name", (client) => {
  it("statement 23: an unknown type changes nothing", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address);
    const { client: socket } = await wire.connection("/");
    const before = wire.frames.length;
    for (const frame of [
      { type: "somethingnew", id: "x" },
      { type: "error", error: { code: "registration_refused", message: "m" } },
      { type: "pong" },
    ]) {
      socket.send(JSON.stringify(frame));
    }
    await settled(worker);
    const said = wire.frames.slice(before).filter((frame) => frame.from === "client");
    expect(said.map(({ json }) => json?.function_id)).toEqual(["engine::functions::list"]);
    expect(upgradesOf(wire)).toBe(1);
  });

  it("statement 24: protocol JSON in a binary frame is processed", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address);
    await worker.run("registerFunction", { id: "binary::a", behaviour: { kind: "echo" } });
    const { client: socket } = await wire.connection("/");
    const call = {
      type: "invokefunction",
      invocation_id: "11111111-1111-4111-8111-111111111111",
      function_id: "binary::a",
      data: { a: 1 },
    };
    socket.send(Buffer.from(JSON.stringify(call)), { binary: true });
    expect((await worker.next(({ event }) => event === "called", "the call")).data).toEqual({ a: 1 });
    const answer = await wire.frame(
      ({ from, json }) => from === "client" && json?.invocation_id === call.invocation_id,
      "the answer",
    );
    expect(answer.json).toMatchObject({ type: "invocationresult", result: { a: 1 } });
  });
});

describe("an idle connection of iii-sdk 0.22.1", () => {
  // A minute of the client passes in six seconds.
  const timeFactor = 10;

  it("statement 25: pings at 20 s and 40 s, and disconnects at 60 s without inbound frames and reconnects", async () => {
    const pings: number[] = [];
    let openedAt = 0;
    let endedAt = 0;
    const wire = await tap(undefined, {
      swallowPings: true,
      onPlay: ({ client }: TappedConnection) => {
        if (openedAt !== 0) return;
        openedAt = performance.now();
        client.on("ping", () => pings.push(performance.now() - openedAt));
        client.once("close", () => {
          endedAt = performance.now() - openedAt;
        });
      },
    });
    const worker = await start(node22, { timeFactor });
    await worker.run("connect", { address: wire.address, options: { ...quiet, reconnectionConfig: {} } });
    await comesBack(wire);
    expect(wire.closes[0]).toMatchObject({ path: "/", code: 1006 });
    expect(pings.length).toBeGreaterThanOrEqual(2);
    // Never early. How late depends on the load of the machine.
    expect(pings[0]).toBeGreaterThan(19_000 / timeFactor);
    expect(pings[1]).toBeGreaterThan(39_000 / timeFactor);
    expect(endedAt).toBeGreaterThan(55_000 / timeFactor);
  });

  it("stays connected to the svc engine, which answers its pings", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(node22, wire.address, {}, { timeFactor });
    let pongs = 0;
    (await wire.connection("/")).client.on("ping", () => pongs++);
    // Eighty of its seconds, through a tap without svc's pings: only the answers to its own keep it connected.
    await expect.poll(() => pongs, { timeout: 60_000 }).toBeGreaterThanOrEqual(4);
    await settled(worker);
    expect(upgradesOf(wire)).toBe(1);
  });
});

describe.each(publishedClients)("$name and svc's pings", (client) => {
  it("answers them", async () => {
    const wire = await tap(engine.address);
    await connected(client, wire.address);
    const { client: socket } = await wire.connection("/");
    const pong = new Promise((resolve) => socket.once("pong", (data: Buffer) => resolve(data.toString())));
    socket.ping("still there?");
    expect(await pong).toBe("still there?");
  });
});

describe("large frames to the Python client", () => {
  const overSize = "x".repeat(1_048_577);

  it("statement 28: make it close with 1009 and reconnect, if they are sent", async () => {
    const wire = await tap(engine.address);
    await connected(python11, wire.address);
    const { client: socket } = await wire.connection("/");
    socket.send(JSON.stringify({ type: "invokefunction", function_id: "big::a", data: overSize }));
    await comesBack(wire);
    expect(wire.closes[0]).toMatchObject({ path: "/", code: 1009 });
  });

  it("statement 28: are not sent by the svc engine; the caller gets the reason, and the connection stays open", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(python11, wire.address);
    await offer(worker, "big::python", { kind: "echo" });
    const caller = await raw(engine.address);
    expect((await caller.call("big::python", { data: overSize })).error).toMatchObject({ code: "payload_too_large" });
    expect((await caller.call("big::python", { data: "x".repeat(1_000_000) })).result).toHaveLength(1_000_000);
    expect(upgradesOf(wire)).toBe(1);
  });

  it("are answers too: the Python caller's own call fails, and its connection stays open", async () => {
    const wire = await tap(engine.address);
    const caller = await connected(python11, wire.address);
    const callee = await connected(node22, engine.address);
    await offer(callee, "big::answer", { kind: "value", value: overSize });
    const failure = await caller
      .run("trigger", { function_id: "big::answer", payload: {} })
      .catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(ClientFailure);
    expect((failure as ClientFailure).error).toMatchObject({ code: "payload_too_large" });
    expect(upgradesOf(wire)).toBe(1);
  });
});
