import {
  accessTo,
  bindTrigger,
  Collected,
  type InMemoryEngine,
  type InMemoryWorker,
  manualClock,
} from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import type { LogJson } from "./log-json.ts";
import { logsEngine } from "./testing/logs-engine.ts";

const engines: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

async function watching(
  config: object,
  handle: (log: LogJson, worker: InMemoryWorker, frame: Record<string, unknown>) => unknown = () => null,
) {
  const clock = manualClock();
  const engine = await logsEngine({}, { clock });
  engines.push(engine);
  const worker = await engine.connectWorker({ name: "watcher" });
  const bodies = new Collected<string>();
  worker.serve("watch::log", async (data, frame) => {
    bodies.add((data as LogJson).body);
    return handle(data as LogJson, worker, frame);
  });
  await bindTrigger(worker, "log", "watch::log", config);
  const log = (severity: number, body: string, more: object = {}): void =>
    engine.kernel.telemetry.log({ severity, body, service: "shop", ...more });
  return { engine, worker, clock, bodies, log };
}

describe("a trigger of type log", () => {
  it("delivers entries of its level and of more severe ones (gap 45)", async () => {
    const { log, bodies } = await watching({ level: "WARN" });
    for (const [severity, body] of [
      [1, "trace"],
      [5, "debug"],
      [9, "info"],
      [13, "warn"],
      [16, "warn4"],
      [17, "error"],
      [21, "fatal"],
    ] as const)
      log(severity, body);
    expect([...(await bodies.count(4))].sort()).toEqual(["error", "fatal", "warn", "warn4"]);
  });

  it("delivers all levels by default, and the whole entry", async () => {
    let told: LogJson | undefined;
    const { log, bodies } = await watching({}, (data) => {
      told = data;
    });
    log(1, "trace", { traceId: "a".repeat(32), spanId: "b".repeat(16), attributes: { n: 1, password: "hunter2" } });
    expect(await bodies.count(1)).toEqual(["trace"]);
    expect(told).toMatchObject({
      severity_text: "TRACE",
      service_name: "shop",
      trace_id: "a".repeat(32),
      attributes: { n: 1, password: "***" },
    });
  });

  it.each([
    ["a service", { service: "till" }],
    ["a text in any case", { text: "THIS" }],
    ["a function", { function_id: "pay::now" }],
  ])("can be held to %s", async (_what, config) => {
    const { log, bodies } = await watching(config);
    log(9, "not that one");
    log(9, "this one", { service: "till", attributes: { "svc.function_id": "pay::now" } });
    expect(await bodies.count(1)).toEqual(["this one"]);
  });

  it("is refused for a level that there is not, and to a connection that may not read the entries", async () => {
    const { worker, engine } = await watching({});
    await expect(bindTrigger(worker, "log", "watch::log", { level: "loud" })).rejects.toThrow(/level/);
    const guest = await engine.connectWorker({ access: accessTo(['match("*")']) });
    guest.serve("guest::watch", () => null);
    await expect(bindTrigger(guest, "log", "guest::watch", {})).rejects.toThrow(/engine::logs::list/);
  });

  it("is not fired by what its handler logs: in its trace, by its function id, or as lines of its worker without a trace", async () => {
    const { log, bodies, engine, clock } = await watching({}, (_data, _worker, frame) => {
      const [, traceId, spanId] = String(frame.traceparent).split("-");
      const tell = (body: string, more: object): void => engine.kernel.telemetry.log({ severity: 9, body, ...more });
      tell("in the trace", { traceId, spanId });
      tell("by the id", { attributes: { "svc.function_id": "watch::log" } });
      tell("a line", { service: "watcher", attributes: { "svc.worker.name": "watcher" } });
    });
    log(9, "first");
    expect(await bodies.count(1)).toEqual(["first"]);
    await settled(engine);
    clock.advance(500);
    log(9, "late line", { service: "watcher" });
    clock.advance(600);
    log(9, "second", { service: "watcher" });
    expect(await bodies.count(2)).toEqual(["first", "second"]);
  });

  it("is not fired by what two handlers log about each other", async () => {
    const { log, bodies, engine, worker } = await watching({ service: "shop" }, (_data, _worker, frame) => {
      const [, traceId, spanId] = String(frame.traceparent).split("-");
      engine.kernel.telemetry.log({ severity: 9, body: "pong", service: "shop", traceId, spanId });
    });
    worker.serve("watch::other", (_data, frame) => {
      const [, traceId, spanId] = String(frame.traceparent).split("-");
      engine.kernel.telemetry.log({ severity: 9, body: "ping", service: "shop", traceId, spanId });
      return null;
    });
    await bindTrigger(worker, "log", "watch::other", {});
    log(9, "one");
    log(9, "two");
    expect([...(await bodies.count(2))].sort()).toEqual(["one", "two"]);
    await settled(engine);
    expect(bodies.items).toHaveLength(2);
  });

  it("continues after a handler failed, and drops and counts what arrives faster than it is handled", async () => {
    const { log, bodies } = await watching({}, (data) => {
      if (data.body === "0") throw new Error("no");
      return null;
    });
    for (let index = 0; index < 1_500; index++) log(9, String(index));
    // The queue is full, and the maximum number of deliveries is running.
    expect(await bodies.count(1_008)).toContain("1007");
    log(9, "later");
    expect((await bodies.count(1_009)).slice(1_008)).toEqual(["later"]);
  });
});

/** Waits until everything in flight has ended: a call, and another one after it. */
async function settled(engine: InMemoryEngine): Promise<void> {
  for (let round = 0; round < 5; round++) {
    await engine.call("engine::logs::list", { limit: 1 });
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe("the stream svc.logs", () => {
  it("publishes entries in batches to subscribers, and the last ones to a new subscriber", async () => {
    const clock = manualClock();
    const engine = await logsEngine({}, { clock });
    engines.push(engine);
    engine.kernel.telemetry.log({ severity: 9, body: "before" });
    const socket = engine.openSocket("/");
    socket.say({ type: "join", data: { subscriptionId: "s", streamName: "svc.logs", groupId: "all" } });
    expect(JSON.stringify(await socket.next((message) => JSON.stringify(message).includes("before")))).toContain(
      "sync",
    );
    for (let index = 0; index < 600; index++) engine.kernel.telemetry.log({ severity: 9, body: `line ${index}` });
    clock.advance(250);
    const eventWith = async (text: string) =>
      JSON.stringify(await socket.next((message) => JSON.stringify(message).includes(text)));
    const first = await eventWith("line 0");
    expect(first).toContain("line 49");
    expect(first).not.toContain("line 50");
    expect(first).toContain('"dropped":100');
    clock.advance(1);
    const last = await eventWith("line 499");
    expect(last).toContain('"dropped":0');
    expect(last).not.toContain("line 500");
  });
});
