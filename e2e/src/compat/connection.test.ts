import { once } from "node:events";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { WebSocket } from "ws";
import { startTestEngine, type TestEngine } from "./support/engine.ts";
import { node11, node22, publishedClients } from "./support/published-client.ts";
import type { TappedFrame } from "./support/wire-tap.ts";
import { offer, quiet, settled, workshop } from "./support/workshop.ts";

// Protocol section 18, statements 1 to 8.

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

const { client: start, connected, raw, tap } = workshop();
let engine: TestEngine;
beforeAll(async () => {
  engine = await startTestEngine();
});
afterAll(() => engine.stop());

const fromClient = (frame: TappedFrame): boolean => frame.from === "client" && frame.path === "/";
/** The frame with which a worker introduces itself. */
const isIntroduction = ({ json }: TappedFrame): boolean =>
  json?.type === "invokefunction" && json.function_id === "engine::workers::register";
/** Type and subject of each frame of a connection, in order. */
function kinds(frames: readonly TappedFrame[], connection: number): unknown[] {
  return frames
    .filter((frame) => fromClient(frame) && frame.connection === connection)
    .map((frame) => (isIntroduction(frame) ? "introduction" : frame.json?.type));
}

function gate(): { readonly hold: Promise<void>; open(): void } {
  let open = (): void => {};
  const hold = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { hold, open: () => open() };
}

describe("the worker socket", () => {
  it("statement 1: the first frame is workerregistered with a UUID of this connection", async () => {
    const [one, other] = await Promise.all([raw(engine.address), raw(engine.address)]);
    expect(one.received[0]).toMatchObject({
      type: "workerregistered",
      worker_id: expect.stringMatching(UUID),
      reattach_token: expect.stringMatching(UUID),
    });
    expect(one.id).not.toBe(other.id);
  });

  it.each(["/nope", "/otel/x", "//", "/ws/channels"])("statement 2: an upgrade of %s fails with 404", async (path) => {
    const socket = new WebSocket(`${engine.address}${path}`);
    socket.on("error", () => {});
    const [, response] = (await once(socket, "unexpected-response")) as [
      unknown,
      { statusCode: number; resume(): void },
    ];
    response.resume();
    expect(response.statusCode).toBe(404);
  });

  it("accepts any query", async () => {
    const worker = await raw(`${engine.address}/?token=x&y=%00&y`);
    await worker.settled();
  });
});

describe.each([node11, node22])("sockets of $name", (client) => {
  it("statement 3: one upgrade of / and one of /otel, without sub-protocol, when telemetry is on", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(client, wire.address, { otel: {} }, { env: { OTEL_ENABLED: "true" } });
    await wire.connection("/otel");
    await worker.run("shutdown");
    expect(wire.upgrades.map(({ path }) => path).sort()).toEqual(["/", "/otel"]);
    for (const { headers } of wire.upgrades) expect(headers["sec-websocket-protocol"]).toBeUndefined();
  });
});

