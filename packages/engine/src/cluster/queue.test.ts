import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { queue } from "../modules/queue/index.ts";
import type { InMemoryEngine } from "../testing/in-memory-engine.ts";
import { ClusterEngines } from "./testing/cluster-engines.ts";

let engines: ClusterEngines;

const startNode = (name: string): Promise<InMemoryEngine> =>
  engines.start(name, {
    modules: [queue],
    config: { "svc-queue": { adapter: { name: "in_memory" }, queue_configs: { default: {} } } },
  });

beforeEach(() => {
  engines = new ClusterEngines();
});
afterEach(() => engines.stop());

/** Enqueues one job. Returns what ran of it when all that it caused has happened. */
async function runOne(at: InMemoryEngine, by: InMemoryEngine): Promise<readonly unknown[]> {
  const ran: unknown[] = [];
  const worker = await by.connectWorker({ name: "worker" });
  worker.serve("work", (data) => ran.push(data));
  for (let turn = 0; turn < 5; turn++) await engines.cluster.exchange();
  await at.call("queue::enqueue", { queue: "default", function_id: "work", data: 1 });
  for (let turn = 0; turn < 10; turn++) await engines.cluster.exchange();
  return ran;
}

describe("a single job of a cluster runs without any other write", () => {
  it("at the only engine", async () => {
    const a = await startNode("a");
    expect(await runOne(a, a)).toEqual([1]);
  });

  it("at the engine that has its worker, which is not the one that added it", async () => {
    const [a, b] = [await startNode("a"), await startNode("b")];
    expect(await runOne(a, b)).toEqual([1]);
  });
});
