import { once } from "node:events";
import { Worker } from "node:worker_threads";
import { describe, expect, it } from "vitest";
import { cpuTimeUs, openFileLimit, residentBytes } from "./cpu.ts";

describe.skipIf(process.platform !== "linux")("cpu", () => {
  it("grows by about the CPU time of this process", () => {
    const before = cpuTimeUs(process.pid);
    const own = process.cpuUsage();
    let x = 0;
    while (process.cpuUsage(own).user < 60_000) x += Math.sqrt(x + 1);
    const used = process.cpuUsage(own);
    const seen = cpuTimeUs(process.pid) - before;
    expect(seen).toBeGreaterThan(40_000);
    expect(seen).toBeLessThan((used.user + used.system) * 2 + 100_000);
  });

  it("counts threads that have ended", async () => {
    const before = cpuTimeUs(process.pid);
    const thread = new Worker(
      "const own = process.cpuUsage(); let x = 0; while (process.cpuUsage(own).user < 200_000) x += Math.sqrt(x + 1);",
      { eval: true },
    );
    await once(thread, "exit");
    expect(cpuTimeUs(process.pid) - before).toBeGreaterThan(100_000);
  });

  it("reads resident memory in bytes", () => {
    const actual = process.memoryUsage.rss();
    expect(residentBytes(process.pid)).toBeGreaterThan(actual / 2);
    expect(residentBytes(process.pid)).toBeLessThan(actual * 2);
  });

  it("names a process that has ended", () => {
    expect(() => cpuTimeUs(2 ** 22 + 1)).toThrow("ENOENT");
  });

  it("returns the limit of open files", () => {
    expect(openFileLimit()).toBeGreaterThan(0);
  });
});