describe.each(publishedClients)("sockets of $name", (client) => {
  it("statement 4: no upgrade of /otel when telemetry is off", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(
      client,
      wire.address,
      { otel: { enabled: false } },
      { env: { III_URL: wire.address } },
    );
    await worker.run("registerFunction", { id: "off::a", behaviour: { kind: "echo" } });
    await worker.run("trigger", { function_id: "off::a", payload: {} });
    await worker.run("shutdown");
    expect(wire.upgrades.map(({ path }) => path)).toEqual(["/"]);
  });

  it("is listed with what it introduced itself with", async () => {
    await connected(client, engine.address, { workerName: `named ${client.name}` });
    await expect.poll(() => engine.workers(), { timeout: 30_000 }).toContain(`named ${client.name}`);
  });

  it("statements 5 and 6: its registrations are sent again in order after a lost connection, and work; only 0.22.1 reattaches first", async () => {
    const { hold, open } = gate();
    const wire = await tap(engine.address, { hold: (_path, nth) => (nth === 0 ? undefined : hold) });
    const worker = await connected(client, wire.address, { workerName: `replay ${client.name}` });
    const id = `replay::${client.program}`;
    const type = `replay-type-${client.program}`;
    await worker.run("registerTriggerType", { id: type, description: "of the test" });
    if (!client.isLater)
      await worker.run("registerService", { id: `service-${client.program}`, name: "s", description: "d" });
    await worker.run("registerFunction", {
      id,
      behaviour: { kind: "echo" },
      options: { description: "replayed", metadata: { x: 1 } },
    });
    await worker.run("registerTrigger", { type, function_id: id, config: { every: 1 }, metadata: { m: 1 } });
    const bound = await worker.next(({ event }) => event === "bound", "its own binding arrives");

    const first = await wire.connection("/");
    const greeting = wire.frames.find((frame) => frame.connection === first.number && frame.from === "engine");
    first.client.terminate();
    const { connection: second } = await wire.until(
      () => wire.upgrades.find(({ connection }) => connection > first.number),
      "it comes back",
    );
    // Made while offline: queued and sent after the reconnect, before the client has introduced itself.
    const queued = worker.run("trigger", { function_id: id, payload: { queued: true } });
    // An answered command: the previous one has been handled, so its call is queued.
    await worker.run("registerFunction", { id: `${id}-2`, behaviour: { kind: "echo" } });
    open();
    expect(await queued).toEqual({ queued: true });
    await wire.frame((frame) => frame.connection === second && isIntroduction(frame), "the introduction");
    const sent = kinds(wire.frames, second);
    const calls = sent.indexOf("invokefunction");
    expect(sent.slice(0, calls + 1).filter((kind) => kind !== "triggerregistrationresult")).toEqual([
      ...(client.isLater ? ["reattach"] : []),
      "registertriggertype",
      ...(client.isLater ? [] : ["registerservice"]),
      "registerfunction",
      "registerfunction",
      "registertrigger",
      "invokefunction",
    ]);
    expect(sent.indexOf("introduction")).toBeGreaterThan(calls);
    if (client.isLater) {
      const reattach = wire.frames.find((frame) => fromClient(frame) && frame.connection === second);
      expect(reattach?.json).toEqual({
        type: "reattach",
        previous_worker_id: greeting?.json?.worker_id,
        reattach_token: greeting?.json?.reattach_token,
      });
    }
    // The binding has its previous id, at the reconnected provider.
    expect((await worker.next(({ event }) => event === "bound", "the binding again")).config?.id).toBe(
      bound.config?.id,
    );
  });
});

describe.each([node11, node22])("what $name did before its socket opened", (client) => {
  it("statement 5: arrives as trigger type, service, function, trigger, queued frames, introduction, and the queued call is answered", async () => {
    const { hold, open } = gate();
    const wire = await tap(engine.address, { hold: () => hold });
    const worker = await start(client);
    const id = `early::${client.version}`;
    const type = `early-type-${client.version}`;
    await worker.run("connect", { address: wire.address, options: quiet });
    await worker.run("registerFunction", { id, behaviour: { kind: "echo" } });
    const answer = worker.run("trigger", { function_id: id, payload: { early: true } });
    await worker.run("registerTrigger", { type, function_id: id, config: {} });
    if (!client.isLater) await worker.run("registerService", { id: "early", name: "early", description: "d" });
    await worker.run("registerTriggerType", { id: type, description: "of the test" });
    open();
    expect(await answer).toEqual({ early: true });
    const introduction = await wire.frame(isIntroduction, "the introduction");
    const sent = kinds(wire.frames, introduction.connection);
    expect(sent.slice(0, sent.indexOf("introduction") + 1)).toEqual([
      "registertriggertype",
      ...(client.isLater ? [] : ["registerservice"]),
      "registerfunction",
      "registertrigger",
      "invokefunction",
      "introduction",
    ]);
    expect((await worker.next(({ event }) => event === "bound", "its own binding arrives")).config?.function_id).toBe(
      id,
    );
  });
});

