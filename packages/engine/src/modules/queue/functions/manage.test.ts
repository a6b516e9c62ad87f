import { afterEach, describe, expect, it } from "vitest";
import { accessOfRole, accessTo } from "../../../testing/restricted.ts";
import { type ModuleEngine, moduleEngine } from "../testing/module-engine.ts";

let running: ModuleEngine | undefined;
afterEach(async () => {
  await running?.stop();
  running = undefined;
});

async function start(queues: Readonly<Record<string, unknown>> = {}): Promise<ModuleEngine> {
  running = await moduleEngine({ queues });
  return running;
}

/** An engine with `count` dead letters in queue q, oldest first. */
async function withLetters(
  count: number,
): Promise<ModuleEngine & { readonly ids: readonly string[]; readonly ran: unknown[]; heal(): void }> {
  const made = await start({ q: { max_attempts: 1, concurrency: 1 } });
  const worker = await made.engine.connectWorker({ name: "mailer" });
  const ran: unknown[] = [];
  let healed = false;
  worker.serve("mail", (data) => {
    if (!healed) throw new Error(`no mail for ${JSON.stringify(data)}`);
    ran.push(data);
  });
  const ids: string[] = [];
  for (let n = 1; n <= count; n++) {
    made.clock.advance(1_000);
    ids.push(
      (await made.call<{ job_id: string }>("queue::enqueue", { queue: "q", function_id: "mail", data: { n } })).job_id,
    );
    await made.until("it is dead", async () => (await made.call("queue::stats", { queue: "q" })).dead === n);
  }
  return {
    ...made,
    ids,
    ran,
    heal() {
      healed = true;
    },
  };
}

it("a dead letter of a worker that went with the job in its hands says so, and which worker it was", async () => {
  running = await moduleEngine({ queues: { q: { max_attempts: 1 } } });
  const { engine, call, until } = running;
  const worker = await engine.connectWorker({ name: "mailer" });
  worker.serve("work", () => {
    worker.close();
    return new Promise(() => {});
  });
  await call("queue::enqueue", { queue: "q", function_id: "work" });
  await until("it is dead", async () => (await call("queue::stats", { queue: "q" })).dead === 1);
  expect(await call("queue::peek", { queue: "q", state: "dead" })).toMatchObject({
    jobs: [
      {
        failures: [
          { code: "invocation_stopped", message: "Invocation stopped: the worker's connection ended (mailer)" },
        ],
      },
    ],
  });
});

describe("queue::peek", () => {
  it("turns pages by cursor, and says on the last one that it is (gap 11)", async () => {
    const { call } = await start();
    await call("queue::enqueue_many", {
      jobs: [1, 2, 3].map((data) => ({ queue: "default", function_id: "f", data })),
    });
    type Page = { jobs: { data: number; state: string }[]; cursor: string | null };
    const first = await call<Page>("queue::peek", { queue: "default", limit: 2 });
    expect(first.jobs.map(({ data, state }) => [data, state])).toEqual([
      [1, "waiting"],
      [2, "waiting"],
    ]);
    const second = await call<Page>("queue::peek", { queue: "default", limit: 2, cursor: first.cursor });
    expect([second.jobs.map(({ data }) => data), second.cursor]).toEqual([[3], null]);
    await expect(call("queue::peek", { queue: "default", cursor: "x" })).rejects.toMatchObject({
      code: "invalid_input",
    });
    await expect(call("queue::peek", { queue: "nowhere" })).rejects.toMatchObject({ code: "queue_not_found" });
  });

  it("shows of a dead letter the real error, stack, worker and trace of each attempt (gap 8)", async () => {
    const { call, ids } = await withLetters(1);
    const { jobs } = await call<{ jobs: unknown[] }>("queue::peek", { queue: "q", state: "dead" });
    const failure = {
      attempt: 1,
      code: "invocation_failed",
      message: 'no mail for {"n":1}',
      worker: expect.stringMatching(/^mailer/),
    };
    expect(jobs).toMatchObject([{ job_id: ids[0], state: "dead", attempts: 1, data: { n: 1 }, failures: [failure] }]);
    expect(await call("queue::get_job", { job_id: ids[0] })).toEqual(jobs[0]);
  });
});

