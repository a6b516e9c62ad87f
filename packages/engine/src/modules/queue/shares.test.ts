// The share of restricted principals in a queue, and its effect on others.
import { afterEach, describe, expect, it } from "vitest";
import type { InMemoryWorker } from "../../testing/in-memory-engine.ts";
import { accessOfRole, rulesWith } from "../../testing/index.ts";
import { type ModuleEngine, moduleEngine } from "./testing/module-engine.ts";
import { temporaryFolder } from "./testing/queue-engine.ts";

let running: ModuleEngine | undefined;
const hanging: (() => void)[] = [];
afterEach(async () => {
  for (const end of hanging.splice(0)) end();
  await running?.stop();
  running = undefined;
});

async function start(queues: Readonly<Record<string, unknown>> = {}, dataDir?: string): Promise<ModuleEngine> {
  running = await moduleEngine({ queues, ...(dataDir === undefined ? {} : { dataDir }) });
  return running;
}

const MAY = [
  "work",
  "queue::enqueue",
  "queue::enqueue_many",
  "engine::queue::enqueue",
  "queue::redrive",
  "svc::durable::publish",
];

function guestOf({ engine }: ModuleEngine, role = "guest"): Promise<InMemoryWorker> {
  return engine.connectWorker({ access: accessOfRole(role, MAY) });
}

interface Answer {
  readonly result?: { readonly job_id: string; readonly duplicate: boolean } | undefined;
  readonly error?: { readonly code: string; readonly message: string; readonly details?: unknown } | null | undefined;
}

async function enqueue(worker: InMemoryWorker, job: Readonly<Record<string, unknown>>): Promise<Answer> {
  return (await worker.call("queue::enqueue", { queue: "q", function_id: "work", data: 1, ...job })) as Answer;
}

/** Until the test ends. */
function hang(): Promise<void> {
  return new Promise((resolve) => hanging.push(resolve));
}

const full = (what: string) => ({ error: { code: "queue_full", message: expect.stringContaining(what) } });