describe("reattach", () => {
  it.each([
    [
      "a wrong token",
      (id: string) => ({ previous_worker_id: id, reattach_token: "00000000-0000-4000-8000-000000000000" }),
    ],
    ["no token", (id: string) => ({ previous_worker_id: id })],
    ["an id that is no UUID", () => ({ previous_worker_id: "x", reattach_token: "y" })],
    [
      "an id that nobody has",
      () => ({ previous_worker_id: "00000000-0000-4000-8000-000000000000", reattach_token: "y" }),
    ],
  ])("statement 7: with %s the old connection stays open and keeps its functions", async (_what, claim) => {
    const [old, other] = await Promise.all([raw(engine.address), raw(engine.address)]);
    old.say({ type: "registerfunction", id: "kept::a" });
    await old.settled();
    other.say({ type: "reattach", ...claim(old.id) });
    const answer = other.call("kept::a");
    const invoked = await old.next(({ type }) => type === "invokefunction", "the call");
    old.say({
      type: "invocationresult",
      invocation_id: invoked.invocation_id,
      function_id: "kept::a",
      result: "still here",
    });
    expect((await answer).result).toBe("still here");
    expect(other.received.map(({ type }) => type)).toEqual(["workerregistered", "invocationresult"]);
    old.close();
    other.close();
  });

  it("statement 8: with the right token the old connection is removed before the next frame takes effect", async () => {
    const [old, next, watcher] = await Promise.all([raw(engine.address), raw(engine.address), raw(engine.address)]);
    old.say({ type: "registertriggertype", id: "moved-type", description: "d" });
    old.say({ type: "registerfunction", id: "moved::a" });
    await old.settled();
    watcher.say({
      type: "registertrigger",
      id: "00000000-0000-4000-8000-00000000aaaa",
      trigger_type: "moved-type",
      function_id: "moved::a",
      config: {},
    });
    await old.next(({ type }) => type === "registertrigger", "the binding");
    const held = watcher.call("moved::a");
    await old.next(({ type }) => type === "invokefunction", "the call");
    const closed = once(old.socket, "close");
    next.say({ type: "reattach", previous_worker_id: old.id, reattach_token: old.reattachToken });
    // Sent at once: no connection has the function any more, so this call must not reach the old connection.
    expect((await next.call("moved::a")).error).toMatchObject({ code: "function_not_found" });
    expect((await held).error).toMatchObject({ code: "invocation_stopped" });
    const [code] = (await closed) as [number];
    expect(code).toBe(1012);
    // Nothing of the old connection is left for the replay: the waiting binding is sent to the new connection.
    next.say({ type: "registertriggertype", id: "moved-type", description: "d" });
    next.say({ type: "registerfunction", id: "moved::a" });
    await next.next(({ type }) => type === "registertrigger", "the binding, again");
    const answer = watcher.call("moved::a");
    const invoked = await next.next(({ type }) => type === "invokefunction", "the call");
    next.say({
      type: "invocationresult",
      invocation_id: invoked.invocation_id,
      function_id: "moved::a",
      result: "moved",
    });
    expect((await answer).result).toBe("moved");
  });

  it("lets 0.22.1 replace a connection that the engine still considers open", async () => {
    const wire = await tap(engine.address);
    const worker = await connected(node22, wire.address, { workerName: "half-open" });
    const caller = await connected(node11, engine.address);
    await offer(worker, "half-open::a", { kind: "value", value: "back" });
    const first = await wire.connection("/");
    first.part();
    first.client.terminate();
    const second = await wire.until(
      () => [...wire.connections].find(({ path, number }) => path === "/" && number !== first.number),
      "the second connection",
    );
    await wire.frame((frame) => frame.connection === second.number && isIntroduction(frame), "the introduction");
    await settled(worker);
    for (let n = 0; n < 10; n++)
      expect(await caller.run("trigger", { function_id: "half-open::a", payload: {} })).toBe("back");
    expect((await engine.workers()).filter((name) => name === "half-open")).toHaveLength(1);
  });
});
