import { expect, test } from "vitest";
import { z } from "zod";
import { defineModule } from "../kernel/module.ts";
import { inMemoryEngine } from "../testing/index.ts";
import { engineFunctions } from "./engine-functions/index.ts";
import { loadModules, OBSERVABILITY } from "./index.ts";

test("listings of workers tell how their processes do as whoever knows it tells, and null while nobody does", async () => {
  let isKnown = false;
  const teller = defineModule({
    name: "teller",
    summary: "knows",
    config: z.unknown(),
    start({ telemetry }) {
      telemetry.provideWorkerMetrics(() => (isKnown ? { memory_rss: 5, timestamp_ms: 1, runtime: "test" } : undefined));
      return { stop: () => {} };
    },
  });
  const listings = engineFunctions(() => ({}) as never, { config: () => ({}) as never });
  const engine = await inMemoryEngine({
    modules: [listings, teller, ...(await loadModules())],
    config: { "engine-functions": {}, teller: {} },
  });
  const worker = await engine.connectWorker({ name: "math" });
  await worker.call("nothing");
  const latest = async (): Promise<unknown> =>
    ((await engine.call("engine::workers::list")) as { workers: readonly { latest_metrics: unknown }[] }).workers[0]
      ?.latest_metrics;
  expect(await latest()).toBeNull();
  isKnown = true;
  expect(await latest()).toEqual({ memory_rss: 5, timestamp_ms: 1, runtime: "test" });
  expect(await engine.call("engine::workers::info", { name: "math" })).toMatchObject({
    worker: { latest_metrics: { memory_rss: 5 } },
  });
  // Nothing is known about a worker that has sent no metrics.
  await engine.applyModules([
    { name: "engine-functions", config: {} },
    { name: OBSERVABILITY, config: {} },
  ]);
  expect(await latest()).toBeNull();
  await engine.stop();
});
