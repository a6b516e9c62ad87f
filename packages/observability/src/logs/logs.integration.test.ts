import { defineModule, type ModuleContext } from "@svc-runtime/engine/module";
import { accessTo, type InMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { OBSERVABILITY } from "../index.ts";
import type { LogJson } from "./log-json.ts";
import { logsEngine } from "./testing/logs-engine.ts";

const engines: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

async function started(...options: Parameters<typeof logsEngine>): Promise<InMemoryEngine> {
  const engine = await logsEngine(...options);
  engines.push(engine);
  return engine;
}

interface Listed {
  readonly logs: readonly LogJson[];
  readonly total: number;
  readonly cursor: string | null;
  readonly [member: string]: unknown;
}

async function list(engine: InMemoryEngine, input: object = {}): Promise<Listed> {
  return (await engine.call("engine::logs::list", input)) as Listed;
}

describe("engine::log::*", () => {
  it("makes entries of the five levels, with data as attributes and the caller's name", async () => {
    const engine = await started();
    const worker = await engine.connectWorker({ name: "shop" });
    for (const level of ["info", "warn", "error", "debug", "trace"]) {
      await worker.call(`engine::log::${level}`, {
        message: `at ${level}`,
        service_name: "till",
        trace_id: "AB".repeat(16),
        span_id: "cd".repeat(8),
        data: { n: 1 },
      });
    }
    const { logs } = await list(engine, { sort_order: "asc" });
    expect(logs.map(({ severity_text, severity_number }) => [severity_text, severity_number])).toEqual([
      ["INFO", 9],
      ["WARN", 13],
      ["ERROR", 17],
      ["DEBUG", 5],
      ["TRACE", 1],
    ]);
    expect(logs[0]).toEqual({
      timestamp_unix_nano: expect.any(Number),
      observed_timestamp_unix_nano: expect.any(Number),
      severity_number: 9,
      severity_text: "INFO",
      body: "at info",
      attributes: { n: 1, "svc.worker.name": "shop", "svc.worker.id": worker.id },
      trace_id: "ab".repeat(16),
      span_id: "cd".repeat(8),
      resource: { "service.name": "till" },
      service_name: "till",
      id: expect.stringMatching(/^\d{16}$/),
      timestamp_unix_nano_text: expect.stringMatching(/^\d{19}$/),
      observed_timestamp_unix_nano_text: expect.stringMatching(/^\d{19}$/),
      timestamp_ms: expect.any(Number),
    });
  });

  it("of a restricted caller names its own service, and drops what is over the limit of the principal, over all its connections", async () => {
    const engine = await started({}, { clock: manualClock(1_000) });
    const owner = await engine.connectWorker({ name: "owner" });
    const tenants = [
      await engine.connectWorker({ name: "shop", access: accessTo([]) }),
      await engine.connectWorker({ name: "shop", access: accessTo([]) }),
    ];
    for (const tenant of tenants) {
      for (let n = 0; n < 600; n++)
        expect(await tenant.call("engine::log::info", { message: "flood", service_name: "owner" })).toMatchObject({
          error: null,
        });
    }
    await owner.call("engine::log::info", { message: "calm", service_name: "owner" });
    expect(await list(engine, { text: "flood", limit: 1 })).toMatchObject({
      total: 1_000,
      logs: [{ service_name: "shop (auth)" }],
    });
    expect(await list(engine, { services: ["owner"] })).toMatchObject({ total: 1, logs: [{ body: "calm" }] });
  });

  it("of a restricted caller says nothing about functions and workers that the call does not prove", async () => {
    const engine = await started();
    const tenant = await engine.connectWorker({ name: "shop", access: accessTo([]) });
    const data = {
      "svc.function_id": "secret::pay",
      function_id: "secret::pay",
      "svc.worker.name": "bank",
      "svc.invocation_id": "i",
      color: "red",
    };
    await tenant.call("engine::log::info", { message: "paid", data });
    const attributes = { color: "red", "svc.worker.name": "shop", "svc.worker.id": tenant.id };
    expect(await list(engine, { text: "paid" })).toMatchObject({ logs: [{ attributes }] });
    expect(await list(engine, { function_id: "secret::pay" })).toMatchObject({ total: 0 });
  });

  it("takes the trace of the call when it names none, `unknown` for a service, and any data", async () => {
    const engine = await started();
    const worker = await engine.connectWorker({ name: "shop" });
    const traceparent = `00-${"1".repeat(32)}-${"2".repeat(16)}-01`;
    await worker.call("engine::log::info", { message: "a", data: [1, 2] }, { traceparent });
    await worker.call(
      "engine::log::info",
      { message: "b", trace_id: "no id", data: JSON.parse('{"__proto__":"x"}') },
      { traceparent },
    );
    const { logs } = await list(engine, { sort_order: "asc" });
    expect(logs[0]).toMatchObject({ trace_id: "1".repeat(32), service_name: "unknown", attributes: { data: [1, 2] } });
    expect(logs[1]).toMatchObject({ trace_id: null, attributes: { "svc.trace_id": "no id" } });
    expect(Object.keys(logs[1]?.attributes ?? {})).toContain("__proto__");
  });

  it("does not look into data that is larger than any entry, e.g. a million members: it keeps the beginning (L-1)", async () => {
    const engine = await started();
    const data = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`key${index}`, index]));
    await engine.call("engine::log::info", { message: "a", data });
    const { logs } = await list(engine);
    expect(Object.keys(logs[0]?.attributes ?? {}).sort()).toEqual(["data", "svc.truncated"]);
    expect(logs[0]?.attributes.data).toMatch(/^\{"key0":0,"key1":1,.*\[cut\]$/s);
    expect(String(logs[0]?.attributes.data).length).toBeLessThan(17_000);
  });

  it("shows the entry in the engine's own output, once, where it cannot steer a terminal or forge a line, and keeps it as it came (K14)", async () => {
    const engine = await started();
    const worker = await engine.connectWorker();
    const body = `\u001b[2J\r\u202eevil\u0000${"x".repeat(1_000_000)}`;
    await worker.call("engine::log::info", { message: body, data: { big: "y".repeat(100_000), esc: "\u001b[31m" } });
    const lines = engine.logs.filter(({ message }) => message === "a worker logs");
    expect(lines).toHaveLength(1);
    const fields = lines[0]?.fields ?? {};
    expect(fields).toMatchObject({ service: "unknown", truncated: true });
    expect(String(fields.text).startsWith("\\u001b[2J\\u000d\\u202eevil\\u0000xxx")).toBe(true);
    expect(String(fields.text).length).toBeLessThan(70_000);
    expect(JSON.stringify(fields.data).length).toBeLessThan(70_000);
    const { logs, total } = await list(engine);
    expect(total).toBe(1);
    expect(logs[0]?.body.slice(0, 100)).toBe(body.slice(0, 100));
    expect(logs[0]?.body.length).toBeLessThan(70_000);
    expect(logs[0]?.attributes).toMatchObject({ "svc.truncated": true, esc: "\u001b[31m" });
  });

  it("does not show them where logs_console_output is off, and at most 100 a second", async () => {
    const silent = await started({ logs_console_output: false });
    await silent.call("engine::log::info", { message: "a" });
    expect(silent.logs.filter(({ message }) => message === "a worker logs")).toEqual([]);
    expect((await list(silent)).total).toBe(1);
    const clock = manualClock();
    const engine = await started({}, { clock });
    for (let index = 0; index < 150; index++) await engine.call("engine::log::info", { message: "a" });
    clock.advance(1_000);
    await engine.call("engine::log::info", { message: "b" });
    const shown = engine.logs.filter(({ message }) => message !== "a module started");
    expect(shown.filter(({ message }) => message === "a worker logs")).toHaveLength(101);
    expect(shown.find(({ message }) => message.startsWith("some worker log lines"))?.fields).toMatchObject({
      lines: 50,
    });
    expect((await list(engine)).total).toBe(151);
  });

  it("bounds a million attributes, deep ones, large ones and absurd times (1.4)", async () => {
    const engine = await started();
    const data = Object.fromEntries(Array.from({ length: 1_000_000 }, (_, index) => [`key ${index}`, index]));
    engine.kernel.telemetry.log({ severity: 9, body: "many", attributes: data });
    engine.kernel.telemetry.log({ severity: 9, body: "deep", attributes: { deep: deep(10_000) } });
    engine.kernel.telemetry.log({
      severity: 99,
      body: "absurd",
      timeMs: Number.POSITIVE_INFINITY,
      attributes: { wide: "z".repeat(10_000_000) },
    });
    const { logs } = await list(engine);
    expect(logs).toHaveLength(3);
    expect(JSON.stringify(logs).length).toBeLessThan(200_000);
    for (const { attributes } of logs) expect(attributes["svc.truncated"]).toBe(true);
    expect(logs.find(({ body }) => body === "absurd")).toMatchObject({
      severity_number: 24,
      severity_text: "ERROR",
      fatal: true,
    });
  }, 30_000);
});

