import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FEATURES } from "@svc-runtime/protocol";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { type RunningEngine, startEngine } from "./engine.ts";
import { type ManualClock, manualClock } from "./testing/manual-clock.ts";

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
/** Timeout of a whole test on a loaded machine. */
const LONG_MS = 60_000;
/** How each function's runs are started. */
const CONFIGS = {
  "on::skip": { misfire: "skip" },
  "on::once": { misfire: "once" },
  "on::all": { misfire: "all" },
  "on::job": { misfire: "all", queue: "default" },
} as const;
type FunctionId = keyof typeof CONFIGS;
const FUNCTIONS = Object.keys(CONFIGS) as FunctionId[];

let dir: string;
let clock: ManualClock;
let engine: RunningEngine;
let socket: WebSocket;
/** The runs that each function was called for, over all engine runs. */
let told: Record<FunctionId, string[]>;

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "svc-engine-cron-"));
  writeFileSync(join(dir, "config.yaml"), "workers:\n  - name: svc-cron\n  - name: svc-queue\n");
  told = { "on::skip": [], "on::once": [], "on::all": [], "on::job": [] };
});
afterEach(async () => {
  await stop();
  rmSync(dir, { recursive: true, force: true });
});

/** Starts an engine and a worker that registers one trigger for each function; `time` is the wall clock. */
async function startAt(time: number | string, expression: string): Promise<void> {
  clock = manualClock(new Date(time).getTime());
  engine = await startEngine({
    configFile: join(dir, "config.yaml"),
    env: {},
    overrides: { bridgePort: 0, httpPort: 0, realtimePort: 0 },
    moduleClock: clock,
  });
  socket = new WebSocket(engine.addresses.bridge);
  const say = (message: object): void => socket.send(JSON.stringify(message));
  await new Promise<void>((resolve, reject) => {
    let bound = 0;
    socket.on("error", reject);
    socket.on("message", (data) => {
      const frame = JSON.parse(String(data)) as { readonly type: string; readonly [member: string]: unknown };
      if (frame.type === "workerregistered") {
        const introduction = { runtime: "test", name: "ticking", features: FEATURES };
        say({
          type: "invokefunction",
          function_id: "engine::workers::register",
          action: { type: "void" },
          data: introduction,
        });
        for (const id of FUNCTIONS) say({ type: "registerfunction", id });
        for (const id of FUNCTIONS)
          say({
            type: "registertrigger",
            id,
            trigger_type: "cron",
            function_id: id,
            config: { expression, ...CONFIGS[id] },
          });
      } else if (frame.type === "triggerregistrationresult") {
        if (frame.error != null) reject(new Error(JSON.stringify(frame.error)));
        else if (++bound === FUNCTIONS.length) resolve();
      } else if (frame.type === "invokefunction") {
        const { invocation_id, function_id, data: tick } = frame;
        told[function_id as FunctionId].push((tick as { readonly scheduled_time: string }).scheduled_time);
        say({ type: "invocationresult", invocation_id, function_id, result: null });
      }
    });
  });
  await settled();
}

async function stop(): Promise<void> {
  socket?.terminate();
  await engine?.stop({ graceMs: 0 });
}

async function call(functionId: string, payload: unknown): Promise<unknown> {
  const response = await fetch(`${engine.addresses.http}/_console/invoke`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ function_id: functionId, payload }),
  });
  if (!response.ok) throw new Error(await response.text());
  return response.json();
}

/** Resolves when no run is in progress: each start is in the history with its end, and each job is done. */
async function settled(): Promise<void> {
  let before = "";
  await vi.waitFor(
    async () => {
      const runs = await Promise.all(FUNCTIONS.map((trigger_id) => call("cron::history", { trigger_id, limit: 100 })));
      const stats = (await call("queue::stats", { queue: "default" })) as {
        readonly waiting: number;
        readonly active: number;
      };
      const now = JSON.stringify([runs, stats.waiting, stats.active, told]);
      const last = before;
      before = now;
      expect(now).not.toContain('"outcome":null');
      expect([stats.waiting, stats.active]).toEqual([0, 0]);
      expect(now).toBe(last);
    },
    { timeout: 10_000, interval: 20 },
  );
}

