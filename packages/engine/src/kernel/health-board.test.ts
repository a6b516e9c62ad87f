import { describe, expect, it } from "vitest";
import { manualClock } from "../testing/manual-clock.ts";
import { HealthBoard } from "./health-board.ts";
import type { ComponentHealth } from "./health-contract.ts";
import { createLogger, type LogRecord } from "./logger.ts";

function board() {
  const clock = manualClock();
  const logs: LogRecord[] = [];
  const made = new HealthBoard(
    clock,
    createLogger({ level: "info", now: () => clock.now(), write: (record) => logs.push(record) }),
  );
  return {
    board: made,
    clock,
    lines: () => logs.splice(0).map(({ level, message, fields }) => [level, message, fields.component]),
  };
}

const well: ComponentHealth = { status: "healthy", details: "fine" };

describe("the health of components", () => {
  it("is the worst that anybody reports, with the names of those who report it", () => {
    const { board: made } = board();
    made.report("store", "svc-state", () => well);
    made.report("store", "svc-cron", () => ({ status: "unhealthy", details: "no room" }));
    made.report("store", "svc-queue", () => ({ status: "unhealthy", details: "read-only" }));
    made.report("adapters", "svc-stream", () => ({ status: "degraded", details: "slow" }));
    made.report("quiet", "svc-http", () => undefined);
    expect(made.read()).toMatchObject([
      { component: "adapters", status: "degraded", details: "svc-stream: slow" },
      { component: "store", status: "unhealthy", details: "svc-cron: no room; svc-queue: read-only" },
    ]);
  });

  it("tells since when, and is logged when it changes (gap 48)", () => {
    const { board: made, clock, lines } = board();
    let health = well;
    made.report("disk", "svc-observability", () => health);
    const start = clock.now();
    made.read();
    expect(lines()).toEqual([]);
    clock.advance(1_000);
    health = { status: "degraded", details: "little room" };
    expect(made.read()).toMatchObject([{ sinceMs: start + 1_000 }]);
    clock.advance(1_000);
    expect(made.read()).toMatchObject([{ sinceMs: start + 1_000 }]);
    expect(lines()).toEqual([["warn", "a component is degraded", "disk"]]);
    health = { status: "unhealthy", details: "no room" };
    made.read();
    health = well;
    made.read();
    expect(lines()).toEqual([
      ["error", "a component is unhealthy", "disk"],
      ["info", "a component is healthy again", "disk"],
    ]);
  });

  it("is unhealthy when it cannot be told, and is no more when nobody reports it", () => {
    const { board: made, lines } = board();
    const takeBack = made.report("disk", "svc-observability", () => {
      throw new Error("boom");
    });
    expect(made.read()).toMatchObject([
      { status: "unhealthy", details: "svc-observability: its health probe failed: boom" },
    ]);
    expect(lines().map(([level]) => level)).toContain("error");
    takeBack();
    takeBack();
    expect(made.read()).toEqual([]);
  });
});