describe("queue::get_job", () => {
  it("tells how a job that is not kept ended as long as its dedupe key is remembered, and job_not_found of others", async () => {
    const { call, engine, until } = await start({ default: { keep_completed: { count: 0 } } });
    const worker = await engine.connectWorker();
    worker.serve("f", () => null);
    const { job_id } = await call("queue::enqueue", { queue: "default", function_id: "f", dedupe_key: "k" });
    await until("it is done", async () => (await call("queue::stats", { queue: "default" })).done === 1);
    expect(await call("queue::get_job", { job_id })).toEqual({ job_id, queue: "default", state: "done" });
    await expect(call("queue::get_job", { job_id: "none" })).rejects.toMatchObject({ code: "job_not_found" });
  });
});

describe("a queue's management", () => {
  it("pauses, resumes, purges and cancels (gap 9) (gap 11)", async () => {
    const { call, engine, until } = await start();
    const worker = await engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("f", (data) => seen.push(data));
    await call("queue::pause", { queue: "default" });
    const ids: string[] = [];
    for (const data of [1, 2, 3])
      ids.push((await call<{ job_id: string }>("queue::enqueue", { queue: "default", function_id: "f", data })).job_id);
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ paused: true, waiting: 3 });
    await call("queue::cancel", { job_id: ids[0] });
    await expect(call("queue::cancel", { job_id: ids[0] })).rejects.toMatchObject({ code: "job_not_found" });
    expect(await call("queue::purge", { queue: "default" })).toEqual({ queue: "default", purged: 2 });
    await call("queue::enqueue", { queue: "default", function_id: "f", data: 4 });
    await call("queue::resume", { queue: "default" });
    await until("it ran", () => seen.length === 1);
    expect(seen).toEqual([4]);
    expect(await call("queue::list")).toMatchObject({
      queues: [{ queue: "default", type: "standard", concurrency: 10, cancelled: 3, topic: null }],
    });
    await expect(call("queue::pause", { queue: "nowhere" })).rejects.toMatchObject({ code: "queue_not_found" });
  });

  it("redrives some with other data, or all; an id that is no dead letter is an error, and then none is (Q-5)", async () => {
    const { call, ids, ran, heal, until } = await withLetters(3);
    heal();
    const unknown = call("queue::redrive", { queue: "q", job_ids: [ids[0], "none"] });
    await expect(unknown).rejects.toMatchObject({ code: "job_not_found", details: { job_id: "none" } });
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ dead: 3 });
    expect(await call("queue::redrive", { queue: "q", job_ids: [ids[1]], payload: { n: "mended" } })).toEqual({
      queue: "q",
      redriven: 1,
    });
    await until("it ran", () => ran.length === 1);
    expect(await call("queue::redrive", { queue: "q" })).toEqual({ queue: "q", redriven: 2 });
    await until("the others ran", () => ran.length === 3);
    expect(ran).toEqual([{ n: "mended" }, { n: 1 }, { n: 3 }]);
    await expect(call("queue::redrive", { queue: "nowhere" })).rejects.toMatchObject({ code: "queue_not_found" });
  });

  it("discards dead letters, all of the ids or none", async () => {
    const { call, ids } = await withLetters(2);
    await expect(call("queue::discard", { queue: "q", job_ids: [ids[0], "none"] })).rejects.toMatchObject({
      code: "job_not_found",
    });
    expect(await call("queue::discard", { queue: "q", job_ids: [ids[0]] })).toEqual({ queue: "q", discarded: 1 });
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ dead: 1 });
  });

  it("keeps the jobs of a queue that the config no longer names, until it does again", async () => {
    const { call, engine, until } = await start({ q: {} });
    const reload = (queues: object) =>
      engine
        .applyModules([{ name: "svc-queue", config: { adapter: { name: "in_memory" }, queue_configs: queues } }])
        .then((problems) => expect(problems).toEqual([]));
    await call("queue::enqueue", { queue: "q", function_id: "f", data: 1 });
    await reload({});
    await expect(call("queue::enqueue", { queue: "q", function_id: "f" })).rejects.toMatchObject({
      code: "queue_not_found",
    });
    expect(await call("queue::list")).toMatchObject({
      queues: [{ queue: "default" }, { queue: "q", waiting: 1, type: null }],
    });
    const worker = await engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("f", (data) => seen.push(data));
    await reload({ q: { concurrency: 1 } });
    await until("it ran", () => seen.length === 1);
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ concurrency: 1 });
  });
});

