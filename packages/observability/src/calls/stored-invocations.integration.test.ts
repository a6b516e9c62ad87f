import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { accessTo, type InMemoryEngine, inMemoryEngine } from "@svc-runtime/engine/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import observability, { OBSERVABILITY } from "../index.ts";

interface Listed {
  readonly invocations: readonly Record<string, unknown>[];
  readonly cursor: string | null;
  readonly total: number;
}

const dataDir = mkdtempSync(join(tmpdir(), "svc-invocations-"));
let engine: InMemoryEngine;

async function start(config: object = {}): Promise<InMemoryEngine> {
  return inMemoryEngine({ modules: [observability], config: { [OBSERVABILITY]: config }, dataDir });
}

async function withWorker(running: InMemoryEngine) {
  const worker = await running.connectWorker({ name: "math-worker" });
  worker.serve("math::add", (data) => ({ c: (data as { readonly a: number }).a }));
  worker.serve("math::break", () => {
    throw new Error("broken");
  });
  await worker.call("engine::telemetry::status", {});
  return worker;
}

const list = async (query: object = {}): Promise<Listed> =>
  (await engine.call("engine::invocations::list", query)) as Listed;

beforeAll(async () => {
  // A small memory, so that the spans are written before the stop.
  const first = await start({ memory_max_spans: 10 });
  const worker = await withWorker(first);
  for (let a = 0; a < 60; a += 1) await worker.call("math::add", { a, password: "hunter2" });
  await worker.call("math::break", { a: -1 });
  await first.call("engine::traces::list", {});
  await first.stop();
  engine = await start();
});
afterAll(async () => {
  await engine.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

it("lists the calls of an earlier run after those of this one, page by page, each once", async () => {
  const worker = await withWorker(engine);
  for (let a = 100; a < 105; a += 1) await worker.call("math::add", { a });
  const seen: unknown[] = [];
  let cursor: string | null | undefined;
  let pages = 0;
  do {
    const page = await list({ function_id: "math::add", limit: 7, ...(cursor ? { cursor } : {}) });
    expect(page.invocations.length).toBeLessThanOrEqual(7);
    seen.push(...page.invocations.map((row) => row.invocation_id));
    cursor = page.cursor;
    pages += 1;
  } while (cursor !== null && pages < 50);
  expect(seen).toHaveLength(65);
  expect(new Set(seen).size).toBe(65);
  const { invocations } = await list({ function_id: "math::add", limit: 1_000 });
  expect(invocations.map((row) => row.invocation_id)).toEqual(seen);
  const times = invocations.map((row) => row.started_at_ms as number);
  expect(times).toEqual(times.toSorted((a, b) => b - a));
});

it("finds them by outcome, and returns one with its input and error, so that it can be replayed", async () => {
  const { invocations } = await list({ status: "error", function_id: "math::break" });
  expect(invocations).toEqual([
    expect.objectContaining({
      function_id: "math::break",
      worker: { id: expect.any(String), name: "math-worker" },
      caller: expect.objectContaining({ name: "math-worker" }),
      source: "call",
      status: "error",
      error: { code: "invocation_failed", message: "broken" },
      input_bytes: 8,
    }),
  ]);
  expect((await list({ status: "error", function_id: "math::add" })).invocations).toEqual([]);
  const id = invocations[0]?.invocation_id;
  expect(await engine.call("engine::invocations::get", { invocation_id: id })).toMatchObject({
    input: { json: '{"a":-1}', truncated: false },
    output: null,
    error: { code: "invocation_failed", message: "broken" },
  });
  expect(await engine.call("engine::invocations::get", { invocation_id: "none" })).toBeNull();
});

it("masks secrets, and hides calls from callers that may not make them", async () => {
  const { invocations } = await list({ function_id: "math::add", limit: 1_000 });
  const [oldest] = invocations.slice(-1);
  expect(await engine.call("engine::invocations::get", { invocation_id: oldest?.invocation_id })).toMatchObject({
    input: { json: '{"a":0,"password":"***"}' },
    output: { json: '{"c":0}' },
  });
  const reader = await engine.connectWorker({
    name: "reader",
    access: accessTo(["engine::invocations::list", "engine::invocations::get", "math::break"]),
  });
  const seen = await reader.call("engine::invocations::list", { limit: 1_000 });
  expect(JSON.stringify(seen)).toContain("math::break");
  expect(JSON.stringify(seen)).not.toContain("math::add");
  const got = await reader.call("engine::invocations::get", { invocation_id: oldest?.invocation_id });
  expect(JSON.stringify(got)).not.toContain("math::add");
});
