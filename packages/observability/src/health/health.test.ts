import { randomUUID } from "node:crypto";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { defineModule, systemClock } from "@svc-runtime/engine/module";
import { inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import { type ObservabilityConfig, observabilityConfigSchema } from "../config.ts";
import { EventLoopLag } from "../event-loop-lag.ts";
import type { DiskProbe } from "./disk-probe.ts";
import { type HealthOptions, startHealth } from "./health.ts";

const cleanUps: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const GB = 1024 ** 3;
const roomy: DiskProbe = { freeBytes: 50 * GB, totalBytes: 100 * GB, writeProblem: undefined };

interface Check {
  readonly status: string;
  readonly components: Readonly<
    Record<string, { readonly status: string; readonly details: string; readonly since_ms?: number }>
  >;
  readonly version: string;
}

async function checking(options: Omit<HealthOptions, "config" | "lag"> = {}, files: readonly string[] = []) {
  const lag = new EventLoopLag(options.clock ?? systemClock);
  lag.start();
  cleanUps.push(() => lag.stop());
  const module = defineModule<ObservabilityConfig>({
    name: "svc-observability",
    summary: "under test",
    config: observabilityConfigSchema,
    start: (context) => ({ stop: startHealth(context, { ...options, config: () => context.config, lag }) }),
  });
  const dataDir = mkdtempSync(join(tmpdir(), "svc-health-"));
  cleanUps.push(() => rmSync(dataDir, { recursive: true, force: true }));
  for (const file of files) writeFileSync(join(dataDir, file), "svc\n");
  const engine = await inMemoryEngine({
    modules: [module],
    config: { "svc-observability": {} },
    dataDir,
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  cleanUps.push(() => engine.stop());
  return { engine, dataDir, check: async () => (await engine.call("engine::health::check", {})) as Check };
}

describe("engine::health::check", () => {
  it("names every component, with the real disk and the real event loop (gap 48)", async () => {
    const { check } = await checking();
    const found = await check();
    expect(found).toMatchObject({ version: "0.0.0-test", timestamp: expect.any(Number) });
    expect(Object.keys(found.components).sort()).toEqual([
      "adapters",
      "disk",
      "event_loop",
      "logs",
      "metrics",
      "otel",
      "queues",
      "spans",
      "store",
    ]);
    expect(found.components).toMatchObject({
      otel: { status: "disabled", details: expect.stringContaining("exporter") },
      spans: { status: "healthy", since_ms: expect.any(Number) },
      queues: { status: "disabled", details: "not in use" },
      disk: { details: expect.stringMatching(/[0-9]+ MB of [0-9]+ MB free/) },
    });
  });

  it.each<[string, Partial<DiskProbe>, string, string]>([
    ["little room", { freeBytes: 99 * 1024 * 1024 }, "degraded", "free disk space"],
    ["less than a hundredth", { freeBytes: 5 * GB, totalBytes: 1_000 * GB }, "degraded", "engine.data_dir"],
    ["a failing write", { writeProblem: "ENOSPC" }, "unhealthy", "ENOSPC"],
  ])("finds %s on the disk, and says what to do (gap 48)", async (_what, look, status, details) => {
    const { check, dataDir } = await checking({ probeDisk: async () => ({ ...roomy, ...look }) });
    const found = await check();
    expect(found.status).toBe(status);
    expect(found.components.disk).toMatchObject({ status, details: expect.stringContaining(details) });
    expect(found.components.disk?.details).toContain(dataDir);
  });

  it("removes the files of interrupted probes, and nothing else", async () => {
    const others = ["health-notes.probe", "health.probe", "state.db"];
    const left = [`health-${randomUUID()}.probe`, `health-${randomUUID()}.probe`];
    const { check, dataDir } = await checking({}, [...others, ...left]);
    await check();
    await expect.poll(() => readdirSync(dataDir).sort()).toEqual(others.sort());
  });

  it("finds a folder that went away", async () => {
    const { check, dataDir } = await checking();
    // The probe that the start began has ended.
    await check();
    rmSync(dataDir, { recursive: true, force: true });
    expect(await check()).toMatchObject({
      status: "unhealthy",
      components: { disk: { status: "unhealthy", details: expect.stringContaining("ENOENT") } },
    });
  });

  it("finds a folder that takes no files", async () => {
    const { check, dataDir } = await checking();
    await check();
    // This blocks root too.
    rmSync(dataDir, { recursive: true, force: true });
    writeFileSync(dataDir, "");
    expect(await check()).toMatchObject({
      status: "unhealthy",
      components: { disk: { details: expect.stringContaining("ENOTDIR") } },
    });
  });

  it("gives up on a disk that does not answer, and asks it no second time meanwhile (gap 48)", async () => {
    const clock = manualClock();
    let looks = 0;
    let answer = (_look: DiskProbe): void => {};
    const probeDisk = (): Promise<DiskProbe> => {
      looks++;
      return new Promise((resolve) => {
        answer = resolve;
      });
    };
    const { check, engine } = await checking({ probeDisk, clock });
    const checked = check();
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(10_000);
    expect(await checked).toMatchObject({
      status: "unhealthy",
      components: { disk: { details: expect.stringContaining("did not respond within 10 s") } },
    });
    expect(looks).toBe(1);
    answer(roomy);
    await new Promise((resolve) => setImmediate(resolve));
    expect(engine.kernel.health.read().find(({ component }) => component === "disk")).toMatchObject({
      status: "healthy",
    });
  });
});
