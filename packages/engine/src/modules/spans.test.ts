import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { ChannelWriter, Module } from "../kernel/module.ts";
import {
  bindTrigger,
  Collected,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  recordedSpans,
} from "../testing/index.ts";
import { consoleApi } from "./console-api/index.ts";
import { cron } from "./cron/index.ts";
import { event } from "./event/index.ts";
import { httpModule } from "./http/index.ts";
import { queue } from "./queue/index.ts";
import { state } from "./state/index.ts";
import { stream } from "./stream/index.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const traceparent = `00-${TRACE}-00f067aa0ba902b7-01`;

let engine: InMemoryEngine;
let worker: InMemoryWorker;
let spans: ReturnType<typeof recordedSpans>;

async function start(config: Readonly<Record<string, unknown>> = {}): Promise<void> {
  spans = recordedSpans();
  const rules = { enabled: true, originIsAllowed: () => true, fetchSiteIsSafe: () => true };
  const modules = [
    spans.module,
    consoleApi(() => rules),
    httpModule,
    cron,
    event,
    queue,
    state,
    stream,
  ] as unknown as readonly Module[];
  const memory = { adapter: { name: "in_memory" } };
  const defaults = { "svc-queue": memory, "svc-state": memory, "svc-stream": memory };
  engine = await inMemoryEngine({
    modules,
    config: Object.fromEntries(
      modules.map(({ name }) => [name, (config[name] ?? defaults[name as never] ?? {}) as unknown]),
    ),
  });
  worker = await engine.connectWorker({ name: "w" });
}
beforeEach(() => start());
afterEach(() => engine.stop());

/** The span that is this one's parent. */
function below(child: { readonly traceId: string; readonly parentSpanId: string | undefined }) {
  return { traceId: child.traceId, spanId: child.parentSpanId };
}

describe("the span of an HTTP request", () => {
  it("is named by its route, stands above condition, middleware and handler, and tells what OpenTelemetry's conventions ask for", async () => {
    worker.serve("m", () => ({ action: "continue" }));
    worker.serve("c", () => true);
    worker.serve("f", () => ({ status_code: 201, body: 1 }));
    const trigger = await bindTrigger(worker, "http", "f", {
      api_path: "/orders/:id",
      http_method: "POST",
      condition_function_id: "c",
      middleware_function_ids: ["m"],
    });
    const response = await fetch(`${await engine.http()}/orders/7?token=secret`, {
      method: "POST",
      headers: { traceparent, "user-agent": "agent/1", "content-type": "application/json" },
      body: "{}",
    });
    expect(response.status).toBe(201);
    const span = await spans.span("POST /orders/:id");
    expect(span).toMatchObject({
      traceId: TRACE,
      parentSpanId: "00f067aa0ba902b7",
      error: undefined,
      start: { kind: "server" },
    });
    expect(span.attributes).toMatchObject({
      "http.request.method": "POST",
      "http.route": "/orders/:id",
      "url.path": "/orders/7",
      "url.scheme": "http",
      "user_agent.original": "agent/1",
      "http.response.status_code": 201,
      "svc.source": "http",
      "svc.trigger.type": "http",
      "svc.trigger.id": trigger,
    });
    for (const name of ["call m", "call c", "call f"])
      expect(below(await spans.span(name))).toEqual({ traceId: TRACE, spanId: span.spanId });
  });

  it("is an error when the server is to blame, by a throw or by its status, and none when the client is", async () => {
    worker.serve("f", (input) => {
      const { path_params } = input as { path_params: { how: string } };
      if (path_params.how === "throw") throw new Error("no");
      return { status_code: Number(path_params.how), body: null };
    });
    await bindTrigger(worker, "http", "f", { api_path: "/f/:how" });
    const base = await engine.http();
    const seen: unknown[] = [];
    for (const how of ["throw", "503", "404"]) {
      spans.ended.length = 0;
      await (await fetch(`${base}/f/${how}`)).text();
      const { attributes, error } = await spans.span("GET /f/:how");
      seen.push([attributes["http.response.status_code"], error]);
    }
    expect(seen).toEqual([
      [500, "invocation_failed"],
      [503, "answered 503"],
      [404, undefined],
    ]);
  });

  it("has the method alone for a name where no route fits", async () => {
    await (await fetch(`${await engine.http()}/secret/path`)).text();
    expect(await spans.span("GET")).toMatchObject({
      attributes: { "http.response.status_code": 404, "url.path": "/secret/path" },
    });
  });

  it("begins a trace of its own that links to the client's where the config does not trust it", async () => {
    await engine.stop();
    await start({ "svc-http": { trust_traceparent: false } });
    const frames: Record<string, unknown>[] = [];
    worker.serve("f", (_input, frame) => {
      frames.push(frame);
      return { body: 1 };
    });
    await bindTrigger(worker, "http", "f", { api_path: "/f" });
    await (await fetch(`${await engine.http()}/f`, { headers: { traceparent, baggage: "user=7" } })).text();
    const span = await spans.span("GET /f");
    expect(span).toMatchObject({ parentSpanId: undefined, start: { links: [traceparent] } });
    expect(span.traceId).not.toBe(TRACE);
    expect(frames[0]?.baggage ?? null).toBeNull();
  });

  it("lasts until a streamed answer has ended", async () => {
    const writers = new Collected<ChannelWriter>();
    worker.serve("f", (input) => writers.add(engine.takeWriter((input as { response: unknown }).response)));
    await bindTrigger(worker, "http", "f", { api_path: "/s" });
    const answered = fetch(`${await engine.http()}/s`);
    const writer = (await writers.count(1))[0] as ChannelWriter;
    await writer.write({ kind: "binary", bytes: Buffer.from("one") });
    const response = await answered;
    const reader = response.body?.getReader();
    expect(Buffer.from((await reader?.read())?.value ?? []).toString()).toBe("one");
    expect(spans.ended.some(({ name }) => name === "GET /s")).toBe(false);
    writer.end();
    expect((await reader?.read())?.done).toBe(true);
    expect(await spans.span("GET /s")).toMatchObject({
      error: undefined,
      attributes: { "http.response.status_code": 200 },
    });
  });
});

