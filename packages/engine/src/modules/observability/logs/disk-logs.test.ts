import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { type Clock, systemClock } from "../../../kernel/clock.ts";
import { createLogger, type LogRecord as Line, silentLogger } from "../../../kernel/logger.ts";
import { type DiskLimits, DiskLogs, type DiskLogsParts } from "./disk-logs.ts";
import { NO_FILTER } from "./log-filter.ts";
import { LogQueries } from "./log-queries.ts";
import { logRecord } from "./testing/records.ts";

const opened: DiskLogs[] = [];
afterEach(async () => {
  for (const logs of opened.splice(0)) await logs.stop();
});

const NO_LIMITS: DiskLimits = { maxBytes: 1e12, maxAgeMs: 1e15 };

async function open(file: string, more: Partial<DiskLogsParts> = {}): Promise<DiskLogs> {
  const logs = await DiskLogs.open({ file, clock: systemClock, log: silentLogger, drops: { dropped: () => {} }, limits: NO_LIMITS, ...more });
  opened.push(logs);
  return logs;
}

function newFile(): string {
  return join(mkdtempSync(join(tmpdir(), "svc-logs-")), "logs.db");
}

async function services(logs: DiskLogs): Promise<Record<string, number>> {
  const { tally } = await new LogQueries({ store: logs, clock: systemClock }).tally(NO_FILTER, { facets: ["service"] });
  return Object.fromEntries(tally.facets.get("service") ?? []);
}

describe("log entries on the disk", () => {
  it("are there after a restart, and ids go on (gap 44)", async () => {
    const file = newFile();
    const first = await open(file);
    first.add({ id: 41, log: logRecord({ body: "before" }) });
    await first.stop();
    const second = await open(file);
    expect((await second.get(41))?.log.body).toBe("before");
    expect(second.lastId).toBe(41);
    expect(second.figures()).toMatchObject({ stored: 1 });
  });

  it("that are older than they may be go, over restarts too", async () => {
    const file = newFile();
    const nowMs = 1_800_000_000_000;
    const clock: Clock = { ...systemClock, now: () => nowMs };
    const first = await open(file, { clock });
    // Ids tell when an entry came.
    for (let second = 0; second < 1_200; second++) first.add({ id: (nowMs - second * 1_000) * 1_000, log: logRecord({ body: String(second) }) });
    await first.stop();
    const logs = await open(file, { clock, limits: { ...NO_LIMITS, maxAgeMs: 99_500 } });
    await expect.poll(() => logs.figures().stored).toBe(100);
    expect(await services(logs)).toEqual({ shop: 100 });
  });

  it("take no more of the disk than they may, and a chatty source goes first", async () => {
    const logs = await open(newFile(), { limits: { maxBytes: 600_000, maxAgeMs: 1e15 } });
    const body = "x".repeat(400);
    let id = 0;
    for (let index = 0; index < 100; index++) logs.add({ id: ++id, log: logRecord({ body, service: "quiet", atMs: index }) });
    for (let index = 0; index < 3_000; index++) logs.add({ id: ++id, log: logRecord({ body: `${body} ${index}`, service: "chatty", atMs: 1_000 + index }) });
    await logs.open();
    await logs.trim();
    expect(logs.figures().bytes).toBeLessThanOrEqual(600_000);
    const left = await services(logs);
    expect(left.quiet).toBe(100);
    expect(left.chatty).toBeGreaterThan(0);
    expect(left.chatty).toBeLessThan(3_000);
  });

  it("begin anew when the file is damaged, which is put aside and told", async () => {
    const file = newFile();
    writeFileSync(file, "this is no database at all, and longer than a header of one would be: ".repeat(20));
    const lines: Line[] = [];
    const logs = await open(file, { log: createLogger({ level: "error", now: () => 0, write: (line) => lines.push(line) }) });
    logs.add({ id: 1, log: logRecord() });
    expect(await services(logs)).toEqual({ shop: 1 });
    expect(readdirSync(join(file, "..")).some((name) => name.startsWith("logs.db.damaged-"))).toBe(true);
    expect(lines.map(({ message }) => message)).toContain("the file of log entries cannot be used and was put aside; a new one is begun");
  });

  it("that come faster than the disk takes them are dropped and counted (L-1)", async () => {
    let dropped = 0;
    const logs = await open(newFile(), {
      drops: {
        dropped: (signal, reason, count) => {
          expect([signal, reason]).toEqual(["logs", "store_queue_full"]);
          dropped += count;
        },
      },
    });
    for (let id = 1; id <= 25_000; id++) logs.add({ id, log: logRecord() });
    expect(dropped).toBe(5_000);
    expect(await services(logs)).toEqual({ shop: 20_000 });
  }, 60_000);
});
