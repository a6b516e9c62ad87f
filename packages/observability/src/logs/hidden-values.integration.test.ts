import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { InMemoryEngine } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { OBSERVABILITY } from "../index.ts";
import { logsEngine } from "./testing/logs-engine.ts";

const engines: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

const SECRET = "hunter2hunter2";

describe.each([
  ["memory", {}],
  ["disk", { trace_storage: {} }],
] as const)("what redact_keys hide in log entries in %s", (_name, storage) => {
  async function withSecret(): Promise<{
    readonly engine: InMemoryEngine;
    readonly dataDir: string;
    readonly total: (input: object) => Promise<number>;
  }> {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-hidden-"));
    const engine = await logsEngine(storage, { dataDir });
    engines.push(engine);
    const worker = await engine.connectWorker({ name: "shop" });
    await worker.call("engine::log::info", {
      message: "signed in",
      data: { password: SECRET, iban: "DE02123", user: "ada" },
    });
    const total = async (input: object): Promise<number> =>
      ((await engine.call("engine::logs::list", input)) as { total: number }).total;
    return { engine, dataDir, total };
  }

  it("is found by no text and no filter, and counted by no facet", async () => {
    const { engine, total } = await withSecret();
    expect(await total({ text: "signed in" })).toBe(1);
    expect(await total({ text: "ada" })).toBe(1);
    expect(await total({ text: SECRET })).toBe(0);
    expect(await total({ text: "hunter" })).toBe(0);
    expect(await total({ filters: [{ key: "password", op: "contains", value: "hunter" }] })).toBe(0);
    expect(await total({ filters: [{ key: "password", op: "equals", value: SECRET }] })).toBe(0);
    expect(await total({ text: "signed in", exclude: { text: SECRET } })).toBe(1);
    expect(await total({ text: "signed in", filters: [{ key: "password", op: "not_equals", value: SECRET }] })).toBe(1);
    expect(await engine.call("engine::logs::facets", { facets: ["password", "user"] })).toMatchObject({
      facets: { password: [{ value: "***", count: 1 }], user: [{ value: "ada", count: 1 }] },
    });
    expect(await engine.call("engine::logs::histogram", { text: SECRET })).toMatchObject({ total: 0 });
    const { cursor } = (await engine.call("engine::logs::tail", {})) as { cursor: string };
    await engine.call("engine::log::info", { message: "again", data: { password: SECRET } });
    expect(await engine.call("engine::logs::tail", { after: cursor, text: SECRET })).toMatchObject({ logs: [] });
    expect(await engine.call("engine::logs::tail", { after: cursor, text: "again" })).toMatchObject({
      logs: [{ body: "again" }],
    });
  });

  it("is found no more as soon as its key is added, though it was recorded before", async () => {
    const { engine, total } = await withSecret();
    expect(await total({ text: "DE02123" })).toBe(1);
    expect(await engine.applyModules([{ name: OBSERVABILITY, config: { ...storage, redact_keys: ["iban"] } }])).toEqual(
      [],
    );
    expect(await total({ text: "DE02123" })).toBe(0);
    expect(await total({ filters: [{ key: "iban", op: "contains", value: "DE02" }] })).toBe(0);
  });

  it("does not come to the disk", async () => {
    const { dataDir, total } = await withSecret();
    // A query writes the queued entries first.
    expect(await total({ text: "signed in" })).toBe(1);
    const written = readdirSync(dataDir, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name)).toString("latin1"))
      .join("\n");
    expect(written.includes("signed in")).toBe("trace_storage" in storage);
    expect(written).not.toContain(SECRET);
  });
});
