import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { noAsyncContext } from "./calls/async-context.ts";
import { nodeChannels } from "./channels/node-channels.ts";
import { systemClock } from "./clock.ts";
import * as frameTexts from "./connection/frame-texts.ts";
import { nodeSockets } from "./connection/node-socket.ts";
import { FakeEngine, type Frame } from "./fake-engine.test.support.ts";
import * as requests from "./http/handle-request.ts";
import { createLogger, type LogRecord } from "./logger.ts";
import { LOAD_TIMEOUT_MS, loadPart, OnDemand } from "./on-demand.ts";
import type { WorkerOptions } from "./options.ts";
import type { Platform } from "./platform.ts";
import * as queueAndCron from "./queue-and-cron.ts";
import * as provider from "./registration/provider.ts";
import { type CreateTelemetry, TelemetryOnDemand } from "./telemetry/telemetry-on-demand.ts";
import type { CreateTelemetrySink } from "./telemetry/telemetry-sink.ts";
import { WorkerTelemetry } from "./telemetry/worker-telemetry.ts";
import { newUuid } from "./uuid.ts";
import { Worker } from "./worker.ts";

/** A part that the test loads, or fails to load, after each request for it. */
function slowPart<Contents>(contents: Contents) {
  const attempts: { readonly resolve: (contents: Contents) => void; readonly reject: (error: Error) => void }[] = [];
  return {
    part: () => new Promise<Contents>((resolve, reject) => attempts.push({ resolve, reject })),
    attempts: () => attempts.length,
    arrives: () => attempts.at(-1)?.resolve(contents),
    fails: () => attempts.at(-1)?.reject(new Error("offline")),
  };
}

describe("a value that is created on demand", () => {
  it("runs actions at once if its part is there", () => {
    const value = new OnDemand(
      () => 2,
      (contents) => [contents],
    );
    const seen: unknown[] = [];
    value.whenCreated((list) => seen.push("early", list.length));
    expect(value.value).toBeUndefined();
    value.run((list) => seen.push(list[0]), seen.push);
    expect(seen).toEqual(["early", 1, 2]);
    expect(value.loading).toBeUndefined();
  });

  it("runs actions in the order of their requests when its part has arrived, also those that actions request", async () => {
    const { part, arrives, attempts } = slowPart("contents");
    const value = new OnDemand(part, (contents) => ({ contents }));
    const seen: string[] = [];
    value.whenCreated(() => seen.push("before"));
    expect(attempts()).toBe(0);
    const first = value.use(async ({ contents }) => {
      seen.push("first");
      value.run(
        () => seen.push("inner"),
        () => {},
      );
      return contents;
    });
    value.whenCreated(() => seen.push("second"));
    expect(seen).toEqual([]);
    const { loading } = value;
    arrives();
    await loading;
    expect(seen).toEqual(["before", "first", "second", "inner"]);
    expect(await first).toBe("contents");
    expect(attempts()).toBe(1);
  });

  it("rejects actions if its part cannot be loaded, and tries again with the next one", async () => {
    const { part, arrives, fails } = slowPart("contents");
    const value = new OnDemand(part, (contents) => contents);
    const seen: string[] = [];
    const rejected = value.use(async () => {});
    value.whenCreated(() => seen.push("kept"));
    fails();
    await expect(rejected).rejects.toMatchObject({
      code: "part_not_loaded",
      message: "a part of the SDK could not be loaded: Error: offline",
      retryable: true,
      executed: "no",
    });
    expect(value.loading).toBeUndefined();
    const later = value.use(async (contents) => seen.push(contents));
    arrives();
    await later;
    expect(seen).toEqual(["kept", "contents"]);
  });
});

