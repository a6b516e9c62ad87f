import { afterEach, expect, it } from "vitest";
import { type QueueEngine, queueEngine } from "./testing/queue-engine.ts";

let running: QueueEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const limits = { maxDepth: 100, maxBytes: 1_000, maxDead: 100 };
const job = { queue: "default", functionId: "work", bytes: 1, priority: 0, dedupeWindowMs: 0, maxAttempts: 3, limits };
const wanted = { queue: "default", restrictedLimit: 1, maxBytes: 1_000, except: [], run: "other" };

/** A queue whose worker notes its jobs. Writes to `core.store` are those of another engine on the same store. */
async function start() {
  running = await queueEngine();
  const ran: unknown[] = [];
  const worker = await running.engine.connectWorker();
  worker.serve("work", (data) => ran.push(data));
  const { core, clock, until } = running;
  await until("it is provided", () => running?.engine.directory.functionById("work") !== undefined);
  const addElsewhere = (id: string, more: object = {}) =>
    core.store.call("add", { jobs: [{ ...job, id, data: JSON.stringify(id), ...more }] });
  return { core, clock, until, ran, addElsewhere };
}

it("a job that another engine adds runs at once, or when it is due", async () => {
  const { clock, until, ran, addElsewhere } = await start();
  await addElsewhere("now");
  await until("it ran", () => ran.length === 1);
  await addElsewhere("later", { delayMs: 5_000 });
  clock.advance(4_999);
  expect(ran).toEqual(["now"]);
  clock.advance(1);
  await until("it ran", () => ran.length === 2);
});

it("a job that another engine releases, unblocks, redrives or leaves behind runs here", async () => {
  const { core, until, ran, addElsewhere } = await start();
  await core.pause("default");
  for (const id of ["a1", "a2", "b"]) await addElsewhere(id, { group: id.slice(0, 1) });
  const take = { ...wanted, limit: 2, take: 1 };
  // While the queue is paused here, the other engine runs both.
  await core.store.call("setPaused", { queue: "default", paused: false });
  const { jobs } = await core.store.call("take", take);
  const [a, b] = jobs.map(({ seq }) => ({ seq, run: "other" }));
  if (a === undefined || b === undefined) throw new Error("the other engine got no jobs");
  const failure = {
    attempt: 1,
    at: 0,
    code: "no",
    message: "",
    stack: undefined,
    worker: undefined,
    traceId: undefined,
  };
  await core.store.call("deadLetter", { ...a, failure });
  await until("the next of the group ran", () => ran.length === 1);
  await core.store.call("release", b);
  await until("the released one ran", () => ran.length === 2);
  await core.store.call("redrive", { queue: "default", ids: ["a1"], limits, limit: 1 });
  await until("the redriven one ran", () => ran.length === 3);
  expect(ran).toEqual(["a2", "b", "a1"]);
});

it("a pause by another engine holds here, and its end as well", async () => {
  const { core, until, ran, addElsewhere } = await start();
  await core.store.call("setPaused", { queue: "default", paused: true });
  expect(core.isAway("default", "work")).toBe(true);
  await addElsewhere("a");
  expect(await core.counts("default")).toMatchObject({ waiting: 1, active: 0 });
  await core.store.call("setPaused", { queue: "default", paused: false });
  await until("it ran", () => ran.length === 1);
});
