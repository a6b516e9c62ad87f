import { type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import observability, { OBSERVABILITY } from "./index.ts";

const engines: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

interface Stored {
  readonly trace_id: string;
}

async function withOneCall(
  config: object = {},
): Promise<{ engine: InMemoryEngine; spans: () => Promise<string>; traceId: string }> {
  const engine = await inMemoryEngine({ modules: [observability], config: { [OBSERVABILITY]: config } });
  engines.push(engine);
  const worker = await engine.connectWorker({ name: "w" });
  worker.serve("w::f", () => null);
  // The response arrives after the function was registered.
  await worker.call("engine::telemetry::status", {});
  await engine.call("w::f", { iban: "DE02", session: "a workshop" });
  const { spans: listed } = (await engine.call("engine::traces::list", { function_id: "w::f" })) as { spans: Stored[] };
  const traceId = listed[0]?.trace_id ?? "";
  return {
    engine,
    traceId,
    spans: async () => JSON.stringify(await engine.call("engine::traces::spans", { trace_id: traceId })),
  };
}

const configured = (engine: InMemoryEngine, config: object): Promise<unknown> =>
  engine.applyModules([{ name: OBSERVABILITY, config }]);

describe("a change of the config of svc-observability", () => {
  it("takes up keys to redact at once, for what was recorded before as well, and loses nothing", async () => {
    const { engine, spans } = await withOneCall();
    expect(await spans()).toContain("DE02");
    // A common word, unlike `session_id`.
    expect(await spans()).toContain("a workshop");
    expect(await configured(engine, { redact_keys: ["iban"] })).toEqual([]);
    expect(await spans()).not.toContain("DE02");
    expect(await spans()).toContain("a workshop");
    expect(await engine.call("engine::traces::list", { text: "DE02" })).toMatchObject({ total: 0 });
    expect(await engine.call("engine::invocations::list", { function_id: "w::f" })).toMatchObject({ total: 1 });
  });

  it("takes up limits at once, and keeps what fits them", async () => {
    const memoryOnly = { trace_storage: { enabled: false } };
    const { engine, spans } = await withOneCall(memoryOnly);
    const limits = { memory_max_spans: 10, memory_max_bytes: 65_536, sampling: { keep_slow_ms: 5 } };
    expect(await configured(engine, { ...memoryOnly, ...limits })).toEqual([]);
    expect(await spans()).toContain("w::f");
    for (let n = 0; n < 20; n += 1) await engine.call("w::f", {});
    expect(await engine.call("engine::telemetry::status", {})).toMatchObject({
      spans: { limit: 10, stored: 10, unwritten: 0 },
    });
  });

  it.each([
    ["service_name", { service_name: "other" }],
    ["exporter", { exporter: "both", endpoint: "http://127.0.0.1:1" }],
    ["trace_storage", { trace_storage: {} }],
  ])("logs once, with its name, that %s clears what is in memory", async (name, config) => {
    const { engine } = await withOneCall();
    const warnings = (): string[] =>
      engine.logs
        .filter(({ level, message }) => level === "warn" && message.includes("in memory are cleared"))
        .map(({ message }) => message);
    expect(await configured(engine, { redact_keys: ["iban"] })).toEqual([]);
    expect(warnings()).toEqual([]);
    expect(await configured(engine, { redact_keys: ["iban"], ...config })).toEqual([]);
    expect(warnings()).toEqual([expect.stringContaining(`\`${name}\` changed`)]);
  });

  it("restarts only if it changes where spans are stored", async () => {
    const { engine } = await withOneCall();
    expect(await configured(engine, { trace_storage: {} })).toEqual([]);
    expect(await engine.call("engine::traces::list", {})).toMatchObject({ total: 0, storage: "disk" });
    await engine.call("w::f", {});
    expect(await configured(engine, { trace_storage: { retention_seconds: 600, max_disk_bytes: 2 ** 24 } })).toEqual(
      [],
    );
    expect(await engine.call("engine::traces::list", {})).toMatchObject({ total: 1, storage: "disk" });
    // A quarter for logs, and the rest except a tenth for spans: both stay within the limit.
    expect(await engine.call("engine::telemetry::status", {})).toMatchObject({
      spans: { max_bytes: 0.65 * 2 ** 24 },
      logs: { max_bytes: 0.25 * 2 ** 24 },
    });
    expect(await engine.call("engine::invocations::list", { function_id: "w::f" })).toMatchObject({ total: 1 });
  });
});