it("a part that does not arrive within 30 seconds counts as not loaded", async () => {
  vi.useFakeTimers();
  try {
    const loading = loadPart(() => new Promise(() => {}));
    const outcome = expect(loading).rejects.toMatchObject({
      code: "part_not_loaded",
      message: "a part of the SDK could not be loaded: it took over 30000 ms",
    });
    vi.advanceTimersByTime(LOAD_TIMEOUT_MS);
    await outcome;
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

describe("a worker whose parts are loaded on demand", () => {
  let engine: FakeEngine;
  let worker: Worker;
  let lines: LogRecord[];

  beforeEach(async () => {
    engine = await FakeEngine.start();
    lines = [];
  });

  afterEach(async () => {
    await worker.shutdown({ timeoutMs: 1 });
    await engine.stop();
  });

  async function open(parts: Partial<Platform>, options: WorkerOptions = {}): Promise<void> {
    worker = new Worker([engine.address], options, {
      openSocket: nodeSockets(() => ({}), undefined),
      channels: () => nodeChannels,
      provider: () => provider,
      http: () => requests,
      queueAndCron: () => queueAndCron,
      stateTransfer: () => import("./state/state-transfer.ts"),
      frameTexts: () => frameTexts,
      asyncContext: noAsyncContext,
      clock: systemClock,
      newId: newUuid,
      name: "page",
      runtimeInfo: { runtime: "browser", os: "test", framework: "svc-browser" },
      logger: createLogger({ write: (line) => lines.push(line) }),
      telemetry: { byDefault: false, variable: undefined, createSink: (given) => new WorkerTelemetry(given) },
      ...parts,
    });
    await worker.connected();
  }

  const id = (digit: number): string => `${digit}1111111-1111-4111-8111-111111111111`;
  const invoke = (function_id: string, digit: number): Frame => ({
    data: null,
    type: "invokefunction",
    invocation_id: id(digit),
    function_id,
  });
  /** Resolves when the worker has handled the frames that were sent so far. */
  const handled = async (): Promise<void> => {
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" });
  };

  it("loads the handlers' part when a function is registered, and runs the calls that arrived meanwhile in order", async () => {
    const { part, arrives, attempts } = slowPart(provider);
    await open({ provider: part });
    expect(attempts()).toBe(0);
    const seen: unknown[] = [];
    const f = worker.registerFunction("f", (_input, { invocationId, signal }) => {
      seen.push([invocationId[0], signal.aborted]);
      return "done";
    });
    expect(attempts()).toBe(1);
    engine.send(invoke("f", 1));
    engine.send(invoke("f", 2));
    engine.send({ type: "cancelinvocation", invocation_id: id(2), reason: "no longer needed" });
    await handled();
    f.unregister();
    expect(seen).toEqual([]);
    const shutdown = worker.shutdown();
    arrives();
    expect(await engine.frame({ invocation_id: id(1) })).toMatchObject({ result: "done" });
    await shutdown;
    // The cancelled call does not run.
    expect(seen).toEqual([["1", false]]);
    expect(engine.frames.filter(({ type }) => type === "invocationresult")).toHaveLength(1);
  });

  it("fails a call whose handler cannot be loaded, and runs the next one when it can", async () => {
    const { part, arrives, fails } = slowPart(provider);
    await open({ provider: part });
    worker.registerFunction("f", () => "done");
    engine.send(invoke("f", 1));
    await handled();
    fails();
    expect(await engine.frame({ invocation_id: id(1) })).toMatchObject({
      error: { code: "part_not_loaded", message: expect.stringContaining("offline") },
    });
    expect(lines).toContainEqual(
      expect.objectContaining({
        level: "error",
        message: "a function cannot run",
        fields: expect.objectContaining({ function_id: "f", error: expect.anything() }),
      }),
    );
    engine.send(invoke("f", 2));
    await engine.frame({ type: "pong" });
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" }, 2);
    arrives();
    expect(await engine.frame({ invocation_id: id(2) })).toMatchObject({ result: "done" });
  });

  it("does not run a call whose connection ended before the handlers' part arrived", async () => {
    const { part, arrives } = slowPart(provider);
    await open({ provider: part }, { reconnect: { initialDelayMs: 1 } });
    const seen: unknown[] = [];
    worker.registerFunction("f", (_input, { invocationId }) => seen.push(invocationId[0]));
    engine.send(invoke("f", 1));
    await handled();
    const lost = new Promise<void>((resolve) => {
      worker.onConnectionState((state) => state === "reconnecting" && resolve());
    });
    engine.sockets.at(-1)?.terminate();
    await lost;
    await worker.connected();
    engine.send(invoke("f", 2));
    arrives();
    await engine.frame({ invocation_id: id(2) });
    expect(seen).toEqual(["2"]);
    expect(engine.frames.filter(({ type }) => type === "invocationresult")).toHaveLength(1);
  });

  it("binds and unbinds triggers in order when the handlers' part has arrived, or reports why not", async () => {
    const { part, arrives, fails } = slowPart(provider);
    await open({ provider: part });
    const seen: string[] = [];
    worker.registerTriggerType(
      { id: "t", description: "d" },
      {
        registerTrigger: ({ id: name }) => seen.push(`+${name}`),
        unregisterTrigger: ({ id: name }) => seen.push(`-${name}`),
      },
    );
    const bind = (name: string): Frame => ({
      type: "registertrigger",
      id: name,
      trigger_type: "t",
      function_id: "f",
      config: {},
    });
    engine.send(bind("a"));
    await handled();
    fails();
    expect(await engine.frame({ type: "triggerregistrationresult", id: "a" })).toMatchObject({
      error: { code: "part_not_loaded" },
    });
    engine.send(bind("b"));
    engine.send({ type: "unregistertrigger", id: "b" });
    engine.send(bind("c"));
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" }, 2);
    arrives();
    expect(await engine.frame({ type: "triggerregistrationresult", id: "c" })).not.toHaveProperty("error");
    // The trigger that was removed meanwhile is not bound.
    expect(seen).toEqual(["+c"]);
    engine.send({ type: "unregistertrigger", id: "c" });
    await worker.shutdown();
    expect(seen).toEqual(["+c", "-c"]);
  });

  it("loads the channels' part at the first use of an end, keeps the order, and waits for it before it shuts down", async () => {
    const { part, arrives, attempts } = slowPart(nodeChannels);
    await open({ channels: part });
    const unused = worker.openChannel({ channel_id: "u", access_key: "k", direction: "read" });
    unused.cancel();
    expect(attempts()).toBe(0);
    expect(JSON.stringify(unused)).toContain('"channel_id":"u"');
    const writer = worker.openChannel({ channel_id: "w", access_key: "k", direction: "write" });
    const writing = [writer.send("a"), writer.write(new Uint8Array(3)), writer.send("b"), writer.end()];
    expect(attempts()).toBe(1);
    const shutdown = worker.shutdown();
    arrives();
    const end = await engine.end();
    await Promise.all([...writing, shutdown]);
    expect(end.items).toEqual(["a", { bytes: 3 }, "b"]);
  });

  it("remembers what was decided about an end before its part arrived", async () => {
    const { part, arrives } = slowPart(nodeChannels);
    await open({ channels: part });
    const ref = { channel_id: "c", access_key: "k" };
    const cancelled = worker.openChannel({ ...ref, direction: "read" });
    cancelled.cancel();
    const read = cancelled.read();
    arrives();
    expect(await read).toBeUndefined();
    const aborted = worker.openChannel({ ...ref, direction: "write" });
    const sent = aborted.send("x");
    aborted.abort("changed my mind");
    arrives();
    await expect(sent).rejects.toMatchObject({ code: "channel_closed" });
    expect(engine.ends.flatMap(({ items }) => items)).toEqual([]);
  });

  it("rejects with part_not_loaded where a channel's part cannot be loaded, also above the bound of waiting writes", async () => {
    const { part, fails } = slowPart(nodeChannels);
    await open({ channels: part });
    const writer = worker.openChannel({ channel_id: "w", access_key: "k", direction: "write" });
    const large = new Uint8Array(40 * 1024 * 1024);
    const writes = [writer.write(large), writer.write(large)];
    await expect(writer.write(large)).rejects.toMatchObject({ code: "overloaded" });
    fails();
    const codes = await Promise.all(writes.map((write) => write.catch(({ code }: { code: string }) => code)));
    expect(codes).toEqual(["part_not_loaded", "part_not_loaded"]);
  });

  it("loads the part of queue and cron at the first call, makes the calls in order, and rejects where it cannot", async () => {
    const { part, arrives, fails, attempts } = slowPart(queueAndCron);
    engine.reply = ({ type, invocation_id, function_id }) =>
      type === "invokefunction" && invocation_id !== undefined
        ? { type: "invocationresult", invocation_id, function_id, result: { job_id: "j" } }
        : undefined;
    await open({ queueAndCron: part });
    expect(attempts()).toBe(0);
    const refused = worker.queue.enqueue("q", "f");
    fails();
    await expect(refused).rejects.toMatchObject({ code: "part_not_loaded", executed: "no", retryable: true });
    const pausing = worker.cron.pause("t");
    fails();
    await expect(pausing).rejects.toMatchObject({ code: "part_not_loaded" });
    const calls = [worker.queue.enqueue("q", "f", 1), worker.queue.enqueue("q", "f", 2), worker.queue.pause("q")];
    const unknown = expect(worker.queue.stats("q", { timeout: 1 } as never)).rejects.toThrow(
      "queue.stats has no option timeout",
    );
    expect(attempts()).toBe(3);
    arrives();
    expect(await Promise.all(calls)).toEqual([{ jobId: "j" }, { jobId: "j" }, undefined]);
    await unknown;
    const made = engine.frames.filter(({ function_id }) => String(function_id).startsWith("queue::"));
    expect(made.map(({ function_id, data }) => [function_id, (data as { data?: unknown }).data])).toEqual([
      ["queue::enqueue", 1],
      ["queue::enqueue", 2],
      ["queue::pause", undefined],
    ]);
  });

  it("reads which call a frame that is not JSON belongs to when the part for it has arrived", async () => {
    const { part, arrives, fails } = slowPart(frameTexts);
    await open({ frameTexts: part });
    worker.registerFunction("f", () => "done");
    const tail = `"type":"invokefunction","invocation_id":"${id(1)}","function_id":"f"}`;
    engine.send(`{"data":{oops},${tail}`);
    await handled();
    fails();
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" }, 2);
    // Without the part the worker only reports the frame. The call ends at its deadline.
    const reports = lines.filter(({ message }) => message === "the engine sent an invalid frame");
    expect(reports.map(({ fields }) => fields.problem)).toEqual([expect.stringMatching(/^the frame is not JSON: /)]);
    engine.send(`{"data":{oops},${tail}`);
    engine.send({ type: "ping" });
    await engine.frame({ type: "pong" }, 3);
    arrives();
    expect(await engine.frame({ type: "invocationresult", invocation_id: id(1) })).toMatchObject({
      error: { code: "invalid_message", message: "the payload is not JSON" },
    });
  });

  it("sends the log lines and spans from before telemetry's part arrived", async () => {
    const { part, arrives } = slowPart<CreateTelemetry>((given) => new WorkerTelemetry(given));
    engine.greeting = { engine: { version: "1", instance_id: "i" } };
    const createSink: CreateTelemetrySink = (given) => new TelemetryOnDemand(part, given);
    await open({ telemetry: { byDefault: false, variable: undefined, createSink } }, { telemetry: true });
    worker.log.info("early");
    worker.span("early span", (span) => span.addEvent("event", { a: 1 }));
    const shutdown = worker.shutdown();
    arrives();
    await shutdown;
    const records = engine.telemetry.flatMap((frame) => frame.records);
    expect(records).toContainEqual(expect.objectContaining({ body: { stringValue: "early" } }));
    expect(records).toContainEqual(expect.objectContaining({ name: "early span", events: [expect.anything()] }));
  });

  it("counts the log lines and spans above the limit from before telemetry's part arrived", async () => {
    const { part, arrives } = slowPart<CreateTelemetry>((given) => new WorkerTelemetry(given));
    engine.greeting = { engine: { version: "1", instance_id: "i" } };
    const createSink: CreateTelemetrySink = (given) => new TelemetryOnDemand(part, given);
    await open({ telemetry: { byDefault: false, variable: undefined, createSink } }, { telemetry: true });
    for (let n = 0; n < 1_010; n++) worker.log.info("early");
    for (let n = 0; n < 5; n++) worker.span("early span", () => {});
    const shutdown = worker.shutdown();
    arrives();
    await shutdown;
    const reports = lines
      .filter(({ level }) => level === "warn")
      .map(({ message, fields }) => [message, fields.dropped]);
    const early = lines.filter(({ message }) => message === "early").length;
    const sent = engine.telemetry.flatMap(({ records }) => records).filter(({ body }) => body?.stringValue === "early");
    expect(reports).toEqual(
      expect.arrayContaining([
        ["log entries were dropped: the buffer was full", expect.any(Number)],
        ["spans were dropped: the buffer was full", 5],
      ]),
    );
    const dropped = reports.filter(([message]) => String(message).startsWith("log entries"));
    expect(sent.length + dropped.reduce((sum, [, count]) => sum + Number(count), 0)).toBeGreaterThanOrEqual(early);
  });

  it("reports once that telemetry's part cannot be loaded, and goes on without", async () => {
    const { part, fails, attempts } = slowPart<CreateTelemetry>((given) => new WorkerTelemetry(given));
    const createSink: CreateTelemetrySink = (given) => new TelemetryOnDemand(part, given);
    await open({ telemetry: { byDefault: false, variable: undefined, createSink } }, { telemetry: true });
    worker.log.info("a");
    worker.log.info("b");
    fails();
    await worker.shutdown();
    worker.log.info("c");
    expect(attempts()).toBe(1);
    expect(lines.filter(({ level }) => level === "warn").map(({ message }) => message)).toEqual([
      "telemetry is not sent: its part of the SDK could not be loaded",
    ]);
  });
});
