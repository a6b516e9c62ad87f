import { expect, it } from "vitest";
import { MemoryLog } from "../../../cluster/testing/memory-log.ts";
import { openReplicatedStore } from "../../../store/replicated/open-replicated-store.ts";
import { replicaKinds } from "../../../store/replicated/testing/open-on-log.ts";
import type { CronProcedures } from "./procedures.ts";
import type { Adoption } from "./rows.ts";
import { cronStoreSuite } from "./testing/cron-store-suite.ts";

const procedures = new URL("./procedures.js", import.meta.url);
for (const { name, open } of replicaKinds("memory")) {
  cronStoreSuite(name, (clock) => open({ file: undefined, procedures, clock }));
}

it("a run of a job at one engine keeps others from starting it, until it ends or its engine is expelled", async () => {
  const log = new MemoryLog();
  const open = (node: string) =>
    openReplicatedStore<CronProcedures>({ log: log.connect(), node, run: `run ${node}`, file: undefined, procedures });
  const [a, b, c] = await Promise.all(["a", "b", "c"].map(open));
  if (a === undefined || b === undefined || c === undefined) throw new Error("a store did not open");
  const adopt = async (store: typeof a) => {
    const change: Adoption = {
      ...{ kind: "adopt", id: "j", functionId: "f", config: "{}", now: 0, redeliverFrom: undefined, isTrusted: true },
    };
    const given = { changes: [change], engine: store.run, members: store.members(), isShared: true };
    return (await store.call("register", given))[0];
  };
  await adopt(a);
  expect(await adopt(b)).toMatchObject({ holders: [a.run, b.run], running: [] });
  const run = {
    ...{ scheduledAt: 1, startedAt: 1, finishedAt: null, outcome: null, error: null },
    ...{ manual: false, skippedCount: 0 },
  };
  const start = async (store: typeof a, tick: number) => {
    const entry = { id: "j", run: { ...run, scheduledAt: tick }, decidedUntil: tick };
    return (await store.call("start", { engine: store.run, entry, mayOverlap: false })).status;
  };
  expect([await start(a, 1), await start(b, 2)]).toEqual(["started", "overlaps"]);
  expect(await adopt(b)).toMatchObject({ running: [1] });
  const finished = { ...run, seq: 1, finishedAt: 2, outcome: "ok" } as const;
  await a.call("finish", { id: "j", run: finished });
  expect([await start(a, 2), await start(b, 3)]).toEqual(["started", "overlaps"]);
  await b.expel(a.run);
  await c.expel(a.run);
  expect(await start(b, 3)).toBe("started");
  expect(await adopt(b)).toMatchObject({ holders: [b.run], running: [] });
  await Promise.all([a, b, c].map((store) => store.close()));
});