describe("what a restricted principal puts on a queue", () => {
  it("has dedupe keys of its own, apart from those of other principals and of trusted callers", async () => {
    const own = await start({ q: {} });
    const [guest, other] = [await guestOf(own), await guestOf(own, "other")];
    const first = await enqueue(guest, { dedupe_key: "order-17" });
    expect(await enqueue(other, { dedupe_key: "order-17" })).toMatchObject({ result: { duplicate: false } });
    expect(await own.call("queue::enqueue", { queue: "q", function_id: "work", dedupe_key: "order-17" })).toMatchObject(
      { duplicate: false },
    );
    // Control: its own key is in use.
    expect(await enqueue(guest, { dedupe_key: "order-17" })).toMatchObject({
      result: { duplicate: true, job_id: first.result?.job_id },
    });
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ waiting: 3 });
  });

  it("cannot have the id that another chooses for a job", async () => {
    const own = await start({ q: {} });
    const guest = await guestOf(own);
    const job = { queue: "q", function_id: "work", messageReceiptId: "order-17" };
    const { result } = await guest.call("engine::queue::enqueue", job);
    const { messageReceiptId: id } = result as { messageReceiptId: string };
    expect(await own.call("engine::queue::enqueue", job)).toEqual({ messageReceiptId: "order-17" });
    expect((await guest.call("engine::queue::enqueue", job)).result).toEqual({ messageReceiptId: id });
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ waiting: 2 });
  });

  it("has groups of its own: a job that hangs holds up none of another's", async () => {
    const own = await start({ q: { type: "fifo", message_group_field: "customer" } });
    const [guest, worker] = [await guestOf(own), await own.engine.connectWorker()];
    const started: string[] = [];
    worker.serve("work", (data) => {
      const { name } = data as { name: string };
      started.push(name);
      return name.startsWith("hangs") ? hang() : null;
    });
    await enqueue(guest, { data: { customer: "ada", name: "hangs" } });
    await enqueue(guest, { data: { customer: "ada", name: "behind" } });
    await own.until("it runs", () => started.length === 1);
    await own.call("queue::enqueue", { queue: "q", function_id: "work", data: { customer: "ada", name: "owner's" } });
    await own.until("the owner's is done", async () => (await own.call("queue::stats", { queue: "q" })).done === 1);
    expect(started).toEqual(["hangs", "owner's"]);
  });

  it("is an eighth of max_depth, and half of it with that of the others, over a restart too; the rest is for trusted callers", async () => {
    const folder = temporaryFolder();
    const queues = { q: { max_depth: 16 } };
    const before = await start(queues, folder.path);
    const guest = await guestOf(before);
    for (let n = 0; n < 2; n++) expect(await enqueue(guest, {})).toMatchObject({ error: null });
    const refused = await enqueue(guest, {});
    expect(refused).toMatchObject(
      full("role guest has 2 jobs on queue q; a restricted principal may have 2 (an eighth of max_depth)"),
    );
    expect(refused).toMatchObject({
      error: { details: { queue: "q", principal: "role guest", max_depth: 16, used: 2, limit: 2 } },
    });
    // If one of several jobs has no room, none is added.
    const other = await guestOf(before, "other");
    const job = { queue: "q", function_id: "work" };
    expect(await other.call("queue::enqueue_many", { jobs: [job, job, job] })).toMatchObject({
      error: { code: "queue_full" },
    });
    await before.stop();

    const after = await start(queues, folder.path);
    expect(await enqueue(await guestOf(after), {})).toMatchObject(full("role guest has 2 jobs"));
    for (const role of ["a", "b", "c"])
      for (let n = 0; n < 2; n++) expect(await enqueue(await guestOf(after, role), {})).toMatchObject({ error: null });
    expect(await enqueue(await guestOf(after, "d"), {})).toMatchObject(
      full("restricted principals together have 8 jobs on queue q, and may have 8 (half of max_depth)"),
    );
    const ofOwner = (count: number) =>
      after.call("queue::enqueue_many", { jobs: Array.from({ length: count }, () => job) });
    await ofOwner(8);
    await expect(ofOwner(1)).rejects.toMatchObject({ code: "queue_full" });
    // There is room again after jobs have run.
    const worker = await after.engine.connectWorker();
    worker.serve("work", () => null);
    await after.until("all are done", async () => (await after.call("queue::stats", { queue: "q" })).done === 16);
    expect(await enqueue(await guestOf(after), {})).toMatchObject({ error: null });
    await after.stop();
    running = undefined;
    folder.remove();
  });

  it("is an eighth of max_bytes", async () => {
    const own = await start({ q: { max_bytes: 800 } });
    const guest = await guestOf(own);
    expect(await enqueue(guest, { data: "x".repeat(90) })).toMatchObject({ error: null });
    expect(await enqueue(guest, { data: "x".repeat(90) })).toMatchObject(full("an eighth of max_bytes"));
    const tooLarge =
      "a job of 122 bytes of data exceeds the share of role guest on queue q, 100 (an eighth of max_bytes): make the job smaller";
    expect(await enqueue(guest, { data: "x".repeat(120) })).toMatchObject(full(tooLarge));
    await own.call("queue::enqueue", { queue: "q", function_id: "work", data: "x".repeat(600) });
  });

  it("leaves room for dead letters of others: its own refuse its own jobs only, however many they are", async () => {
    const own = await start({ q: { max_dead: 8, max_depth: 160, max_attempts: 1 } });
    const [guest, worker] = [await guestOf(own), await own.engine.connectWorker()];
    for (let n = 0; n < 12; n++) await enqueue(guest, {});
    worker.serve("work", () => {
      throw new Error("no");
    });
    await own.until("they are dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 12);
    expect(await enqueue(guest, {})).toMatchObject(
      full("role guest has 12 dead letters on queue q; a restricted principal may have 1 (an eighth of max_dead)"),
    );
    expect(await own.call("queue::enqueue", { queue: "q", function_id: "work" })).toMatchObject({ duplicate: false });
    await own.until("the owner's is dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 13);
  });

  it("leaves other principals their share when the dead letters of one are more than all may have", async () => {
    const own = await start({ q: { max_dead: 16, max_depth: 160, max_attempts: 1 } });
    own.engine.kernel.roles.set([rulesWith("guest", "other")]);
    const [guest, other, worker] = [await guestOf(own), await guestOf(own, "other"), await own.engine.connectWorker()];
    for (let n = 0; n < 20; n++) await enqueue(guest, {});
    worker.serve("work", () => {
      throw new Error("no");
    });
    await own.until("they are dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 20);
    expect(await enqueue(other, {})).toMatchObject({ result: { duplicate: false } });
    await own.until("the other's is dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 21);
    expect(await enqueue(other, {})).toMatchObject({ result: { duplicate: false } });
    await own.until("two of them are dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 22);
    expect(await enqueue(other, {})).toMatchObject(
      full("role other has 2 dead letters on queue q; a restricted principal may have 2"),
    );
  });

  it("leaves one place to jobs of trusted callers, where several may run", async () => {
    const own = await start({ q: { concurrency: 3 } });
    const [guest, worker] = [await guestOf(own), await own.engine.connectWorker()];
    const ran: unknown[] = [];
    worker.serve("work", (data) => {
      ran.push(data);
      return data === "hangs" ? hang() : null;
    });
    for (let n = 0; n < 5; n++) await enqueue(guest, { data: "hangs", priority: 9 });
    await own.until("two hang", () => hanging.length === 2);
    for (const data of ["one", "two"]) await own.call("queue::enqueue", { queue: "q", function_id: "work", data });
    await own.until("the owner's are done", async () => (await own.call("queue::stats", { queue: "q" })).done === 2);
    expect(ran).toEqual(["hangs", "hangs", "one", "two"]);
    // Each job that ends lets another one start.
    for (let n = 0; n < 5; n++) {
      await own.until("another one hangs", () => hanging.length > n);
      hanging[n]?.();
    }
    await own.until("all are done", async () => (await own.call("queue::stats", { queue: "q" })).done === 7);
  });

  it("may be for many functions, and all of them run, also those that are there only later", async () => {
    const own = await start({ q: { concurrency: 3 } });
    // One take searches 100 functions.
    const ids = Array.from({ length: 140 }, (_, n) => `f${String(n).padStart(3, "0")}`);
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", [...MAY, ...ids]) });
    const jobs = ids.flatMap((id) => [id, id]).map((function_id) => ({ queue: "q", function_id, data: 1 }));
    expect(await guest.call("queue::enqueue_many", { jobs })).toMatchObject({ error: null });
    const worker = await own.engine.connectWorker();
    let ran = 0;
    const run = () => {
      ran += 1;
      return null;
    };
    const done = async () => (await own.call("queue::stats", { queue: "q" })).done;
    for (const id of ids.slice(110).reverse()) worker.serve(id, run);
    await own.until("those that are there have run", () => ran === 60);
    await own.until("they are done", async () => (await done()) === 60);
    for (const id of ids.slice(0, 110)) worker.serve(id, run);
    await own.until("all have run", () => ran === 280);
    await own.until("all are done", async () => (await done()) === 280);
  });

  it("is what it redrives too: in its share and its groups, with data of its own or not", async () => {
    const own = await start({ q: { max_depth: 16, max_attempts: 1 } });
    const [guest, worker] = [await guestOf(own), await own.engine.connectWorker()];
    let fails = true;
    const started: unknown[] = [];
    worker.serve("work", (data) => {
      if (fails) throw new Error("no");
      started.push(data);
      return data === "hangs" ? hang() : null;
    });
    const job = { queue: "q", function_id: "work", group: "g", data: "owner's" };
    const { jobs } = await own.call<{ jobs: readonly { readonly job_id: string }[] }>("queue::enqueue_many", {
      jobs: [job, job, job],
    });
    const ids = jobs.map(({ job_id: id }) => id);
    await own.until("they are dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 3);
    expect(await guest.call("queue::redrive", { queue: "q", job_ids: ids })).toMatchObject(
      full("an eighth of max_depth"),
    );
    expect(await own.call("queue::stats", { queue: "q" })).toMatchObject({ dead: 3, waiting: 0 });
    fails = false;
    expect(
      await guest.call("queue::redrive", { queue: "q", job_ids: ids.slice(0, 1), payload: "hangs" }),
    ).toMatchObject({ result: { redriven: 1 } });
    await own.until("it runs", () => started.length === 1);
    expect(await own.call("queue::get_job", { job_id: ids[0] })).toMatchObject({
      made_by: { principal: "role guest", role: "guest" },
    });
    await own.call("queue::redrive", { queue: "q", job_ids: ids.slice(1) });
    await own.until("the owner's are done", async () => (await own.call("queue::stats", { queue: "q" })).done === 2);
  });
});

describe("what a restricted principal publishes", () => {
  it("leaves one place of a subscription to messages of trusted callers", async () => {
    const own = await start();
    const [guest, worker] = [await guestOf(own), await own.engine.connectWorker()];
    worker.serve("listen", () => hang());
    await own.bind(worker, "durable:subscriber", "listen", { topic: "t", queue_config: { concurrency: 2 } });
    for (let n = 0; n < 3; n++) await guest.call("svc::durable::publish", { topic: "t", data: "guest's" });
    const queue = "topic:t>listen";
    await own.until("one runs", async () => (await own.call("queue::stats", { queue })).active === 1);
    await own.call("svc::durable::publish", { topic: "t", data: "owner's" });
    // It has the slot that is reserved for trusted callers.
    await own.until("the owner's runs", async () => (await own.call("queue::stats", { queue })).active === 2);
    const { jobs } = await own.call<{ jobs: readonly { data: unknown; made_by: unknown }[] }>("queue::peek", {
      queue,
      state: "active",
    });
    expect(jobs.map(({ data, made_by }) => [data, made_by])).toEqual([
      ["guest's", { principal: "role guest", role: "guest" }],
      ["owner's", null],
    ]);
  });
});

describe("jobs of a role", () => {
  const letters = async (own: ModuleEngine) =>
    (await own.call<{ jobs: readonly Record<string, unknown>[] }>("queue::peek", { queue: "q", state: "dead" })).jobs;

  it("do not run after the role was removed: they are dead letters that say so, and run when a trusted caller redrives them", async () => {
    const own = await start({ q: {} });
    own.engine.kernel.roles.set([rulesWith("guest", "other")]);
    const worker = await own.engine.connectWorker();
    const [guest, other] = [await guestOf(own), await guestOf(own, "other")];
    await enqueue(guest, { data: "at once" });
    await enqueue(guest, { data: "delayed", delay_ms: 1_000 });
    await enqueue(other, { data: "other's", delay_ms: 1_000 });
    await own.call("queue::enqueue", { queue: "q", function_id: "work", data: "owner's", delay_ms: 1_000 });
    own.engine.kernel.roles.set([rulesWith("other")]);
    const ran: unknown[] = [];
    worker.serve("work", (data) => void ran.push(data));
    own.clock.advance(1_000);
    await own.until("two are dead and two done", async () => {
      const { dead, done } = await own.call("queue::stats", { queue: "q" });
      return dead === 2 && done === 2;
    });
    expect(ran.sort()).toEqual(["other's", "owner's"]);
    expect(await letters(own)).toMatchObject(
      ["delayed", "at once"].map((data) => ({
        data,
        attempts: 0,
        made_by: { principal: "role guest", role: "guest" },
        failures: [{ code: "role_removed", message: expect.stringContaining("the role guest, which made this job") }],
      })),
    );
    await own.call("queue::redrive", { queue: "q" });
    await own.until("all are done", async () => (await own.call("queue::stats", { queue: "q" })).done === 4);
    expect(ran.slice(2).sort()).toEqual(["at once", "delayed"]);
  });

  it("are logged once for a minute, with their count, when the role was removed", async () => {
    const own = await start({ q: {} });
    own.engine.kernel.roles.set([rulesWith("guest")]);
    const guest = await guestOf(own);
    for (let n = 0; n < 5; n++) await enqueue(guest, { delay_ms: 1_000 });
    own.engine.kernel.roles.set([rulesWith("other")]);
    own.clock.advance(1_000);
    await own.until("they are dead", async () => (await own.call("queue::stats", { queue: "q" })).dead === 5);
    const lines = () =>
      own.engine.logs.filter(({ message }) => message.includes("their role was removed")).map(({ fields }) => fields);
    const line = { queue: "q", role: "guest" };
    expect(lines()).toMatchObject([{ ...line, jobs: 1 }]);
    own.clock.advance(60_000);
    expect(lines()).toMatchObject([
      { ...line, jobs: 1 },
      { ...line, jobs: 4 },
    ]);
    // There were no events in the following minute.
    own.clock.advance(120_000);
    expect(lines()).toHaveLength(2);
  });

  it("run when its token was replaced by another one, and do not when it has no token any more", async () => {
    const own = await start({ q: {} });
    const rules = rulesWith("guest");
    const setTokens = (...tokens: { readonly token: string; readonly role: string }[]): void => {
      if (rules.rbac !== undefined) own.engine.kernel.roles.set([{ ...rules, rbac: { ...rules.rbac, tokens } }]);
    };
    own.engine.kernel.roles.set([rules]);
    const worker = await own.engine.connectWorker();
    const ran: unknown[] = [];
    worker.serve("work", (data) => void ran.push(data));
    const guest = await guestOf(own);
    await enqueue(guest, { data: "first", delay_ms: 1_000 });
    await enqueue(guest, { data: "second", delay_ms: 2_000 });
    setTokens({ token: "another-token-of-guest", role: "guest" });
    own.clock.advance(1_000);
    await own.until("it ran", () => ran.length === 1);
    setTokens();
    own.clock.advance(1_000);
    await own.until("it is dead", async () => (await letters(own)).length === 1);
    expect(ran).toEqual(["first"]);
  });
});

describe("jobs that a restricted principal made for a function of its own, which a trusted worker provides later", () => {
  const code = async (own: ModuleEngine) => {
    const { jobs } = await own.call<{ jobs: readonly { failures: readonly { code: string; message: string }[] }[] }>(
      "queue::peek",
      {
        queue: "q",
        state: "dead",
      },
    );
    return jobs.map(({ failures }) => failures.map(({ code, message }) => [code, message]));
  };
  const ended = (own: ModuleEngine, jobs: number) =>
    own.until(`${jobs} have ended`, async () => {
      const { dead, done } = (await own.call("queue::stats", { queue: "q" })) as { dead: number; done: number };
      return dead + done === jobs;
    });
  const TAKEN = [
    [
      "function_taken",
      expect.stringContaining(
        "payments::charge belonged to role guest when a restricted caller named it, and now belongs to another principal",
      ),
    ],
  ];
  const ENQUEUE = ["queue::enqueue", "queue::enqueue_many", "engine::queue::enqueue", "queue::redrive"];

  it("do not run: they are dead letters that say so, also over a restart, and run when a trusted caller redrives them", async () => {
    const folder = temporaryFolder();
    const before = await start({ q: {} }, folder.path);
    const guest = await before.engine.connectWorker({ access: accessOfRole("guest", ENQUEUE) });
    guest.serve("payments::charge", () => null);
    const job = { queue: "q", function_id: "payments::charge", data: "stolen", delay_ms: 1_000 };
    expect(await enqueue(guest, job)).toMatchObject({ error: null });
    expect(await guest.call("queue::enqueue_many", { jobs: [job] })).toMatchObject({ error: null });
    expect(await guest.call("payments::charge", "stolen", { action: { type: "enqueue", queue: "q" } })).toMatchObject({
      error: null,
    });
    await before.until("one ran", async () => (await before.call("queue::stats", { queue: "q" })).done === 1);
    await before.stop();

    const own = await start({ q: {} }, folder.path);
    const back = await own.engine.connectWorker({ access: accessOfRole("guest", ENQUEUE) });
    const owner = await own.engine.connectWorker();
    const ran: unknown[] = [];
    owner.serve("payments::charge", (data) => void ran.push(data));
    await own.until("it is there", () => own.engine.directory.functionById("payments::charge") !== undefined);
    expect(await back.call("payments::charge", "stolen")).toMatchObject({ error: { code: "FORBIDDEN" } });
    own.clock.advance(1_000);
    await ended(own, 3);
    expect(ran).toEqual([]);
    expect(await code(own)).toEqual([TAKEN, TAKEN]);
    expect(
      own.engine.logs.filter(({ message }) => message.includes("another principal provides their function now")),
    ).toMatchObject([{ fields: { queue: "q", provider: "role guest", jobs: 1 } }]);
    expect(await back.call("queue::redrive", { queue: "q" })).toMatchObject({ error: { code: "FORBIDDEN" } });
    await own.call("queue::redrive", { queue: "q" });
    await own.until("they ran", () => ran.length === 2);
    await own.stop();
    running = undefined;
    folder.remove();
  });

  it("do not run when the guest redrove them before", async () => {
    const own = await start({ q: { max_attempts: 1 } });
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", ENQUEUE) });
    guest.serve("payments::charge", () => {
      throw new Error("no");
    });
    await enqueue(guest, { function_id: "payments::charge", data: "stolen" });
    await ended(own, 1);
    await own.call("queue::pause", { queue: "q" });
    expect(await guest.call("queue::redrive", { queue: "q" })).toMatchObject({ result: { redriven: 1 } });
    const owner = await own.engine.connectWorker();
    const ran: unknown[] = [];
    owner.serve("payments::charge", (data) => void ran.push(data));
    await own.until(
      "the owner has it",
      () => own.engine.directory.functionById("payments::charge")?.workers[0]?.id === owner.id,
    );
    await own.call("queue::resume", { queue: "q" });
    await ended(own, 1);
    expect(ran).toEqual([]);
  });

  it("do not run when another restricted principal provides it later, and run for the maker that is back", async () => {
    const own = await start({ q: {} });
    const guest = await own.engine.connectWorker({ access: accessOfRole("guest", ENQUEUE) });
    guest.serve("shared::work", () => null);
    for (const delay_ms of [1_000, 2_000])
      await enqueue(guest, { function_id: "shared::work", data: delay_ms, delay_ms });
    guest.close();
    await guest.closed;
    const other = await own.engine.connectWorker({ access: accessOfRole("other", []) });
    const ran: unknown[] = [];
    other.serve("shared::work", (data) => void ran.push(["other", data]));
    await own.until("it is there", () => own.engine.directory.functionById("shared::work") !== undefined);
    own.clock.advance(1_000);
    await ended(own, 1);
    other.close();
    await other.closed;
    const back = await own.engine.connectWorker({ access: accessOfRole("guest", []) });
    back.serve("shared::work", (data) => void ran.push(["guest", data]));
    own.clock.advance(1_000);
    await ended(own, 2);
    expect(ran).toEqual([["guest", 2_000]]);
  });

  it("run if the role may call the function, whoever provides it, and nobody did when they were made", async () => {
    const own = await start({ q: {} });
    const guest = await guestOf(own);
    await enqueue(guest, { data: "allowed", delay_ms: 1_000 });
    const owner = await own.engine.connectWorker();
    const ran: unknown[] = [];
    owner.serve("work", (data) => void ran.push(data));
    own.clock.advance(1_000);
    await ended(own, 1);
    expect(ran).toEqual(["allowed"]);
  });
});
