import { type InMemoryEngine, inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
import observability from "../index.ts";

let engine: InMemoryEngine | undefined;
afterEach(() => engine?.stop());

describe("alerts on the metrics of calls", () => {
  it("fire when calls fail within the window, and resolve when the window has gone by, although the count stays (gap 46)", async () => {
    const clock = manualClock();
    const rule = { metric: "iii.invocations.error", threshold: 10, window_seconds: 60 };
    const started = await inMemoryEngine({
      modules: [observability],
      config: {
        "svc-observability": {
          alerts: [
            { ...rule, name: "errors" },
            { ...rule, name: "errors of fine", labels: { function_id: "work::fine" } },
            { ...rule, name: "spawns", metric: "iii.workers.spawns", threshold: 0 },
          ],
        },
      },
      clock,
    });
    engine = started;
    const firing = async (): Promise<string[]> => {
      const { alerts } = (await started.call("engine::alerts::list", {})) as {
        alerts: { name: string; firing: boolean }[];
      };
      return alerts.filter((alert) => alert.firing).map(({ name }) => name);
    };
    const advance = (ms: number): void => {
      for (let passed = 0; passed < ms; passed += 5_000) clock.advance(5_000);
    };
    const worker = await started.connectWorker();
    worker.serve("work::fails", () => {
      throw new Error("no");
    });
    worker.serve("work::fine", () => 1);
    for (let made = 0; made < 10; made++) await started.call("work::fails", {}).catch(() => {});
    await started.call("work::fine", {});
    advance(10_000);
    expect(await firing()).toEqual(["spawns"]);
    await started.call("work::fails", {}).catch(() => {});
    advance(10_000);
    expect((await firing()).sort()).toEqual(["errors", "spawns"]);
    advance(70_000);
    expect(await firing()).toEqual([]);
    await started.call("work::fails", {}).catch(() => {});
    advance(10_000);
    expect(await firing()).toEqual([]);
  });
  it.each([
    [5, 0.5],
    [5, 2],
    [5, 4.6],
    [5, 4.8],
    [10, 0.5],
    [10, 2],
    [10, 4.6],
    [10, 4.8],
  ])(
    "with a window of %d s see three failures within 0.75 s that begin %d s into a step, whenever they are evaluated",
    async (window_seconds, begin) => {
      // Evaluations happen at the offset within a step at which the engine was started.
      for (const started of [0, 700, 2_500, 4_900]) {
        const clock = manualClock(Date.UTC(2026, 0, 1) + started);
        const rule = {
          name: "failures",
          metric: "svc.calls.errors",
          labels: { function_id: "work::fails" },
          operator: ">=",
          threshold: 3,
          window_seconds,
        };
        const one = await inMemoryEngine({
          modules: [observability],
          config: { "svc-observability": { alerts: [rule] } },
          clock,
        });
        engine = one;
        const worker = await one.connectWorker();
        worker.serve("work::fails", () => {
          throw new Error("no");
        });
        worker.say({ type: "ping" });
        await worker.next((frame) => frame.type === "pong");
        clock.advance(20_000 - started + begin * 1_000);
        for (let made = 0; made < 3; made++) {
          if (made > 0) clock.advance(375);
          await expect(one.call("work::fails", {})).rejects.toThrow("no");
        }
        clock.advance(5_000);
        expect(await one.call("engine::alerts::history", {})).toMatchObject({
          events: [{ state: "firing", value: 3 }],
        });
        await one.stop();
      }
    },
  );

  it("fire when no worker provides a function any more", async () => {
    const clock = manualClock();
    const rule = {
      name: "gone",
      metric: "svc.calls.errors",
      labels: { function_id: "work::gone" },
      operator: ">=",
      threshold: 2,
    };
    const started = await inMemoryEngine({
      modules: [observability],
      config: { "svc-observability": { alerts: [rule] } },
      clock,
    });
    engine = started;
    const worker = await started.connectWorker();
    worker.serve("work::gone", () => 1);
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    await started.call("work::gone", {});
    worker.say({ type: "unregisterfunction", id: "work::gone" });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    for (let made = 0; made < 2; made++)
      await expect(started.call("work::gone", {})).rejects.toMatchObject({ code: "function_not_found" });
    clock.advance(5_000);
    clock.advance(5_000);
    expect(await started.call("engine::alerts::list", {})).toMatchObject({ firing_count: 1 });
  });

  it("are made for a metric or a function that is not there, and say so with the nearest name until it is", async () => {
    const clock = manualClock();
    const started = await inMemoryEngine({ modules: [observability], clock });
    engine = started;
    const worker = await started.connectWorker();
    worker.serve("oncall::page", () => 1);
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    const create = (rule: object) => started.call("engine::alerts::create", { threshold: 1, ...rule });
    expect(await create({ name: "a", metric: "svc.call.errors" })).toMatchObject({
      problem: "svc.call.errors: metric not found so far; did you mean svc.calls.errors?",
    });
    expect(
      await create({ name: "b", metric: "iii.invocations.error", action: { type: "function", path: "oncall::pag" } }),
    ).toMatchObject({
      problem: "oncall::pag: function not found; did you mean oncall::page?",
    });
    expect(
      await create({ name: "c", metric: "svc.call.duration", action: { type: "function", path: "oncall::page" } }),
    ).toMatchObject({ problem: null });
    worker.serve("oncall::pag", () => 1);
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    expect(await started.call("engine::alerts::list", {})).toMatchObject({
      alerts: [{ problem: expect.stringContaining("svc.call.errors") }, { problem: null }, { problem: null }],
    });
  });

  it("say that they cannot fire while metrics are off", async () => {
    const alert = { name: "errors", metric: "svc.calls.errors", threshold: 1 };
    const started = await inMemoryEngine({
      modules: [observability],
      config: { "svc-observability": { metrics_enabled: false, alerts: [alert] } },
    });
    engine = started;
    const listed = async () =>
      ((await started.call("engine::alerts::list", {})) as { alerts: readonly unknown[] }).alerts;
    expect(await listed()).toMatchObject([
      { name: "errors", current_value: null, problem: expect.stringContaining("metrics_enabled") },
    ]);
    await started.applyModules([{ name: "svc-observability", config: { metrics_enabled: true, alerts: [alert] } }]);
    expect(await listed()).toMatchObject([{ name: "errors", problem: null }]);
  });
});
