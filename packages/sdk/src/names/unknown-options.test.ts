import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { connect as connectBrowser, connectStreams as connectBrowserStreams } from "../browser.ts";
import { FakeEngine } from "../fake-engine.test.support.ts";
import { createLogger, silentLogger } from "../logger.ts";
import { connect, connectStreams, json, type Worker } from "../node.ts";

let engine: FakeEngine;
let worker: Worker;

beforeEach(async () => {
  engine = await FakeEngine.start();
  worker = connect(engine.address, { logger: silentLogger, handleSignals: false });
});

afterEach(async () => {
  await worker.shutdown({ timeoutMs: 1 });
  await engine.stop();
});

const handler = (): number => 1;
const nothing = { registerTrigger: () => {}, unregisterTrigger: () => {} };
const group = { streamName: "s", groupId: "g" };

/** The call with the misspelled option, the method and the option in the message, and the name that it suggests. */
// biome-ignore lint/suspicious/noExplicitAny: a caller without a type checker
type Case = readonly [call: (worker: any) => unknown, of: string, option: string, meant: string];

const promises: readonly Case[] = [
  [({ state }) => state.get("s", "k", { timout_ms: 5 }), "state.get", "timout_ms", "timeoutMs"],
  [({ state }) => state.set("s", "k", 1, { if_version: 0 }), "state.set", "if_version", "ifVersion"],
  [({ state }) => state.set("s", "k", 1, { expires_in_ms: 5 }), "state.set", "expires_in_ms", "expiresInMs"],
  [({ state }) => state.scope("s").set("k", 1, { if_version: 0 }), "state.set", "if_version", "ifVersion"],
  [({ state }) => state.update("s", "k", [], { atomc: false }), "state.update", "atomc", "atomic"],
  [({ state }) => state.delete("s", "k", { ifversion: 1 }), "state.delete", "ifversion", "ifVersion"],
  [({ state }) => state.getMany("s", ["k"], { signl: 1 }), "state.getMany", "signl", "signal"],
  [
    ({ state }) => state.setMany([{ scope: "s", key: "k", value: 1, if_version: 0 }]),
    "an item of state.setMany",
    "if_version",
    "ifVersion",
  ],
  [({ state }) => state.deleteMany("s", { prefx: "p" }), "the selection of state.deleteMany", "prefx", "prefix"],
  [({ state }) => state.entries("s", { page_size: 5 }).next(), "state.entries", "page_size", "pageSize"],
  [({ state }) => state.entriesPage("s", { limt: 5 }), "state.entriesPage", "limt", "limit"],
  [({ state }) => state.export({ scop: "s" }).next(), "state.export", "scop", "scope"],
  [({ state }) => state.import([], { on_existing: "skip" }), "state.import", "on_existing", "onExisting"],
  [({ state }) => state.snapshot({ nme: "n" }), "state.snapshot", "nme", "name"],
  [({ stream }) => stream.set("s", "g", "i", 1, { if_version: 0 }), "stream.set", "if_version", "ifVersion"],
  [({ stream }) => stream.send("s", "g", { tpe: "t" }), "the notice of stream.send", "tpe", "type"],
  [({ stream }) => stream.group("s", "g").list({ timeout: 5 }), "stream.list", "timeout", "timeoutMs"],
  [({ event }) => event.emit("t", 1, { timeout: 5 }), "event.emit", "timeout", "timeoutMs"],
  [({ queue }) => queue.enqueue("q", "f", 1, { delay_ms: 5 }), "queue.enqueue", "delay_ms", "delayMs"],
  [
    ({ queue }) => queue.enqueueMany([{ queue: "q", functionId: "f", data: 1, dedupe_key: "k" }]),
    "a job of queue.enqueueMany",
    "dedupe_key",
    "dedupeKey",
  ],
  [({ queue }) => queue.peek("q", { stat: "dead" }), "queue.peek", "stat", "state"],
  [({ queue }) => queue.redrive("q", { job_ids: [] }), "queue.redrive", "job_ids", "jobIds"],
  [({ cron }) => cron.history("t", { limits: 5 }), "cron.history", "limits", "limit"],
  [(worker) => worker.call({ function_id: "f", timeout: 5 }), "call", "timeout", "timeoutMs"],
  [(worker) => worker.call({ functionID: "f" }), "call", "functionID", "functionId"],
  [(worker) => worker.callJson({ function_id: "f", timeout: 5 }), "call", "timeout", "timeoutMs"],
  [(worker) => worker.callVoid({ function_id: "f", meta: 5 }), "call", "meta", ""],
  [(worker) => worker.enqueue({ function_id: "f", queue: "q", timeout: 5 }), "enqueue", "timeout", "timeoutMs"],
  [(worker) => worker.connected({ timeout: 5 }), "connected", "timeout", "timeoutMs"],
  [(worker) => worker.createChannel({ buffer_items: 5 }), "createChannel", "buffer_items", "bufferItems"],
];