describe("management by the published ids", () => {
  it.each(["svc", "iii"])("redrives and discards by %s::queue", async (prefix) => {
    const { call, ids, heal } = await withLetters(3);
    heal();
    const [first, second] = ids;
    expect(await call(`${prefix}::queue::redrive_message`, { queue: "q", message_id: first })).toEqual({
      queue: "q",
      message_id: first,
      redriven: 1,
    });
    expect(await call(`${prefix}::queue::discard_message`, { topic: "q", message_id: second })).toEqual({
      queue: "q",
      message_id: second,
      redriven: 1,
      discarded: 1,
    });
    expect(await call(`${prefix}::queue::redrive`, { queue: "q" })).toEqual({ queue: "q", redriven: 1 });
    await expect(call(`${prefix}::queue::redrive_message`, { queue: "q", message_id: "none" })).rejects.toMatchObject({
      code: "job_not_found",
    });
    await expect(call(`${prefix}::queue::redrive`, {})).rejects.toMatchObject({
      code: "queue_not_set",
      message: "Queue name is required",
    });
    await expect(call(`${prefix}::queue::redrive_message`, { queue: "q" })).rejects.toMatchObject({
      code: "message_id_not_set",
      message: "Message ID is required",
    });
  });

  it("lists dead letters in the published shape, with the real error, stack, attempts and trace (gap 8)", async () => {
    const { call, ids, clock } = await withLetters(3);
    expect(await call("engine::queue::dlq_topics")).toEqual([
      { topic: "q", broker_type: "function_queue", message_count: 3 },
    ]);
    const letters = await call<Record<string, unknown>[]>("engine::queue::dlq_messages", {
      topic: "q",
      offset: 1,
      limit: 1,
    });
    expect(letters).toEqual([
      {
        id: ids[1],
        payload: { n: 2 },
        error: 'no mail for {"n":2}',
        failed_at: Math.floor(clock.now() / 1_000) - 1,
        retries: 1,
        size_bytes: 7,
        code: "invocation_failed",
        stacktrace: null,
        trace_id: expect.stringMatching(/^[0-9a-f]{32}$/),
        queue: "q",
        function_id: "mail",
        made_by: null,
        attempts: [expect.objectContaining({ attempt: 1, code: "invocation_failed", message: 'no mail for {"n":2}' })],
      },
    ]);
    expect(await call<unknown[]>("engine::queue::dlq_messages", { queue: "q" })).toHaveLength(3);
    expect(await call("engine::queue::topic_stats", { topic: "q" })).toMatchObject({
      depth: 0,
      consumer_count: 1,
      dlq_depth: 3,
      config: { max_retries: 1 },
    });
    expect(await call("engine::queue::list_topics")).toEqual([
      { name: "default", broker_type: "function_queue", subscriber_count: 10 },
      { name: "q", broker_type: "function_queue", subscriber_count: 1 },
    ]);
    await expect(call("engine::queue::topic_stats", {})).rejects.toMatchObject({
      code: "topic_required",
      message: "topic is required",
    });
    await expect(call("engine::queue::dlq_messages", { topic: "nowhere" })).rejects.toMatchObject({
      code: "queue_not_found",
    });
  });

  it("hides the aliases from listings, and shows what they stand for", async () => {
    const { engine } = await start();
    const shown = engine.directory.functions().filter(({ internal }) => !internal);
    const ids: readonly string[] = shown.map(({ function_id }) => function_id);
    expect(ids).toContain("svc::durable::publish");
    expect(ids.filter((id) => id.startsWith("iii::"))).toEqual([]);
  });
});

