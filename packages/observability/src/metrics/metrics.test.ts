import { defineModule, type Measure } from "@svc-runtime/engine/module";
import { accessTo, type InMemoryEngine, inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import parsePrometheus from "parse-prometheus-text-format";
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import observability, { OBSERVABILITY } from "../index.ts";

const engines: InMemoryEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly points: readonly (readonly [number, number | null])[];
}

async function start(config: object = {}, measure?: Measure) {
  const clock = manualClock();
  const meter = defineModule({
    name: "meter",
    summary: "measures",
    config: z.unknown(),
    start({ telemetry }) {
      if (measure !== undefined) telemetry.provideMeasurements(measure);
      return { stop: () => {} };
    },
  });
  const engine = await inMemoryEngine({
    modules: [observability, meter],
    config: { [OBSERVABILITY]: config, meter: {} },
    clock,
  });
  engines.push(engine);
  const worker = await engine.connectWorker({ name: "math", pid: 1 });
  worker.serve("math::add", () => 1);
  worker.serve("math::fail", () => {
    throw new Error("no");
  });
  worker.say({ type: "ping" });
  await worker.next((frame) => frame.type === "pong");
  const ask = async <T>(id: string, input: object = {}): Promise<T> => (await engine.call(id, input)) as T;
  const series = async (input: object): Promise<readonly Series[]> =>
    (await ask<{ series: readonly Series[] }>("engine::metrics::series", input)).series;
  return { clock, engine, worker, ask, series };
}

async function calls(engine: InMemoryEngine, id: string, count: number): Promise<void> {
  for (let call = 0; call < count; call++) await engine.call(id, {}).catch(() => {});
}

