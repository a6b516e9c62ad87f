import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadModules } from "@svc-runtime/engine";
import { inMemoryEngine, manualClock } from "@svc-runtime/engine/testing";
import { expect, test } from "vitest";
import { OBSERVABILITY } from "../index.ts";

/** With what the console's queue page and `svc queue watch` keep up to date. */
const POLLED = {
  "queue::list": {},
  "queue::stats": { queue: "mails" },
  "queue::peek": { queue: "mails", state: "waiting" },
  "queue::get_job": { job_id: "none" },
  "engine::queue::list_topics": {},
  "engine::queue::topic_stats": { topic: "mails" },
};

test("queues that a tool watches are in no metrics, those that a worker looks at are", async () => {
  const clock = manualClock();
  const engine = await inMemoryEngine({
    modules: await loadModules(),
    config: { [OBSERVABILITY]: {}, "svc-queue": { adapter: { name: "in_memory" }, queue_configs: { mails: {} } } },
    dataDir: mkdtempSync(join(tmpdir(), "svc-polled-")),
    clock,
  });
  const counted = async (): Promise<readonly string[]> => {
    clock.advance(5_000);
    const { functions } = (await engine.call("engine::metrics::functions", { window_seconds: 60 })) as {
      readonly functions: readonly { readonly function_id: string; readonly calls: number }[];
    };
    return functions
      .filter(({ function_id, calls }) => function_id in POLLED && calls > 0)
      .map(({ function_id }) => function_id);
  };
  const callAll = async (kind?: string): Promise<void> => {
    const caller = await engine.connectWorker({ name: "caller", ...(kind !== undefined && { kind }) });
    for (const [functionId, payload] of Object.entries(POLLED)) await caller.call(functionId, payload);
  };
  await callAll("console");
  await callAll("cli");
  expect(await counted()).toEqual([]);
  await callAll();
  expect((await counted()).toSorted()).toEqual(Object.keys(POLLED).toSorted());
  await engine.stop();
});
