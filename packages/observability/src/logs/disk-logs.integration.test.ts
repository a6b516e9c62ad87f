import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, type LogRecord as Line, silentLogger, systemClock } from "@svc-runtime/engine/module";
import { manualClock, openStore } from "@svc-runtime/engine/testing";
import { afterEach, describe, expect, it } from "vitest";
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
  const logs = await DiskLogs.open({
    file,
    clock: systemClock,
    log: silentLogger,
    drops: { dropped: () => {} },
    openStore,
    redact: (shown) => shown,
    limits: NO_LIMITS,
    ...more,
  });
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
    expect(second.stats()).toMatchObject({ stored: 1 });
  });

  it("that are older than they may be go, over restarts too", async () => {
    const file = newFile();
    const clock = manualClock();
    const first = await open(file, { clock });
    // The entries' own times do not matter. More entries than fit in one step arrive at once.
    for (let id = 1; id <= 700; id++) first.add({ id, log: logRecord({ body: "early", atMs: 1e9 }) });
    await first.flush();
    clock.advance(3_600_000);
    for (let id = 701; id <= 710; id++) first.add({ id, log: logRecord({ body: "late", service: "late" }) });
    await first.stop();
    clock.advance(1_000);
    const logs = await open(file, { clock, limits: { ...NO_LIMITS, maxAgeMs: 60_000 } });
    await expect.poll(() => logs.stats().stored).toBe(10);
    expect(await services(logs)).toEqual({ late: 10 });
  });

  it("stay for as long as they may, however long ago the engine that numbers them was started", async () => {
    const clock = manualClock();
    const logs = await open(newFile(), { clock, limits: { ...NO_LIMITS, maxAgeMs: 60_000 } });
    const firstId = clock.now() * 1_000;
    clock.advance(120_000);
    logs.add({ id: firstId, log: logRecord() });
    await logs.flush();
    await logs.trim();
    expect(logs.stats()).toMatchObject({ stored: 1, unwritten: 0 });
    clock.advance(61_000);
    await logs.trim();
    expect(logs.stats()).toMatchObject({ stored: 0 });
  });

  it("stay when the wall clock is set forward by a year and back, and what came meanwhile grows old like the rest", async () => {
    const clock = manualClock();
    const logs = await open(newFile(), { clock, limits: { ...NO_LIMITS, maxAgeMs: 60_000 } });
    logs.add({ id: 1, log: logRecord() });
    await logs.flush();
    const before = clock.now();
    clock.jumpTo(before + 365 * 86_400_000);
    logs.add({ id: 2, log: logRecord() });
    await logs.flush();
    await logs.trim();
    clock.jumpTo(before);
    await logs.trim();
    expect(logs.stats()).toMatchObject({ stored: 2 });
    clock.advance(61_000);
    await logs.trim();
    expect(logs.stats()).toMatchObject({ stored: 0 });
  });

  it("are held to the limit while they come, not only from time to time", async () => {
    const clock = manualClock();
    const logs = await open(newFile(), { clock, limits: { maxBytes: 600_000, maxAgeMs: 1e15 } });
    for (let id = 1; id <= 1_500; id++) logs.add({ id, log: logRecord({ body: `${"x".repeat(400)} ${id}` }) });
    await logs.flush();
    // The clock stands still, so only the written bytes trigger a check of the limits.
    await expect.poll(() => logs.stats().bytes, { timeout: 25_000 }).toBeLessThanOrEqual(600_000);
  }, 30_000);

  it("take no more of the disk than they may, and a chatty source goes first", async () => {
    const logs = await open(newFile(), { limits: { maxBytes: 600_000, maxAgeMs: 1e15 } });
    const body = "x".repeat(400);
    let id = 0;
    for (let index = 0; index < 100; index++)
      logs.add({ id: ++id, log: logRecord({ body, service: "quiet", atMs: index }) });
    for (let index = 0; index < 3_000; index++)
      logs.add({ id: ++id, log: logRecord({ body: `${body} ${index}`, service: "chatty", atMs: 1_000 + index }) });
    await logs.open();
    await logs.trim();
    expect(logs.stats().bytes).toBeLessThanOrEqual(600_000);
    const left = await services(logs);
    expect(left.quiet).toBe(100);
    expect(left.chatty).toBeGreaterThan(0);
    expect(left.chatty).toBeLessThan(3_000);
  });

  it("start empty when the file is damaged, which is renamed and logged", async () => {
    const file = newFile();
    writeFileSync(file, "this is no database at all, and longer than a header of one would be: ".repeat(20));
    const lines: Line[] = [];
    const logs = await open(file, {
      log: createLogger({ level: "error", now: () => 0, write: (line) => lines.push(line) }),
    });
    logs.add({ id: 1, log: logRecord() });
    expect(await services(logs)).toEqual({ shop: 1 });
    expect(readdirSync(join(file, "..")).some((name) => name.startsWith("logs.db.damaged-"))).toBe(true);
    expect(lines.map(({ message }) => message)).toContain(
      "the log file cannot be used; it was renamed and a new one created",
    );
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