describe("the span of a call from the console", () => {
  const invoke = async (functionId: string): Promise<Response> =>
    fetch(`${await engine.http()}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id: functionId }),
    });

  it("is the one that the answer names", async () => {
    worker.serve("f", () => 1);
    const response = await invoke("f");
    const span = await spans.span("console f");
    expect(span).toMatchObject({
      parentSpanId: undefined,
      attributes: { "svc.source": "console", "http.response.status_code": 200 },
    });
    expect(response.headers.get("x-svc-trace-id")).toBe(span.traceId);
    expect(below(await spans.span("call f"))).toEqual({ traceId: span.traceId, spanId: span.spanId });
    expect((await invoke("nope")).status).toBe(404);
    expect(await spans.span("console nope")).toMatchObject({ error: "function_not_found" });
  });

  it("is left out for what looks at the engine itself", async () => {
    const response = await invoke("engine::queue::topics");
    expect(response.headers.get("x-svc-trace-id")).toBeNull();
    await invoke("nope");
    await spans.span("console nope");
    expect(spans.ended.some(({ name }) => name.startsWith("console engine::"))).toBe(false);
  });
});

describe("the span of a firing", () => {
  it("of an event hangs below its publisher's trace, per delivery, and tells how it ended", async () => {
    worker.serve("on::a", () => null);
    worker.serve("on::b", () => {
      throw new Error("no");
    });
    await bindTrigger(worker, "event", "on::a", { topic: "orders.created" });
    await engine.call("publish", { topic: "orders.created" }, { traceparent });
    const publish = await spans.span("call publish");
    const span = await spans.span("event orders.created");
    expect(below(span)).toEqual({ traceId: TRACE, spanId: publish.spanId });
    expect(span.attributes).toMatchObject({
      "messaging.destination.name": "orders.created",
      "svc.source": "event",
      "svc.trigger.type": "event",
    });
    expect(below(await spans.span("call on::a"))).toEqual({ traceId: TRACE, spanId: span.spanId });
    await bindTrigger(worker, "event", "on::b", { topic: "b" });
    await engine.call("publish", { topic: "b" });
    expect(await spans.span("event b")).toMatchObject({ error: "invocation_failed" });
  });

  it("of a job hangs below who put it on its queue, with its attempt", async () => {
    let failures = 0;
    worker.serve("work", () => {
      if (failures++ === 0) throw new Error("no");
      return null;
    });
    await engine.call("queue::enqueue", { queue: "default", function_id: "work", data: 1 }, { traceparent });
    const call = await spans.span("call queue::enqueue");
    const enqueue = await spans.span("enqueue default");
    expect(below(enqueue)).toEqual({ traceId: TRACE, spanId: call.spanId });
    const attempt = await spans.span("queue default");
    expect(below(attempt)).toEqual({ traceId: TRACE, spanId: enqueue.spanId });
    expect(attempt).toMatchObject({
      error: "invocation_failed",
      attributes: {
        "svc.source": "queue",
        "svc.job.queue": "default",
        "svc.job.attempt": 1,
        "messaging.destination.name": "default",
      },
      start: { kind: "consumer", links: [`00-${TRACE}-${enqueue.spanId}-01`] },
    });
    expect(below(await spans.span("call work"))).toEqual({ traceId: TRACE, spanId: attempt.spanId });
  });

  it("of a job that a worker enqueues by its action is in the worker's trace", async () => {
    worker.serve("work", () => null);
    await worker.call("work", 1, { action: { type: "enqueue", queue: "default" }, traceparent });
    expect(await spans.span("enqueue default")).toMatchObject({ traceId: TRACE });
    expect(await spans.span("queue default")).toMatchObject({ traceId: TRACE });
    expect(await spans.span("call work")).toMatchObject({ traceId: TRACE });
  });

  it("of a change of state hangs below the write", async () => {
    worker.serve("on::change", () => null);
    await bindTrigger(worker, "state", "on::change", { scope: "s" });
    await engine.call("state::set", { scope: "s", key: "k", value: 1 }, { traceparent });
    const write = await spans.span("call state::set");
    const span = await spans.span("state:created s");
    expect(below(span)).toEqual({ traceId: TRACE, spanId: write.spanId });
    expect(span.attributes).toMatchObject({
      "svc.source": "state",
      "svc.trigger.type": "state:created",
      "svc.state.key": "k",
    });
    expect(below(await spans.span("call on::change"))).toEqual({ traceId: TRACE, spanId: span.spanId });
  });

  it("keeps a circle of state triggers from going on, though every call on the way has a span of its own (gap 38)", async () => {
    const errors: Record<string, unknown>[] = [];
    worker.serve("step", async (data, { traceparent, baggage }) => {
      const answer = await worker.call("state::set", data, { traceparent, baggage });
      if (answer.error != null) errors.push(answer.error as Record<string, unknown>);
    });
    worker.serve("on::change", (data, { traceparent, baggage }) => {
      const { scope, key, new_value } = data as { scope: string; key: string; new_value: number };
      return worker.call("step", { scope, key, value: new_value + 1 }, { traceparent, baggage });
    });
    await bindTrigger(worker, "state", "on::change", { scope: "s" });
    await engine.call("state::set", { scope: "s", key: "k", value: 0 });
    while (errors.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(errors).toEqual([expect.objectContaining({ code: "trigger_loop" })]);
    expect(await engine.call("state::get", { scope: "s", key: "k" })).toBe(15);
  });

  it("of an item of a stream hangs below the write", async () => {
    worker.serve("on::item", () => null);
    await bindTrigger(worker, "stream", "on::item", { stream_name: "chat" });
    await engine.call("stream::set", { stream_name: "chat", group_id: "g", item_id: "i", data: 1 }, { traceparent });
    const span = await spans.span("stream chat");
    expect(below(span)).toEqual({ traceId: TRACE, spanId: (await spans.span("call stream::set")).spanId });
    expect(below(await spans.span("call on::item"))).toEqual({ traceId: TRACE, spanId: span.spanId });
  });

  it("of a tick begins a trace", async () => {
    worker.serve("on::tick", () => null);
    const trigger = await bindTrigger(worker, "cron", "on::tick", { expression: "0 0 0 1 1 *" });
    await engine.call("cron::trigger_now", { trigger_id: trigger });
    const span = await spans.span("cron on::tick");
    expect(span).toMatchObject({ parentSpanId: undefined, error: undefined });
    expect(span.attributes).toMatchObject({
      "svc.source": "cron",
      "svc.trigger.id": trigger,
      "svc.cron.outcome": "ok",
      "svc.cron.manual": true,
    });
    expect(below(await spans.span("call on::tick"))).toEqual({ traceId: span.traceId, spanId: span.spanId });
  });
});