describe("metrics of the engine", () => {
  it("leave out what happened while they were off, which was not within the 5 s after it", async () => {
    let total = 0;
    const { clock, engine, series } = await start({}, () => [{ name: "meter.total", type: "counter", value: total }]);
    const sumOf = async (name: string): Promise<number> =>
      (await series({ names: [name], aggregate: "sum" }))
        .flatMap(({ points }) => points)
        .reduce((sum, [, value]) => sum + (value ?? 0), 0);
    const switchTo = (metrics_enabled: boolean) =>
      engine.applyModules([
        { name: OBSERVABILITY, config: { metrics_enabled } },
        { name: "meter", config: {} },
      ]);
    await calls(engine, "math::add", 3);
    total = 3;
    clock.advance(5_000);
    await switchTo(false);
    await calls(engine, "math::add", 100);
    total = 103;
    clock.advance(60_000);
    await switchTo(true);
    clock.advance(5_000);
    await calls(engine, "math::add", 1);
    total = 104;
    clock.advance(5_000);
    expect([await sumOf("svc.calls"), await sumOf("meter.total")]).toEqual([4, 4]);
  });

  it("tell how many spans and log entries are kept", async () => {
    const { clock, engine, series } = await start();
    await calls(engine, "math::add", 2);
    const latest = async (name: string): Promise<number> => {
      clock.advance(5_000);
      return (await series({ names: [name] }))[0]?.points.findLast(([, value]) => value !== null)?.[1] ?? -1;
    };
    await expect.poll(() => latest("svc.telemetry.spans")).toBe(2);
    expect(await latest("svc.telemetry.logs")).toBeGreaterThanOrEqual(0);
  });

  it("count calls by function and outcome, over time (gap 47)", async () => {
    const { clock, engine, series, ask } = await start();
    await calls(engine, "math::add", 10);
    clock.advance(5_000);
    await calls(engine, "math::add", 5);
    await calls(engine, "math::fail", 2);
    clock.advance(5_000);
    expect(await ask("engine::metrics::functions")).toMatchObject({
      functions: [
        { function_id: "math::add", calls: 15, errors: 0, error_rate: 0, last_call: { status: "ok" } },
        { function_id: "math::fail", calls: 2, errors: 2, error_rate: 1, last_call: { status: "error" } },
      ],
      totals: { calls: 17, errors: 2 },
      window_seconds: 900,
    });
    const [add] = await series({ names: ["svc.calls"], labels: { function_id: "math::add" }, aggregate: "sum" });
    expect(add?.labels).toEqual({ function_id: "math::add", outcome: "ok" });
    expect(add?.points.slice(-3).map(([, value]) => value)).toEqual([10, 5, 0]);
    const [rate] = await series({ names: ["svc.calls"], labels: { function_id: "math::add" }, step_seconds: 10 });
    expect(rate?.points.at(-2)?.[1]).toBe(1.5);
  });

  it("count calls up to now in the figures of functions, each once", async () => {
    const { clock, engine, ask, series } = await start();
    interface Figures {
      readonly functions: readonly { readonly function_id: string; readonly calls: number }[];
    }
    const countedCalls = async (): Promise<number | undefined> => {
      const { functions } = await ask<Figures>("engine::metrics::functions", { window_seconds: 60 });
      return functions.find(({ function_id }) => function_id === "math::add")?.calls;
    };
    clock.advance(7_000);
    await calls(engine, "math::add", 2);
    expect(await countedCalls()).toBe(2);
    await calls(engine, "math::add", 1);
    expect(await countedCalls()).toBe(3);
    clock.advance(5_000);
    expect(await countedCalls()).toBe(3);
    const [add] = await series({ names: ["svc.calls"], labels: { function_id: "math::add" }, aggregate: "sum" });
    expect(add?.points.slice(-2).map(([, value]) => value)).toEqual([3, 0]);
  });

  it("say why there are no figures of functions while metrics are off", async () => {
    const { engine, ask } = await start({ metrics_enabled: false });
    await calls(engine, "math::add", 1);
    expect(await ask("engine::metrics::functions")).toMatchObject({
      functions: [],
      problem: "metrics are off: metrics_enabled of svc-observability is false",
    });
  });

  it("give durations by exact histograms: one slow call in a hundred shows in p99 and not in p95 (gap 47)", async () => {
    const { clock, engine, worker, ask } = await start();
    let takesMs = 4;
    worker.serve("math::slow", () => {
      clock.advance(takesMs);
      return 1;
    });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    for (let call = 0; call < 100; call++) {
      takesMs = call === 50 ? 800 : 4;
      await engine.call("math::slow", {});
    }
    clock.advance(5_000);
    const { functions } = await ask<{
      functions: readonly {
        function_id: string;
        p50_ms: number;
        p95_ms: number;
        p99_ms: number;
        max_ms: number;
        avg_ms: number;
      }[];
    }>("engine::metrics::functions");
    const slow = functions.find(({ function_id }) => function_id === "math::slow");
    expect(slow?.p50_ms).toBeCloseTo(4, 0);
    expect(slow?.p95_ms).toBeLessThan(4.3);
    expect(slow?.max_ms).toBe(800);
    expect(slow?.avg_ms).toBeCloseTo((99 * 4 + 800) / 100, 5);
  });

  it("tell the longest call of the window to the digit, and no percentile above it", async () => {
    const { clock, engine, worker, ask } = await start();
    let takesMs = 0;
    worker.serve("math::slow", () => {
      clock.advance(takesMs);
      return 1;
    });
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    const longest = async (...durations: number[]) => {
      for (takesMs of durations) await engine.call("math::slow", {});
      clock.advance(5_000);
      const { functions, totals } = await ask<{ functions: readonly { function_id: string }[]; totals: object }>(
        "engine::metrics::functions",
        {
          window_seconds: 60,
        },
      );
      return [functions.find(({ function_id }) => function_id === "math::slow"), totals];
    };
    const highest = (ms: number) => ({ p99_ms: ms, max_ms: ms });
    expect(await longest(103, 103, 103)).toMatchObject([highest(103), highest(103)]);
    expect(await longest(1_003)).toMatchObject([highest(1_003), highest(1_003)]);
    clock.advance(120_000);
    // Not the total since the start.
    expect(await longest(50.5)).toMatchObject([highest(50.5), { max_ms: 50.5 }]);
  });

  it("keep 15 minutes by 5 s and a week by the hour", async () => {
    const { clock, engine, series, ask } = await start();
    await calls(engine, "math::add", 6);
    clock.advance(20 * 60_000);
    const recent = await series({ names: ["svc.calls"], aggregate: "sum" });
    expect(recent[0]?.points).toHaveLength(181);
    expect(recent[0]?.points.reduce((sum, [, value]) => sum + (value ?? 0), 0)).toBe(0);
    const [hour] = await series({
      names: ["svc.calls"],
      labels: { function_id: "math::add" },
      aggregate: "sum",
      start_time: clock.now() - 3_000_000,
    });
    expect(hour?.points.reduce((sum, [, value]) => sum + (value ?? 0), 0)).toBe(6);
    for (const [level, stepMs] of [60_000, 300_000, 3_600_000].entries()) {
      const { rollups } = await ask<{ rollups: readonly object[] }>("engine::rollups::list", {
        level,
        metric_name: "svc.calls",
      });
      expect(rollups).toMatchObject([
        {
          name: "svc.calls",
          labels: { function_id: "math::add", outcome: "ok" },
          sum: 6,
          bucket_start_ms: Date.UTC(2026, 0, 1),
        },
      ]);
      expect(rollups[0]).toMatchObject({ bucket_end_ns: (Date.UTC(2026, 0, 1) + stepMs) * 1e6 });
    }
    const { histogram_rollups } = await ask<{ histogram_rollups: readonly object[] }>("engine::rollups::list", {
      metric_name: "svc.call.duration",
    });
    expect(histogram_rollups).toMatchObject([
      { count: 6, percentiles: { p50: expect.any(Number), p99: expect.any(Number) } },
    ]);
    expect(await ask("engine::metrics::functions", { window_seconds: 3_600 })).toMatchObject({
      functions: expect.arrayContaining([expect.objectContaining({ function_id: "math::add", calls: 6 })]),
    });
  });

  it("sample what modules measure, gauges and counters, and do without one that fails or is late", async () => {
    let published = 100;
    let isBad: "no" | "throws" | "hangs" = "no";
    const measure: Measure = () => {
      if (isBad === "throws") throw new Error("no");
      if (isBad === "hangs") return new Promise(() => {});
      return [
        { name: "svc.queue.waiting", type: "gauge", labels: { queue: "a" }, value: 3 },
        { name: "svc.queue.waiting", type: "gauge", labels: { queue: "b" }, value: Number.NaN },
        { name: "svc.event.published", type: "counter", value: published },
      ];
    };
    const { clock, series, ask } = await start({}, measure);
    clock.advance(5_000);
    published = 107;
    clock.advance(5_000);
    // Restarted.
    published = 2;
    clock.advance(5_000);
    expect(
      (await series({ names: ["svc.queue.waiting"] })).map(({ labels, points }) => [labels.queue, points.at(-2)?.[1]]),
    ).toEqual([["a", 3]]);
    const [counter] = await series({ names: ["svc.event.published"], aggregate: "sum" });
    expect(counter?.points.slice(-4, -1).map(([, value]) => value)).toEqual([100, 7, 2]);
    isBad = "throws";
    clock.advance(5_000);
    isBad = "hangs";
    clock.advance(20_000);
    const dropped = await series({ names: ["svc.telemetry.dropped"], aggregate: "sum" });
    const sums = dropped.map(({ labels, points }) => [
      labels.reason,
      points.reduce((sum, [, value]) => sum + (value ?? 0), 0),
    ]);
    expect(sums).toEqual([
      ["measurement_failed", 1],
      ["measurement_late", 1],
    ]);
    expect(await ask("engine::metrics::list")).toMatchObject({ sdk_metrics: [] });
  });

  it("answer in the published shape", async () => {
    const { clock, engine, ask } = await start();
    await calls(engine, "math::add", 3);
    await calls(engine, "math::fail", 1);
    clock.advance(5_000);
    const answer = await ask<{ engine_metrics: { invocations: { by_function: object } } }>("engine::metrics::list", {
      aggregate_interval: 60,
      metric_name: "svc.calls",
    });
    expect(answer).toMatchObject({
      engine_metrics: {
        invocations: { error: 1, deferred: 0, by_function: { "math::add": 3, "math::fail": 1 } },
        workers: { spawns: 1, deaths: 0, active: 1 },
        performance: {
          avg_duration_ms: expect.any(Number),
          p50_duration_ms: expect.any(Number),
          p99_duration_ms: expect.any(Number),
        },
      },
      sdk_metrics: [],
      timestamp: clock.now(),
      query: { metric_name: "svc.calls" },
    });
    const { aggregated_metrics } = answer as unknown as {
      aggregated_metrics: readonly { labels: object; sum: number }[];
    };
    expect(aggregated_metrics.map(({ labels, sum }) => ({ ...labels, sum }))).toContainEqual({
      function_id: "math::add",
      outcome: "ok",
      sum: 3,
    });
    const { names } = answer as unknown as { names: readonly { name: string }[] };
    expect(names.map(({ name }) => name)).toEqual(
      expect.arrayContaining(["svc.calls", "svc.call.duration", "svc.engine.rss_bytes", "svc.workers"]),
    );
  });

  it("show a restricted caller the figures of functions and workers that it may see, and no sums over everybody", async () => {
    const { clock, engine, ask, worker } = await start();
    const queue = await engine.connectWorker({ name: "queue" });
    queue.serve("engine::queue::enqueue", () => null);
    const reader = await engine.connectWorker({
      name: "reader",
      access: accessTo(["engine::metrics::list", "engine::metrics::series", "engine::rollups::list", "reader::slow"]),
    });
    reader.serve("reader::slow", () => 1);
    reader.say({ type: "ping" });
    await reader.next((frame) => frame.type === "pong");
    await calls(engine, "math::add", 5);
    await calls(engine, "math::fail", 3);
    await calls(engine, "engine::queue::enqueue", 2);
    await calls(engine, "nobody", 1);
    await calls(engine, "reader::slow", 1);
    worker.serve("math::slow", () => void clock.advance(700));
    worker.say({ type: "ping" });
    await worker.next((frame) => frame.type === "pong");
    await calls(engine, "math::slow", 1);
    clock.advance(5_000);
    const seen = async (id: string): Promise<unknown> => (await reader.call(id, {})).result;
    const { engine_metrics, names } = (await seen("engine::metrics::list")) as {
      engine_metrics: unknown;
      names: readonly { name: string }[];
    };
    expect(engine_metrics).toMatchObject({
      // This call has started and not ended.
      invocations: {
        total: 2,
        success: 1,
        error: 0,
        deferred: 0,
        by_function: { "reader::slow": 1, "engine::metrics::list": 1 },
        refused: {},
      },
      workers: { spawns: 1, deaths: 0, active: 1 },
      performance: { max_duration_ms: 0 },
    });
    const sums = [
      "svc.calls.deferred",
      "svc.calls.refused",
      "svc.calls.in_flight",
      "svc.workers",
      "svc.workers.spawns",
      "svc.engine.connections",
    ];
    const ofOwner = await ask<{ names: readonly { name: string }[] }>("engine::metrics::list");
    expect(ofOwner.names.map(({ name }) => name)).toEqual(expect.arrayContaining(sums));
    const all = JSON.stringify([names, await seen("engine::metrics::series"), await seen("engine::rollups::list")]);
    for (const sum of sums) expect(all).not.toContain(`"${sum}"`);
    expect(all).toContain('"svc.engine.rss_bytes"');
    expect(all).not.toMatch(/math::|nobody/);
    // The values of the owner are those of all callers.
    expect(ofOwner).toMatchObject({
      engine_metrics: {
        invocations: { deferred: 2, by_function: { "math::add": 5 } },
        workers: { active: 3 },
        performance: { max_duration_ms: 700 },
      },
    });
  });

  it("take nonsense times without failing", async () => {
    const { ask, series, clock } = await start();
    clock.advance(5_000);
    expect(await series({ start_time: clock.now(), end_time: 0 })).toEqual(expect.any(Array));
    expect(await series({ start_time: 8.64e15, end_time: 8.64e15, step_seconds: 604_800 })).toEqual(expect.any(Array));
    expect(await series({ start_time: 0, end_time: clock.now() })).toEqual(expect.any(Array));
    expect(await ask("engine::rollups::list", { start_time: 0, end_time: 1 })).toMatchObject({ rollups: [] });
    expect(await ask("engine::rollups::list", { start_time: clock.now(), end_time: 0, level: 2 })).toMatchObject({
      rollups: [],
    });
    expect(
      await ask("engine::metrics::list", { start_time: 8e15, end_time: 1, aggregate_interval: 1, metric_name: "none" }),
    ).toMatchObject({
      aggregated_metrics: [],
    });
    await expect(ask("engine::metrics::series", { step_seconds: 0 })).rejects.toMatchObject({ code: "invalid_input" });
  });

  it("are off where the config says so, and on again without a restart", async () => {
    const { clock, engine, series } = await start({ metrics_enabled: false });
    await calls(engine, "math::add", 3);
    clock.advance(60_000);
    expect(await series({})).toEqual([]);
    await engine.applyModules([
      { name: OBSERVABILITY, config: {} },
      { name: "meter", config: {} },
    ]);
    await calls(engine, "math::add", 2);
    clock.advance(5_000);
    expect((await series({ names: ["svc.engine.rss_bytes"] })).length).toBe(1);
  });

  it("are watched on svc.metrics: what there is of 15 minutes on joining, then each sample", async () => {
    const { clock, engine } = await start();
    await calls(engine, "math::add", 10);
    clock.advance(16 * 60_000);
    const socket = engine.openSocket("/");
    socket.send(
      JSON.stringify({ type: "join", data: { subscriptionId: "m", streamName: "svc.metrics", groupId: "all" } }),
    );
    const [sync] = socket.take() as unknown as { event: { type: string; data: readonly { at_ms: number }[] } }[];
    expect(sync?.event.type).toBe("sync");
    expect(sync?.event.data).toHaveLength(180);
    expect(sync?.event.data.at(-1)).toMatchObject({
      at_ms: clock.now() - 5_000,
      ...{ functions: 2, triggers: 0, workers: 1, streams: 0 },
      calls_per_second: 0,
      p95_ms: null,
    });
    await calls(engine, "math::fail", 5);
    clock.advance(5_000);
    const [sample] = socket.take() as unknown as { event: unknown }[];
    expect(sample?.event).toMatchObject({
      type: "event",
      event: {
        type: "sample",
        data: { at_ms: clock.now() - 5_000, calls_per_second: 1, errors_per_second: 1, rss_bytes: expect.any(Number) },
      },
    });
    socket.close();
  });

  it("of a worker's process come in frames of its own connection, by the published names (gap 47)", async () => {
    const { ask, worker, engine, series, clock } = await start();
    const gauge = (name: string, value: number, workerId: string) => ({
      name,
      gauge: {
        dataPoints: [
          { asDouble: value, timeUnixNano: "1", attributes: [{ key: "worker.id", value: { stringValue: workerId } }] },
        ],
      },
    });
    const metrics = [gauge("iii.worker.memory.rss", 12_345, worker.id), gauge("iii.worker.cpu.percent", 7, worker.id)];
    const counter = {
      name: "orders",
      unit: "1",
      sum: { isMonotonic: true, aggregationTemporality: 2, dataPoints: [{ asInt: "3", attributes: [] }] },
    };
    const body = { resourceMetrics: [{ resource: {}, scopeMetrics: [{ metrics: [...metrics, counter] }] }] };
    worker.sendBinary(Buffer.from(`MTRC${JSON.stringify(body)}`));
    await expect
      .poll(() => ask("engine::metrics::workers"))
      .toMatchObject({ workers: [{ rss_bytes: 12_345, cpu_percent: 7, source: "sdk" }] });
    expect(engine.kernel.telemetry.workerMetrics(worker.id)).toMatchObject({
      memory_rss: 12_345,
      cpu_percent: 7,
      timestamp_ms: clock.now(),
    });
    expect(await series({ names: ["orders"], aggregate: "sum" })).toMatchObject([
      { service_name: "math", worker_id: worker.id },
    ]);
    expect(await ask("engine::metrics::list")).toMatchObject({
      sdk_metrics: [{ name: "orders", metric_type: "counter", service_name: "math", data_points: [{ value: 3 }] }],
    });
    clock.advance(121_000);
    expect(await ask("engine::metrics::workers")).toMatchObject({ workers: [{ rss_bytes: null, source: null }] });
  });

  it("of workers are null until they are sent, and never crash (gap 47)", async () => {
    const { clock, ask, worker, engine } = await start();
    clock.advance(5_000);
    expect(await ask("engine::metrics::workers")).toMatchObject({
      workers: [
        {
          worker_id: worker.id,
          name: "math",
          cpu_percent: null,
          rss_bytes: null,
          heap_used_bytes: null,
          event_loop_lag_ms: null,
          in_flight: 0,
          calls: null,
          source: null,
        },
      ],
    });
    expect(engine.logs.filter(({ level }) => level === "error")).toEqual([]);
  });
});