/** A trusted worker whose function fails. `ran` contains the data of its calls. */
async function ownerWhosePaymentsFail(engine: ModuleEngine["engine"]) {
  const owner = await engine.connectWorker({ name: "owner" });
  const ran: unknown[] = [];
  owner.serve("secret::pay", (data) => {
    ran.push(data);
    throw new Error("down");
  });
  return { owner, ran };
}

describe("a restricted caller that may manage queues", () => {
  it("has dead letters run again only for functions that it may call, with its own data or with theirs", async () => {
    const { engine, call, ids, heal, ran } = await withLetters(2);
    heal();
    const guest = await engine.connectWorker({ access: accessTo(['match("queue::*")', 'match("svc::queue::*")']) });
    const asks: readonly [string, Record<string, unknown>][] = [
      ["queue::redrive", { queue: "q", payload: { card: "stolen" } }],
      ["queue::redrive", { queue: "q", job_ids: [ids[0]], payload: { card: "stolen" } }],
      ["queue::redrive", { queue: "q" }],
      ["svc::queue::redrive", { queue: "q" }],
      ["svc::queue::redrive_message", { queue: "q", message_id: ids[1] }],
    ];
    for (const [id, payload] of asks) {
      const { error } = (await guest.call(id, payload)) as { error?: { code: string; message: string } };
      expect([id, error?.code, error?.message]).toEqual([id, "FORBIDDEN", expect.stringContaining("'mail'")]);
    }
    expect([await call("queue::stats", { queue: "q" }), ran]).toMatchObject([{ dead: 2 }, []]);
    const mailer = await engine.connectWorker({ access: accessTo(['match("queue::*")', "mail"]) });
    expect(await mailer.call("queue::redrive", { queue: "q", payload: { card: "new" } })).toMatchObject({
      result: { redriven: 2 },
    });
  });

  it("purges, discards, cancels, pauses and resumes only if its role names the function", async () => {
    const { engine, call, ids } = await withLetters(1);
    const guest = await engine.connectWorker({
      access: accessTo(['match("queue::*")', 'match("svc::queue::*")', "mail"]),
    });
    const asks: readonly [string, Record<string, unknown>][] = [
      ["queue::purge", { queue: "q" }],
      ["queue::discard", { queue: "q" }],
      ["svc::queue::discard_message", { queue: "q", message_id: ids[0] }],
      ["queue::cancel", { job_id: ids[0] }],
      ["queue::pause", { queue: "q" }],
      ["queue::resume", { queue: "q" }],
    ];
    for (const [id, payload] of asks)
      expect([id, await guest.call(id, payload)]).toMatchObject([id, { error: { code: "FORBIDDEN" } }]);
    expect(await call("queue::stats", { queue: "q" })).toMatchObject({ dead: 1, paused: false });
    const cleaner = await engine.connectWorker({ access: accessTo(["queue::discard"]) });
    expect(await cleaner.call("queue::discard", { queue: "q", job_ids: [ids[0]] })).toMatchObject({
      result: { discarded: 1 },
    });
  });

  it("has no dead letter of a queue's trigger run, whose function it may not call", async () => {
    const { engine, bind, call, until } = await start({ q: { max_attempts: 1 } });
    const { owner, ran } = await ownerWhosePaymentsFail(engine);
    expect((await bind(owner, "queue", "secret::pay", { queue: "q" })).error ?? null).toBeNull();
    await call("queue::enqueue", { queue: "q", data: "owner's" });
    await until("it is dead", async () => (await call("queue::stats", { queue: "q" })).dead === 1);
    const guest = await engine.connectWorker({ access: accessTo(['match("queue::*")']) });
    expect(await guest.call("secret::pay", "stolen")).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(await guest.call("queue::enqueue", { queue: "q", data: "stolen" })).toMatchObject({
      error: { code: "FORBIDDEN" },
    });
    const answer = await guest.call("queue::redrive", { queue: "q", payload: "stolen" });
    expect([answer.error, ran]).toMatchObject([{ code: "FORBIDDEN" }, ["owner's"]]);
  });

  it("has no dead letter of a subscription run, whose function it may not call", async () => {
    const { engine, bind, call, clock, until } = await start();
    const { owner, ran } = await ownerWhosePaymentsFail(engine);
    expect(
      (await bind(owner, "durable:subscriber", "secret::pay", { topic: "orders", queue_config: { maxRetries: 0 } }))
        .error ?? null,
    ).toBeNull();
    await call("svc::durable::publish", { topic: "orders", data: "owner's" });
    const queue = "topic:orders>secret::pay";
    await until("it is dead", async () => (await call("queue::stats", { queue })).dead === 1);
    clock.advance(1);
    const guest = await engine.connectWorker({ access: accessTo(["queue::redrive"]) });
    expect(await guest.call("svc::durable::publish", { topic: "orders", data: "stolen" })).toMatchObject({
      error: { code: "FORBIDDEN" },
    });
    const answer = await guest.call("queue::redrive", { queue, payload: "stolen" });
    expect([answer.error, ran]).toMatchObject([{ code: "FORBIDDEN" }, ["owner's"]]);
  });
});

