import { afterEach, beforeEach, expect, it } from "vitest";
import { z } from "zod";
import { type InMemoryEngine, inMemoryEngine } from "../testing/in-memory-engine.ts";
import { type ManualClock, manualClock } from "../testing/manual-clock.ts";
import { defineModule } from "./module.ts";
import type { ModuleRequest } from "./module-host.ts";

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

let clock: ManualClock;
let engine: InMemoryEngine;
let fails: boolean;
/** Holds up each start. */
let held: Promise<void>;
let release: () => void;
/** Configs of the starts, and how many were stopped. */
let started: unknown[];
let stopped: number;

const shop = defineModule({
  name: "svc-shop",
  summary: "A shop",
  config: z.unknown(),
  async start({ config, provideFunction }) {
    started.push(config);
    await held;
    if (fails) throw new Error("a test");
    provideFunction({ id: "shop::count", summary: "Counts", input: z.unknown(), handle: () => started.length });
    return { stop: () => void stopped++ };
  },
});

/** Holds up the start of `gate`. */
let opened: Promise<void>;

const gate = defineModule({
  ...{ name: "svc-gate", summary: "Starts late", config: z.unknown() },
  async start() {
    await opened;
    return { stop() {} };
  },
});

function hold(): void {
  held = new Promise((resolve) => {
    release = resolve;
  });
}

beforeEach(async () => {
  clock = manualClock();
  fails = false;
  held = Promise.resolve();
  started = [];
  stopped = 0;
  engine = await inMemoryEngine({ modules: [shop, gate], clock, config: { "svc-shop": 1 } });
});
afterEach(() => engine.stop());

async function pauseEnds(): Promise<void> {
  clock.advance(1_000);
  await turn();
}

/** Expects that the module has failed, and runs after the next attempt. */
async function expectNextAttemptToWork(restarting: Promise<void>): Promise<void> {
  expect(engine.moduleStates()).toMatchObject([{ state: "failed", reason: "a test" }]);
  fails = false;
  await pauseEnds();
  await restarting;
  expect(engine.moduleStates()).toMatchObject([{ state: "running" }]);
}

it("starts a module again after a failed attempt", async () => {
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  await turn();
  await expectNextAttemptToWork(restarting);
  expect([started, stopped]).toEqual([[1, 1, 1], 1]);
});

it("does not start a module again that was removed in the pause after a failed attempt", async () => {
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  await turn();
  fails = false;
  await engine.applyModules([]);
  await pauseEnds();
  await restarting;
  expect([engine.moduleStates(), started]).toEqual([[], [1, 1]]);
});

it.each<{ requests: readonly ModuleRequest[] }>([{ requests: [] }, { requests: [{ name: "svc-shop", config: 2 }] }])(
  "applies a new config that comes while a module starts again: $requests",
  async ({ requests }) => {
    hold();
    const restarting = engine.restartModule("svc-shop");
    await turn();
    const applied = engine.applyModules(requests);
    await turn();
    release();
    expect(await applied).toEqual([]);
    await restarting;
    expect(engine.moduleStates()).toHaveLength(requests.length);
    expect(started).toEqual([1, 1, ...requests.map(({ config }) => config)]);
    expect(stopped).toBe(started.length - requests.length);
  },
);

it("starts a module again for which this was asked while it was being started", async () => {
  hold();
  const restarting = engine.restartModule("svc-shop");
  await turn();
  const again = engine.restartModule("svc-shop");
  release();
  await Promise.all([restarting, again]);
  expect([started, stopped]).toEqual([[1, 1, 1], 2]);
  expect(engine.moduleStates()).toMatchObject([{ state: "running" }]);
});

it("starts a module again whose first start failed after this was asked", async () => {
  await engine.applyModules([]);
  hold();
  const applied = engine.applyModules([{ name: "svc-shop", config: 1 }]);
  await turn();
  const restarting = engine.restartModule("svc-shop");
  fails = true;
  release();
  expect(await applied).toEqual([]);
  await turn();
  await expectNextAttemptToWork(restarting);
  expect(await engine.call("shop::count", null)).toBe(started.length);
});

it("starts a module again after the start for a new config failed that was under way when the pause ended", async () => {
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  await turn();
  hold();
  const applied = engine.applyModules([{ name: "svc-shop", config: 2 }]);
  await turn();
  await pauseEnds();
  release();
  expect(await applied).toEqual(["svc-shop: a test"]);
  fails = false;
  await pauseEnds();
  await restarting;
  expect(engine.moduleStates()).toMatchObject([{ state: "running" }]);
  expect(started).toEqual([1, 1, 2, 2]);
});

it("reports that a new config fails in the pause after a failed attempt", async () => {
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  await turn();
  expect(await engine.applyModules([{ name: "svc-shop", config: 2 }])).toEqual(["svc-shop: a test"]);
  fails = false;
  expect(await engine.applyModules([{ name: "svc-shop", config: 1 }])).toEqual([]);
  await pauseEnds();
  await restarting;
  expect(started).toEqual([1, 1, 2, 1]);
});

it("starts a module once that starts again while a new config starts another", async () => {
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  await turn();
  fails = false;
  let open = (): void => {};
  opened = new Promise((resolve) => {
    open = resolve;
  });
  const applied = engine.applyModules([
    { name: "svc-gate", config: null },
    { name: "svc-shop", config: 2 },
  ]);
  hold();
  await pauseEnds();
  open();
  await turn();
  release();
  expect(await applied).toEqual([]);
  await restarting;
  expect([started, stopped]).toEqual([[1, 1, 2], 1]);
});

it("stops a module that is being started when the engine stops", async () => {
  hold();
  const restarting = engine.restartModule("svc-shop");
  await turn();
  const stopping = engine.stop();
  await turn();
  release();
  await stopping;
  expect([started, stopped]).toEqual([[1, 1], 2]);
  await restarting;
  expect(engine.moduleStates()).toEqual([]);
});

it("refuses calls of a module that starts again with an error that can be repeated", async () => {
  expect(await engine.call("shop::count", null)).toBe(1);
  fails = true;
  const restarting = engine.restartModule("svc-shop");
  const refused = { code: "draining", retryable: true, executed: "no", message: expect.stringContaining("svc-shop") };
  await expect(engine.call("shop::count", null)).rejects.toMatchObject(refused);
  await turn();
  expect(engine.moduleStates()).toMatchObject([{ state: "failed" }]);
  await expect(engine.call("shop::count", null)).rejects.toMatchObject(refused);
  fails = false;
  await pauseEnds();
  await restarting;
  expect(await engine.call("shop::count", null)).toBe(3);

  const removing = engine.restartModule("svc-shop");
  await engine.applyModules([]);
  await removing;
  await expect(engine.call("shop::count", null)).rejects.toMatchObject({ code: "function_not_found" });
});