describe("metrics for Prometheus", () => {
  it("are served at an address of their own, in the format that is asked for", async () => {
    const { clock, engine } = await start({ prometheus: { port: 0 } });
    await calls(engine, "math::add", 7);
    await calls(engine, "math::fail", 1);
    clock.advance(5_000);
    const port = engine.logs.find(({ message }) => message === "metrics are served to Prometheus")?.fields?.port;
    const get = (path: string, init: RequestInit = {}): Promise<Response> =>
      fetch(`http://127.0.0.1:${String(port)}${path}`, init);
    const plain = await get("/metrics");
    expect(plain.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
    const text = await plain.text();
    const families = parsePrometheus(text);
    const family = (name: string) => families.find((one) => one.name === name);
    expect(family("svc_calls_total")?.metrics).toContainEqual({
      value: "7",
      labels: { function_id: "math::add", outcome: "ok" },
    });
    expect(family("svc_calls_total")?.metrics).toContainEqual({
      value: "1",
      labels: { function_id: "math::fail", outcome: "error" },
    });
    expect(family("svc_call_duration_milliseconds")?.type).toBe("HISTOGRAM");
    // The parser drops labels of histograms.
    expect(text).toContain('svc_call_duration_milliseconds_bucket{function_id="math::add",le="+Inf"} 7\n');
    expect(text).toContain('svc_call_duration_milliseconds_count{function_id="math::add"} 7\n');
    expect(family("svc_workers")?.metrics).toEqual([{ value: "1" }]);

    const open = await get("/metrics", {
      headers: { accept: "application/openmetrics-text;version=1.0.0,text/plain;version=0.0.4;q=0.5,*/*;q=0.1" },
    });
    expect(open.headers.get("content-type")).toContain("application/openmetrics-text");
    expect((await open.text()).endsWith("# EOF\n")).toBe(true);
    expect((await get("/")).status).toBe(404);
    expect((await get("/metrics", { method: "POST", body: "x" })).status).toBe(405);
    expect(await (await get("/metrics", { method: "HEAD" })).text()).toBe("");
  });

  it("are not served unless the config says so", async () => {
    const { engine } = await start();
    expect(engine.logs.some(({ message }) => message.includes("Prometheus"))).toBe(false);
  });
});
