import { describe, expect, it } from "vitest";
import { type AlertRule, alertRuleSchema } from "../config.ts";
import type { MetricReader } from "../metrics/reader.ts";
import { Alert } from "./alert.ts";

const START = Date.UTC(2026, 0, 1);

/** One alert over a value that the test sets, evaluated every 5 s. */
function alertOn(rule: Partial<AlertRule>) {
  const alert = new Alert(
    alertRuleSchema.parse({ name: "a", metric: "m", threshold: 10, cooldown_seconds: 0, ...rule }),
    "config",
  );
  const asked: unknown[][] = [];
  let value: number | null = 0;
  const reader: MetricReader = {
    refresh: () => {},
    missing: () => undefined,
    problem: () => undefined,
    value(...question) {
      asked.push(question);
      return value;
    },
  };
  let ms = 0;
  return {
    alert,
    asked,
    now: () => START + ms,
    after(seconds: number, next: number | null) {
      ms += seconds * 1_000;
      value = next;
      const { event, notification } = alert.evaluate(reader, {
        now: START + ms,
        monotonic: ms,
        instanceId: "engine-1",
      });
      return { event: event?.state, notification: notification?.state };
    },
  };
}

const QUIET = { event: undefined, notification: undefined };

describe("an alert", () => {
  it("fires once when its condition begins to hold and resolves once when it ceases to, since a window forgets what lies behind it (gap 46)", () => {
    const { after } = alertOn({});
    expect(after(5, 10)).toEqual(QUIET);
    expect(after(5, 11)).toEqual({ event: "firing", notification: "firing" });
    expect(after(5, 12)).toEqual(QUIET);
    expect(after(60, 0)).toEqual({ event: "resolved", notification: "resolved" });
    expect(after(5, 0)).toEqual(QUIET);
  });

  it("asks for its metric within its window, with its labels (gap 46)", () => {
    const { after, asked } = alertOn({
      metric: "svc.calls",
      labels: { function_id: "math::add" },
      window_seconds: 300,
      rate: true,
    });
    after(5, 0);
    expect(asked).toEqual([["svc.calls", { function_id: "math::add" }, 300, true]]);
  });

  it.each([
    ["iii.invocations.total", "svc.calls", {}],
    ["iii.invocations.success", "svc.calls", { outcome: "ok" }],
    ["iii.invocations.error", "svc.calls.errors", {}],
    ["svc.invocations.error", "svc.calls.errors", {}],
    ["iii.invocations.deferred", "svc.calls.deferred", {}],
    ["iii.workers.active", "svc.workers", {}],
    ["iii.workers.spawns", "svc.workers.spawns", {}],
    ["iii.workers.deaths", "svc.workers.deaths", {}],
    ["constructor", "constructor", {}],
  ])("takes the published name %s", (published, metric, labels) => {
    const { after, asked } = alertOn({ metric: published });
    after(5, 0);
    expect(asked[0]?.slice(0, 2)).toEqual([metric, labels]);
  });

  it.each([
    [">", 11, 10],
    [">=", 10, 9],
    ["<", 9, 10],
    ["<=", 10, 11],
    ["==", 10, 11],
    ["!=", 11, 10],
    ["lessthanorequal", 10, 11],
    ["NotEqual", 11, 10],
  ] as const)("compares by %s", (operator, holds, holdsNot) => {
    const { after } = alertOn({ operator });
    expect(after(5, holdsNot)).toEqual(QUIET);
    expect(after(5, holds).event).toBe("firing");
    expect(after(5, holdsNot).event).toBe("resolved");
  });

  it("does not fire without a value, and resolves when there is none any more", () => {
    const { after } = alertOn({ operator: "<" });
    expect(after(5, null)).toEqual(QUIET);
    expect(after(5, 1).event).toBe("firing");
    expect(after(5, null).event).toBe("resolved");
  });

  it("fires only after its condition has held for so long", () => {
    const { after } = alertOn({ for_seconds: 10 });
    expect(after(5, 11)).toEqual(QUIET);
    expect(after(5, 11)).toEqual(QUIET);
    expect(after(5, 0)).toEqual(QUIET);
    expect(after(5, 11)).toEqual(QUIET);
    expect(after(5, 11)).toEqual(QUIET);
    expect(after(5, 11)).toEqual({ event: "firing", notification: "firing" });
  });

  it("gives no second notification within its cooldown, and gives it afterwards if it still fires", () => {
    const { after } = alertOn({ cooldown_seconds: 60 });
    expect(after(5, 11).notification).toBe("firing");
    expect(after(5, 0).notification).toBe("resolved");
    expect(after(5, 11)).toEqual({ event: "firing", notification: undefined });
    expect(after(5, 0)).toEqual({ event: "resolved", notification: undefined });
    expect(after(5, 11)).toEqual({ event: "firing", notification: undefined });
    expect(after(40, 11)).toEqual({ event: undefined, notification: "firing" });
    expect(after(5, 0)).toEqual({ event: "resolved", notification: "resolved" });
  });

  it("gives no notification while it is silenced, and gives it afterwards if it still fires (gap 46)", () => {
    const { after, alert, now } = alertOn({});
    alert.silencedUntil = now() + 60_000;
    expect(after(5, 11)).toEqual({ event: "firing", notification: undefined });
    expect(after(5, 0)).toEqual({ event: "resolved", notification: undefined });
    expect(after(5, 11)).toEqual({ event: "firing", notification: undefined });
    expect(after(45, 11)).toEqual({ event: undefined, notification: "firing" });
    alert.silencedUntil = now() + 60_000;
    // The receiver of the firing notification waits for this.
    expect(after(5, 0)).toEqual({ event: "resolved", notification: "resolved" });
  });

  it("resolves when it is switched off, and is not evaluated then", () => {
    const { after, alert, asked } = alertOn({});
    after(5, 11);
    alert.change({ ...alert.rule, enabled: false });
    expect(after(5, 11)).toEqual({ event: "resolved", notification: "resolved" });
    expect(after(5, 11)).toEqual(QUIET);
    expect(asked).toHaveLength(1);
  });
});
