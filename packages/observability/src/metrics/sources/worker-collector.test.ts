import {
  type Directory,
  type ProcessFigures,
  readProcess,
  type WorkerLoad,
  type WorkerView,
} from "@svc-runtime/engine/module";
import { inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { describe, expect, it } from "vitest";
import { DropCounts } from "../../drop-counts.ts";
import { NumberSeries } from "../series.ts";
import { SeriesStore } from "../series-store.ts";
import { TimeLine } from "../time-line.ts";
import { WorkerCollector } from "./worker-collector.ts";

async function scene(readOf?: (pid: number) => Promise<ProcessFigures | undefined>, more: Partial<WorkerView> = {}) {
  const clock = manualClock();
  const engine = await inMemoryEngine({ clock });
  const worker = await engine.connectWorker({ name: "math", pid: 77 });
  await worker.call("nothing");
  const store = new SeriesStore({
    timeLine: new TimeLine(clock),
    limits: () => ({ maxSeries: 100, retentionMs: 3_600_000 }),
    drops: new DropCounts(),
  });
  const seen = (view: WorkerView): WorkerView => ({ ...view, ...more });
  // The real directory, with a worker as the supervisor would start it.
  const directory: Directory = Object.assign(Object.create(engine.directory) as Directory, {
    eachWorker: (visit: (worker: WorkerLoad) => void) => {
      for (const view of engine.directory.workers()) visit({ ...seen(view), has_run: true });
    },
    workerById: (id: string) =>
      engine.directory
        .workers()
        .map(seen)
        .find((view) => view.id === id),
  });
  const figures = new WorkerCollector({
    store,
    directory,
    clock,
    ...(readOf === undefined ? {} : { readProcess: readOf }),
  });
  return { clock, worker, store, figures, engine };
}

const LOCAL: Partial<WorkerView> = { configured_worker: "math", ip_address: "127.0.0.1:5000", pid: 77 };

describe("the figures of workers", () => {
  it("are what their SDKs tell, by published names and ours, for two minutes", async () => {
    const { clock, worker, store, figures, engine } = await scene();
    expect(figures.receive("iii.worker.memory.rss", 5_000, worker.id)).toBe(true);
    expect(figures.receive("svc.worker.cpu_percent", 12.5, worker.id)).toBe(true);
    expect(figures.receive("iii.worker.cpu.user_micros", 9, worker.id)).toBe(true);
    expect(figures.receive("my.own.gauge", 1, worker.id)).toBe(false);
    expect(figures.receive("svc.worker.cpu_percent", Number.NaN, worker.id)).toBe(true);
    expect(figures.receive("svc.worker.cpu_percent", 3, "nobody")).toBe(true);
    expect(figures.latest(worker.id)).toEqual({
      memory_rss: 5_000,
      cpu_percent: 12.5,
      cpu_user_micros: 9,
      timestamp_ms: clock.now(),
      runtime: "test",
      source: "sdk",
    });
    const [rss] = store.of("svc.worker.rss_bytes");
    expect(rss).toMatchObject({ labels: { worker_id: worker.id, worker: "math" }, latest: 5_000 });
    expect(store.size).toBe(2);
    clock.advance(121_000);
    expect(figures.latest(worker.id)).toBeUndefined();
    await engine.stop();
  });

  it("of a process that the engine started and that sends nothing are read from the system", async () => {
    let cpuMs = 1_000;
    const asked: number[] = [];
    const read = (pid: number): Promise<ProcessFigures> => {
      asked.push(pid);
      return Promise.resolve({ rssBytes: 4_096, cpuMs, startedAt: "1" });
    };
    const { clock, worker, store, figures, engine } = await scene(read, LOCAL);
    const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
    figures.sample();
    await settle();
    expect(figures.latest(worker.id)).toMatchObject({ memory_rss: 4_096, source: "process" });
    expect(figures.latest(worker.id)?.cpu_percent).toBeUndefined();
    cpuMs += 2_500;
    clock.advance(5_000);
    figures.sample();
    await settle();
    expect(figures.latest(worker.id)?.cpu_percent).toBe(50);
    const [cpu] = store.of("svc.worker.cpu_percent");
    expect(cpu instanceof NumberSeries && cpu.latest).toBe(50);
    // From here the worker sends these metrics itself.
    figures.receive("svc.worker.rss_bytes", 1, worker.id);
    figures.sample();
    await settle();
    expect(asked).toEqual([77, 77]);
    await engine.stop();
  });

  it("are not read of processes that the engine did not start, or that are elsewhere: their process ids may be others'", async () => {
    for (const more of [
      { ...LOCAL, configured_worker: null },
      { ...LOCAL, ip_address: "10.0.0.7:5000" },
      { ...LOCAL, pid: null },
    ]) {
      const asked: number[] = [];
      const { figures, engine } = await scene(async (pid) => void asked.push(pid) as undefined, more);
      figures.sample();
      await new Promise((resolve) => setImmediate(resolve));
      expect(asked).toEqual([]);
      await engine.stop();
    }
  });

  it.runIf(process.platform === "linux")("of a live process are what the system says; of none, nothing", async () => {
    const own = await readProcess(process.pid);
    expect(own?.rssBytes).toBeGreaterThan(10_000_000);
    expect(own?.cpuMs).toBeGreaterThan(0);
    expect(await readProcess(2 ** 22 + 1)).toBeUndefined();
  });
});