function deep(levels: number): { readonly a: never } {
  let value: unknown = 1;
  for (let level = 0; level < levels; level++) value = { a: value };
  return value as { readonly a: never };
}

describe("engine::logs::*", () => {
  it("hides values by redact_keys, wherever entries are shown", async () => {
    const engine = await started();
    await engine.call("engine::log::info", {
      message: "in",
      data: { password: "hunter2", nested: { api_key: "hunter2" } },
    });
    const { lines } = (await engine.call("engine::logs::export", { format: "otlp_json" })) as { lines: unknown };
    const exported = await readAll(engine, lines);
    expect(JSON.stringify([await list(engine), engine.logs, exported])).not.toContain("hunter2");
    expect(exported).toContain("resourceLogs");
  });

  it("answers empty lists that say why, where logs are off or only exported", async () => {
    const off = await started({ logs_enabled: false });
    await off.call("engine::log::info", { message: "a" });
    expect(await list(off)).toMatchObject({
      logs: [],
      total: 0,
      disabled: true,
      message: expect.stringContaining("logs_enabled: true"),
    });
    expect(await off.call("engine::logs::facets")).toMatchObject({ facets: {}, disabled: true });
    const exported = await started({ logs_exporter: "otlp" });
    expect(await list(exported)).toMatchObject({
      logs: [],
      disabled: true,
      message: expect.stringContaining("logs_exporter"),
    });
  });

  it("pages by cursor, refuses another function's, and says what was asked", async () => {
    const engine = await started();
    for (let index = 0; index < 5; index++) await engine.call("engine::log::info", { message: String(index) });
    const first = await list(engine, { limit: 3 });
    const second = await list(engine, { limit: 3, cursor: first.cursor });
    expect([...first.logs, ...second.logs].map(({ body }) => body)).toEqual(["4", "3", "2", "1", "0"]);
    expect(second).toMatchObject({ total: 5, cursor: null, query: { limit: 3 } });
    await expect(list(engine, { cursor: first.cursor, sort_order: "asc" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(list(engine, { limit: 5_001 })).rejects.toMatchObject({ code: "invalid_input" });
    const { id } = first.logs[1] as LogJson;
    expect(await engine.call("engine::logs::get", { id })).toMatchObject({ body: "3" });
    const around = (await engine.call("engine::logs::around", { id, before: 1, after: 1 })) as Listed;
    expect(around.logs.map(({ body }) => body)).toEqual(["4", "3", "2"]);
  });

  it("counts by facet and by time", async () => {
    const clock = manualClock();
    const engine = await started({}, { clock });
    await engine.call("engine::log::warn", { message: "a", service_name: "till" });
    clock.advance(9_999);
    await engine.call("engine::log::error", {
      message: "b",
      service_name: "till",
      data: { "svc.function_id": "pay::now" },
    });
    expect(await engine.call("engine::logs::facets")).toMatchObject({
      total: 2,
      facets: {
        service: [{ value: "till", count: 2 }],
        function_id: [{ value: "pay::now", count: 1 }],
        level: expect.arrayContaining([{ value: "WARN", count: 1 }]),
      },
    });
    const { buckets } = (await engine.call("engine::logs::histogram", { buckets: 2 })) as { buckets: unknown };
    expect(buckets).toMatchObject([{ counts: { WARN: 1 } }, { counts: { ERROR: 1 } }]);
  });

  it("follows entries by a cursor, waits for the next one, and counts what it missed", async () => {
    const engine = await started();
    const tail = async (input: object) =>
      (await engine.call("engine::logs::tail", input)) as { logs: LogJson[]; cursor: string; dropped: number };
    const begin = await tail({});
    expect(begin.logs).toEqual([]);
    const waiting = tail({ after: begin.cursor, wait_ms: 20_000, levels: ["WARN"] });
    await engine.call("engine::log::info", { message: "not this" });
    await engine.call("engine::log::warn", { message: "this" });
    const next = await waiting;
    expect(next.logs.map(({ body }) => body)).toEqual(["this"]);
    for (let index = 0; index < 1_500; index++) engine.kernel.telemetry.log({ severity: 9, body: String(index) });
    const late = await tail({ after: next.cursor, limit: 1_000 });
    expect(late).toMatchObject({ dropped: 500 });
    expect(late.logs.map(({ body }) => body)).toEqual(Array.from({ length: 1_000 }, (_, index) => String(index + 500)));
    expect(await tail({ after: late.cursor })).toMatchObject({ logs: [], dropped: 0 });
  });

  it("exports as lines that import takes, as a table whose cells are no formulas, and refuses line by line (L-6)", async () => {
    let createChannel: ModuleContext<unknown>["createChannel"] = () => expect.unreachable();
    const channels = defineModule({
      name: "channels",
      summary: "",
      config: z.unknown(),
      start(context) {
        createChannel = context.createChannel;
        return { stop: () => {} };
      },
    });
    const engine = await started({}, { modules: [channels], config: { channels: {} } });
    await engine.call("engine::log::info", { message: '=cmd|"/c calc"!A0', data: { n: 1 }, service_name: "+till" });
    await engine.call("engine::log::error", { message: "two\nlines" });
    const { lines } = (await engine.call("engine::logs::export", { sort_order: "asc" })) as { lines: unknown };
    const ndjson = await readAll(engine, lines);
    const csv = await readAll(
      engine,
      ((await engine.call("engine::logs::export", { format: "csv" })) as { lines: unknown }).lines,
    );
    expect(csv).toContain(`"'=cmd|""/c calc""!A0"`);
    expect(csv).toContain(`"'+till"`);
    const before = await list(engine, { sort_order: "asc" });
    expect(await engine.call("engine::logs::clear")).toEqual({ success: true });
    expect((await list(engine)).total).toBe(0);

    const channel = createChannel();
    const importing = engine.call("engine::logs::import", { lines: channel.readerRef });
    const into = channel.takeWriter();
    const text = `${ndjson}no json\n{"body":1}\n{"body":"plain","severity_text":"warning"}\n`;
    // Cut at any byte, within characters too.
    for (const piece of text.match(/.{1,50}/gs) ?? []) await into.write({ kind: "binary", bytes: Buffer.from(piece) });
    into.end();
    expect(await importing).toEqual({ imported: 3, refused: 2 });
    const after = await list(engine, { sort_order: "asc" });
    expect(after.logs.slice(0, 2).map(({ id: _id, ...log }) => log)).toEqual(
      before.logs.map(({ id: _id, ...log }) => log),
    );
    const otlp = (
      (await engine.call("engine::logs::export", { format: "otlp_json", services: ["+till"] })) as { lines: unknown }
    ).lines;
    const again = createChannel();
    const importingAgain = engine.call("engine::logs::import", { lines: again.readerRef, format: "otlp_json" });
    const writer = again.takeWriter();
    await writer.write({
      kind: "text",
      text: `${await readAll(engine, otlp)}{"resourceLogs":[{"scopeLogs":[{"logRecords":[7]}]}]}\nno json\n`,
    });
    writer.end();
    expect(await importingAgain).toEqual({ imported: 1, refused: 2 });
    expect(
      (await list(engine, { services: ["+till"] })).logs.map(({ body, attributes }) => [body, attributes]),
    ).toEqual(Array(2).fill(['=cmd|"/c calc"!A0', { n: 1 }]));
    expect(after.logs[2]).toMatchObject({ body: "plain", severity_number: 13, service_name: "unknown" });
  });

  it("imports more than the disk takes at once, and loses none (L-6)", async () => {
    const engine = await started({ trace_storage: {}, logs_console_output: false });
    const channel = engine.kernel.channels.create();
    const importing = engine.call("engine::logs::import", { lines: channel.ref("read") });
    const writer = engine.takeWriter(channel.ref("write"));
    const lines = Array.from({ length: 25_000 }, (_, index) => `{"body":"${index}"}\n`);
    for (let from = 0; from < lines.length; from += 5_000)
      await writer.write({ kind: "text", text: lines.slice(from, from + 5_000).join("") });
    writer.end();
    expect(await importing).toEqual({ imported: 25_000, refused: 0 });
    expect((await list(engine, { limit: 1, services: ["unknown"] })).total).toBe(25_000);
    expect(await engine.call("engine::telemetry::status", {})).toMatchObject({ logs: { unwritten: 0 }, dropped: [] });
  }, 60_000);

  it("keeps entries over a change of the config that does not move them", async () => {
    const engine = await started();
    await engine.call("engine::log::info", { message: "kept", data: { pin: "1234" } });
    expect(await engine.applyModules([{ name: OBSERVABILITY, config: { logs_max_count: 10 } }])).toEqual([]);
    expect((await list(engine)).logs).toMatchObject([{ body: "kept", attributes: { pin: "1234" } }]);
    for (let index = 0; index < 20; index++) await engine.call("engine::log::info", { message: "more" });
    expect((await list(engine)).total).toBe(10);
  });

  it("samples whole traces", async () => {
    const engine = await started({ logs_sampling_ratio: 0.5 });
    const trace = (first: string): string => first.repeat(32);
    for (const first of ["1", "e", "1", "e"])
      engine.kernel.telemetry.log({ severity: 9, body: "a", traceId: trace(first) });
    expect((await list(engine)).logs.map(({ trace_id }) => trace_id)).toEqual([trace("1"), trace("1")]);
  });

  it("keeps an entry once that came by two ways", async () => {
    const engine = await started();
    for (const body of ["by the frame", "by the line"]) {
      engine.kernel.telemetry.log({
        severity: 9,
        body,
        service: "shop",
        attributes: { "svc.log.id": "abc", "svc.worker.name": "shop" },
      });
    }
    expect((await list(engine)).logs.map(({ body }) => body)).toEqual(["by the frame"]);
    expect(engine.logs.filter(({ message }) => message === "a worker logs")).toHaveLength(1);
  });

  it("are on the disk where trace_storage is on, beside the data", async () => {
    const engine = await started({ trace_storage: {} });
    await engine.call("engine::log::info", { message: "on the disk" });
    expect((await list(engine, { text: "the disk" })).total).toBe(1);
  });
});

async function readAll(engine: InMemoryEngine, ref: unknown): Promise<string> {
  const reader = engine.takeReader(ref);
  let text = "";
  for (let item = await reader.read(); item !== undefined; item = await reader.read())
    text += item.kind === "text" ? item.text : item.bytes.toString();
  expect(reader.ended).toBe("finished");
  return text;
}