const functions: readonly Case[] = [
  [() => connect("ws://x", { callTimeout: 5 } as never), "connect", "callTimeout", "callTimeoutMs"],
  [() => connect({ handle_signals: false } as never), "connect", "handle_signals", "handleSignals"],
  [() => connect("ws://x", { token: "t" } as never), "connect", "token", ""],
  [() => connectBrowser("ws://x", { tokn: "t" } as never), "connect", "tokn", "token"],
  [() => connect("ws://x", { reconnect: { maxDelay: 5 } as never }), "reconnect", "maxDelay", "maxDelayMs"],
  [() => connect("ws://x", { telemetry: { log: true } as never }), "telemetry of connect", "log", "logs"],
  [() => connectStreams({ uri: "ws://x" } as never), "connectStreams", "uri", "url"],
  [() => connectBrowserStreams({ headers: {} } as never), "connectStreams", "headers", ""],
  [(worker) => worker.shutdown({ timeout: 5 }), "shutdown", "timeout", "timeoutMs"],
  [(worker) => worker.registerFunction("f", handler, { validat: true }), "registerFunction", "validat", "validate"],
  [
    (worker) => worker.registerTriggerType({ id: "t", description: "d", callRequest: {} }, nothing),
    "registerTriggerType",
    "callRequest",
    "",
  ],
  [
    (worker) => worker.registerTrigger({ type: "t", functionid: "f", config: {} }),
    "registerTrigger",
    "functionid",
    "functionId",
  ],
  [
    (worker) =>
      worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/", http_methd: "GET" } }),
    "the config of a trigger of type http",
    "http_methd",
    "http_method",
  ],
  [
    (worker) =>
      worker.registerTrigger({ type: "http", function_id: "f", config: { api_path: "/", rateLimit: { per: 1 } } }),
    "rateLimit of the config of a trigger of type http",
    "per",
    "",
  ],
  [
    (worker) => worker.registerTrigger({ type: "cron", function_id: "f", config: { expresion: "@daily" } }),
    "the config of a trigger of type cron",
    "expresion",
    "expression",
  ],
  [(worker) => worker.span("s", handler, { attribute: {} }), "span", "attribute", "attributes"],
  [() => json(1, { statuss: 201 } as never), "json", "statuss", "status"],
  [() => createLogger({ levl: "info", write: () => {} } as never), "createLogger", "levl", "level"],
];

function titled(cases: readonly Case[]) {
  return cases.map(([call, of, option, meant]) => ({
    call,
    of,
    option,
    message: `${of} has no option ${option}${meant === "" ? "; its options are " : `; did you mean ${meant}?`}`,
  }));
}

describe("an option that a method does not have", () => {
  it.each(titled(promises))("of $of rejects with TypeError: $option", async ({ call, message }) => {
    const error = await Promise.resolve(call(worker)).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toContain(message);
    expect(engine.frames.filter(({ type, action }) => type === "invokefunction" && action === undefined)).toEqual([]);
  });

  it.each(titled(functions))("of $of throws TypeError: $option", ({ call, message }) => {
    expect(() => call(worker)).toThrow(TypeError);
    expect(() => call(worker)).toThrow(message);
  });

  it("is refused in subscriptions and collections, except in the handlers of a class", async () => {
    const streams = connectStreams({ url: engine.address, logger: silentLogger });
    expect(() => streams.subscribe({ ...group, itemId: "a" } as never, {})).toThrow("subscribe has no option itemId");
    expect(() => streams.subscribe(group, { onSnyc: () => {} } as never)).toThrow("did you mean onSync?");
    expect(() => streams.collection(group, { onchange: () => {} } as never)).toThrow("did you mean onChange?");
    class Handlers {
      seen = 0;
      onEvent = (): void => {
        this.seen++;
      };
    }
    streams.subscribe(group, new Handlers());
    await streams.close();
  });

  it("is refused in calls and spans of a handler's context", async () => {
    worker.registerFunction("f", async (_input, context) => {
      await expect(context.call({ function_id: "g", timeout: 5 } as never)).rejects.toThrow("did you mean timeoutMs?");
      await expect(context.state.set("s", "k", 1, { if_version: 1 } as never)).rejects.toThrow("ifVersion");
      return "done";
    });
    await engine.frame({ type: "registerfunction", id: "f" });
    const invocation_id = crypto.randomUUID();
    engine.send({ data: 1, type: "invokefunction", invocation_id, function_id: "f" });
    expect(await engine.frame({ type: "invocationresult" })).toMatchObject({ result: "done" });
  });

  it("is refused if options are no object", async () => {
    await expect(worker.state.get("s", "k", 5 as never)).rejects.toThrow(
      new TypeError("the options of state.get must be an object, not number"),
    );
    expect(() => worker.shutdown(null as never)).toThrow("must be an object, not null");
  });

  it("does not concern the config of a trigger type that a worker provides", async () => {
    worker.registerTrigger({ type: "webhook", function_id: "f", config: { some_thing: 1, other: { aB: 2 } } });
    expect(await engine.frame({ type: "registertrigger" })).toMatchObject({
      config: { some_thing: 1, other: { aB: 2 } },
    });
  });
});