describe("a job of a restricted caller", () => {
  it("is not put on the queue of a subscription, whose only place it would hold", async () => {
    const { engine, bind, call, until } = await start();
    const owner = await engine.connectWorker({ name: "owner" });
    const seen: unknown[] = [];
    owner.serve("mail", (data) => void seen.push(data));
    expect(
      (await bind(owner, "durable:subscriber", "mail", { topic: "orders", queue_config: { type: "fifo" } })).error ??
        null,
    ).toBeNull();
    const guest = await engine.connectWorker({ access: accessOfRole("guest", ["queue::enqueue"]) });
    guest.serve("guest::hang", () => new Promise(() => {}));
    guest.say({ type: "ping" });
    await guest.next((frame) => frame.type === "pong");
    const answer = await guest.call("queue::enqueue", {
      queue: "topic:orders>mail",
      function_id: "guest::hang",
      data: 1,
    });
    expect(answer.error).toMatchObject({ code: "FORBIDDEN" });
    await call("svc::durable::publish", { topic: "orders", data: "order" });
    await until("the message is delivered", () => seen.includes("order"));
  });

  it("calls no function of the engine, which would run with the engine's rights", async () => {
    const { engine, call } = await start({ q: {} });
    const owner = await engine.connectWorker({ name: "owner" });
    const ran: unknown[] = [];
    owner.serve("secret::pay", (data) => ran.push(data));
    owner.serve("open", (data) => ran.push(data));
    const guest = await engine.connectWorker({ access: accessTo(['match("*")', "engine::register_trigger"]) });
    const job = { queue: "q", function_id: "secret::pay", data: "stolen" };
    for (const id of [
      "engine::queue::enqueue",
      "queue::redrive",
      "engine::register_trigger",
      "engine::traces::list",
      "state::set",
    ]) {
      expect([
        id,
        await guest.call("engine::queue::enqueue", { queue: "q", function_id: id, data: job }),
      ]).toMatchObject([id, { error: { code: "FORBIDDEN" } }]);
      expect([id, await guest.call("queue::enqueue", { queue: "q", function_id: id, data: job })]).toMatchObject([
        id,
        { error: { code: "FORBIDDEN" } },
      ]);
    }
    expect(await guest.call("queue::enqueue", { queue: "q", function_id: "open", data: "own" })).toMatchObject({
      result: { job_id: expect.any(String) },
    });
    await expect.poll(async () => (await call<{ done: number }>("queue::stats", { queue: "q" })).done).toBe(1);
    expect(ran).toEqual(["own"]);
  });
});