/** Advances the clock, then waits until all due runs have ended. */
async function pass(ms: number): Promise<void> {
  clock.advance(ms);
  await settled();
}

const minutes = (id: FunctionId): string[] => told[id].map((time) => time.slice(11, 16));

describe("the ticks of a real engine", () => {
  it(
    "start at most once and by the misfire policy, when its clock is set two hours back and forward, running or not (T-3) (T-5) (T-6) (gap 19)",
    async () => {
      const expression = "*/30 * * * *";
      await startAt("2026-01-01T12:00:30Z", expression);
      await pass(30 * MINUTE_MS);
      await pass(30 * MINUTE_MS);
      for (const id of FUNCTIONS) expect(minutes(id), id).toEqual(["12:30", "13:00"]);

      clock.jumpTo(clock.now() - 2 * HOUR_MS);
      await pass(2 * HOUR_MS);
      await stop();
      await startAt("2026-01-01T13:00:40Z", expression);
      for (const id of FUNCTIONS) expect(minutes(id), id).toEqual(["12:30", "13:00"]);

      clock.jumpTo(clock.now() + 2 * HOUR_MS + 25 * MINUTE_MS);
      await pass(2_000);
      const missed = ["13:30", "14:00", "14:30", "15:00"];
      expect(minutes("on::skip").slice(2)).toEqual([]);
      expect(minutes("on::once").slice(2)).toEqual(["15:00"]);
      for (const id of ["on::all", "on::job"] as const) expect(minutes(id).slice(2), id).toEqual(missed);

      await stop();
      await startAt("2026-01-01T13:25:50Z", expression);
      // Runs skipped while the clock was two hours ahead are due again; started ones are not.
      for (let half = 0; half < 2; half++) await pass(30 * MINUTE_MS);
      expect(minutes("on::skip").slice(2)).toEqual(["13:30", "14:00"]);
      expect(minutes("on::once").slice(2)).toEqual(["15:00", "13:30", "14:00"]);
      for (const id of ["on::all", "on::job"] as const) expect(minutes(id).slice(2), id).toEqual(missed);
      await stop();
      await startAt("2026-01-01T17:10:00Z", expression);
      const later = ["15:30", "16:00", "16:30", "17:00"];
      expect(minutes("on::skip").slice(2)).toEqual(["13:30", "14:00"]);
      expect(minutes("on::once").slice(2)).toEqual(["15:00", "13:30", "14:00", "17:00"]);
      for (const id of ["on::all", "on::job"] as const) expect(minutes(id).slice(2), id).toEqual([...missed, ...later]);
      await pass(21 * MINUTE_MS);
      for (const id of FUNCTIONS) expect(minutes(id).at(-1), id).toBe("17:30");
    },
    LONG_MS,
  );

  it(
    "start at most once over random restarts and jumps of the clock (T-1) (T-5) (gap 19)",
    async () => {
      const seed = Number(process.env.SVC_SEED ?? Date.now() % 1_000_000);
      let state = seed;
      const random = (below: number): number => {
        state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
        return Math.floor((state / 2_147_483_648) * below);
      };
      const expression = "*/10 * * * *";
      await startAt("2026-01-01T12:00:30Z", expression);
      await pass(10 * MINUTE_MS);
      for (let round = 0; round < 6; round++) {
        const leap = random(4 * HOUR_MS) - 2 * HOUR_MS;
        if (random(2) === 0) clock.jumpTo(clock.now() + leap);
        else {
          await stop();
          await startAt(clock.now() + leap, expression);
        }
        await pass(30 * MINUTE_MS);
      }
      for (const id of FUNCTIONS) expect(new Set(told[id]).size, `${id}, seed ${seed}`).toBe(told[id].length);
      expect(told["on::job"].length, `seed ${seed}`).toBeGreaterThan(0);
    },
    LONG_MS,
  );
});
