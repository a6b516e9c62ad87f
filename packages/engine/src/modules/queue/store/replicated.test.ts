import { expect, it } from "vitest";
import { MemoryLog } from "../../../cluster/testing/memory-log.ts";
import { openReplicatedStore } from "../../../store/replicated/open-replicated-store.ts";
import { replicaKinds } from "../../../store/replicated/testing/open-on-log.ts";
import { openQueueStore } from "./open-queue-store.ts";
import type { JobProcedures } from "./queue-store.ts";
import { queueStoreSuite } from "./testing/queue-store-suite.ts";

for (const { name, open } of replicaKinds("memory")) {
  queueStoreSuite(name, (clock) =>
    openQueueStore({ name: "in_memory" }, { dataDir: "", openStore: (options) => open({ ...options, clock }) }),
  );
}

it("jobs that a run took stay its, although another one that does not know it yet recovers", async () => {
  const log = new MemoryLog();
  const procedures = new URL("./procedures.js", import.meta.url);
  const open = (node: string) =>
    openReplicatedStore<JobProcedures>({ log: log.connect(), node, file: undefined, procedures });
  const first = await open("a");
  const members = first.members();
  const second = await open("b");
  const limits = { maxDepth: 10, maxBytes: 1_000, maxDead: 10 };
  const job = { id: "1", queue: "q", functionId: "f", data: "1", bytes: 1, priority: 0, dedupeWindowMs: 1, limits };
  await second.call("add", { jobs: [{ ...job, maxAttempts: 3 }] });
  const wanted = { queue: "q", limit: 1, restrictedLimit: 1, maxBytes: 1_000, except: [], take: 1 };
  await second.call("take", { ...wanted, run: second.run });
  expect(await first.call("recover", { members })).toBe(0);
  await first.expel(second.run);
  expect(await first.call("recover", { members })).toBe(1);
  await first.close();
});
