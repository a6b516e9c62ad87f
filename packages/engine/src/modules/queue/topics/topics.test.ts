import { join } from "node:path";
import { Payload } from "@svc-runtime/protocol";
import { afterEach, describe, expect, it } from "vitest";
import { restrictedPrincipal, TRUSTED } from "../../../access/principal.ts";
import { openDatabase } from "../../../store/driver.ts";
import type { InMemoryWorker } from "../../../testing/in-memory-engine.ts";
import { accessOfRole } from "../../../testing/index.ts";
import { manualClock } from "../../../testing/manual-clock.ts";
import { defaultQueueSettings } from "../queue-settings.ts";
import { type ModuleEngine, moduleEngine } from "../testing/module-engine.ts";
import { queueEngine, temporaryFolder } from "../testing/queue-engine.ts";
import { FORGET_AFTER_MS, Topics } from "./topics.ts";

const HOUR_MS = 3_600_000;

const engines: ModuleEngine[] = [];
afterEach(async () => {
  for (const engine of engines.splice(0)) await engine.stop();
});

async function start(options: Parameters<typeof moduleEngine>[0] = {}): Promise<ModuleEngine> {
  const made = await moduleEngine(options);
  engines.push(made);
  return made;
}

/** A worker that records the inputs of one of its functions. */
async function subscriber(
  { engine, bind }: ModuleEngine,
  functionId: string,
  topic: string,
  config: object = {},
): Promise<{ readonly worker: InMemoryWorker; readonly seen: unknown[] }> {
  const worker = await engine.connectWorker({ name: functionId });
  const seen: unknown[] = [];
  worker.serve(functionId, (data) => void seen.push(data));
  const answer = await bind(worker, "durable:subscriber", functionId, { topic, ...config });
  expect(answer.error ?? null).toBeNull();
  return { worker, seen };
}

const numbers = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, index) => from + index);

describe("a durable topic", () => {
  it("hands every message to each subscription, as it was published", async () => {
    const made = await start();
    const [a, b] = [await subscriber(made, "a", "orders"), await subscriber(made, "b", "orders")];
    expect(await made.call("svc::durable::publish", { topic: "orders", data: { n: 1 } })).toEqual({
      message_id: expect.any(String),
      subscriptions: 2,
    });
    expect(await made.call("iii::durable::publish", { topic: "orders", data: "two" })).toBeNull();
    await made.until("both have both", () => a.seen.length === 2 && b.seen.length === 2);
    expect([a.seen, b.seen]).toEqual([
      [{ n: 1 }, "two"],
      [{ n: 1 }, "two"],
    ]);
    await expect(made.call("svc::durable::publish", { data: 1 })).rejects.toMatchObject({
      code: "topic_not_set",
      message: "Topic is not set",
    });
  });

  it("keeps what is published before anybody subscribed for the first who does, in order (gap 1)", async () => {
    const made = await start();
    for (const data of numbers(1, 30))
      expect(await made.call("svc::durable::publish", { topic: "early", data })).toMatchObject({ subscriptions: 0 });
    expect(await made.call("engine::queue::topic_stats", { topic: "early" })).toMatchObject({
      depth: 30,
      consumer_count: 0,
      dlq_depth: 0,
    });
    expect(await made.call("engine::queue::list_topics")).toContainEqual({
      name: "early",
      broker_type: "builtin",
      subscriber_count: 0,
    });
    const first = await subscriber(made, "first", "early");
    await made.call("svc::durable::publish", { topic: "early", data: 31 });
    const second = await subscriber(made, "second", "early");
    await made.call("svc::durable::publish", { topic: "early", data: 32 });
    await made.until("all came", () => first.seen.length === 32 && second.seen.length === 1);
    expect([first.seen, second.seen]).toEqual([numbers(1, 32), [32]]);
  });

  it("keeps what is published while a subscriber is away for 10 s, in order (gap 1)", async () => {
    const made = await start();
    const before = await subscriber(made, "mail", "orders");
    const other = await subscriber(made, "stock", "orders");
    await made.call("svc::durable::publish", { topic: "orders", data: 0 });
    await made.until("it is there", () => before.seen.length === 1);
    before.worker.close();
    await made.until("it is away", () => made.engine.directory.functionById("mail") === undefined);
    for (const data of numbers(1, 50)) {
      await made.call("svc::durable::publish", { topic: "orders", data });
      made.clock.advance(200);
    }
    await made.until("the other one has them", () => other.seen.length === 51);
    const after = await subscriber(made, "mail", "orders");
    await made.until("all came", () => after.seen.length === 50);
    expect(after.seen).toEqual(numbers(1, 50));
  });

  it("knows its subscriptions after a restart, before anybody is back (gap 1) (gap 3)", async () => {
    const folder = temporaryFolder();
    try {
      const clock = manualClock();
      const first = await moduleEngine({ dataDir: folder.path, clock });
      await subscriber(first, "mail", "orders");
      await first.stop();
      const second = await moduleEngine({ dataDir: folder.path, clock });
      for (const data of numbers(1, 20))
        expect(await second.call("svc::durable::publish", { topic: "orders", data })).toMatchObject({
          subscriptions: 1,
        });
      await second.stop();
      const third = await start({ dataDir: folder.path, clock });
      const mail = await subscriber(third, "mail", "orders");
      await third.until("all came", () => mail.seen.length === 20);
      expect(mail.seen).toEqual(numbers(1, 20));
    } finally {
      for (const engine of engines.splice(0)) await engine.stop();
      folder.remove();
    }
  });

  it("fails when the message cannot be stored, for all subscriptions or none (gap 2)", async () => {
    const made = await start();
    const { worker } = await subscriber(made, "mail", "orders");
    await subscriber(made, "stock", "orders");
    worker.close();
    await made.until("it is away", () => made.engine.directory.functionById("mail") === undefined);
    await expect(
      made.call("svc::durable::publish", { topic: "orders", data: "x".repeat(9 * 1024 * 1024) }),
    ).rejects.toMatchObject({
      code: "payload_too_large",
    });
    await expect(
      made.call("svc::durable::publish", { topic: "nobody", data: "x".repeat(9 * 1024 * 1024) }),
    ).rejects.toMatchObject({
      code: "payload_too_large",
    });
    expect(await made.call("engine::queue::topic_stats", { topic: "orders" })).toMatchObject({ depth: 0 });
  });

  it("forgets a subscription that is taken back, and what waits for it", async () => {
    const made = await start();
    const { worker } = await subscriber(made, "mail", "orders");
    await made.call("queue::pause", { queue: "topic:orders>mail" });
    await made.call("svc::durable::publish", { topic: "orders", data: 1 });
    worker.say({ type: "unregistertrigger", id: "binding-1" });
    await made.until(
      "nobody subscribes",
      async () => (await made.call("svc::durable::publish", { topic: "orders", data: 2 })).subscriptions === 0,
    );
    await made.until(
      "nothing waits for it",
      async () => !JSON.stringify(await made.call("queue::list")).includes("topic:orders>mail"),
    );
  });

  it("forgets a subscription that no trigger asks for during a week, and not before", async () => {
    const made = await start();
    const { worker } = await subscriber(made, "mail", "orders");
    worker.close();
    await made.until("it is away", () => made.engine.directory.functionById("mail") === undefined);
    const hours = async (count: number): Promise<void> => {
      for (let hour = 0; hour < count; hour++) {
        made.clock.advance(HOUR_MS);
        await new Promise((resolve) => setImmediate(resolve));
      }
    };
    await hours(FORGET_AFTER_MS / HOUR_MS - 1);
    expect(await made.call("svc::durable::publish", { topic: "orders", data: 1 })).toMatchObject({ subscriptions: 1 });
    await hours(3);
    await made.until("it is forgotten", () =>
      made.engine.logs.some(({ message }) => message.startsWith("subscription without a trigger for a week deleted")),
    );
    expect(await made.call("svc::durable::publish", { topic: "orders", data: 2 })).toMatchObject({ subscriptions: 0 });
  });

  it("forgets neither a subscription nor a message when the clock is a year ahead for a while", async () => {
    const made = await start();
    const { worker } = await subscriber(made, "mail", "orders");
    worker.close();
    await made.until("it is away", () => made.engine.directory.functionById("mail") === undefined);
    await made.call("svc::durable::publish", { topic: "orders", data: 1 });
    await made.call("svc::durable::publish", { topic: "early", data: 2 });
    made.clock.jumpTo(made.clock.now() + 365 * 24 * HOUR_MS);
    made.clock.advance(HOUR_MS);
    await made.call("svc::durable::publish", { topic: "early", data: 3 });
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    made.clock.jumpTo(made.clock.now() - 365 * 24 * HOUR_MS);
    const [orders, early] = [await subscriber(made, "mail", "orders"), await subscriber(made, "first", "early")];
    await made.until("all came", () => orders.seen.length === 1 && early.seen.length === 2);
    expect([orders.seen, early.seen]).toEqual([[1], [2, 3]]);
  });

  it("finds the dead letters of a topic that has the name of a queue, by the member that says topic", async () => {
    const made = await start({ queues: { orders: { max_attempts: 1 } } });
    const worker = await made.engine.connectWorker();
    worker.serve("fails", () => {
      throw new Error("no");
    });
    await made.bind(worker, "durable:subscriber", "fails", { topic: "orders", queue_config: { maxRetries: 0 } });
    await made.call("svc::durable::publish", { topic: "orders", data: "message" });
    await made.call("queue::enqueue", { queue: "orders", function_id: "fails", data: "job" });
    await made.until(
      "both are dead",
      async () => (await made.call<unknown[]>("engine::queue::dlq_topics")).length === 2,
    );
    const payloads = async (named: object) =>
      (await made.call<{ payload: unknown }[]>("engine::queue::dlq_messages", named)).map(({ payload }) => payload);
    expect([await payloads({ topic: "orders" }), await payloads({ queue: "orders" })]).toEqual([["message"], ["job"]]);
    expect(await made.call("svc::queue::redrive", { topic: "orders" })).toEqual({ queue: "orders", redriven: 1 });
  });
});

describe("a durable:subscriber trigger", () => {
  it("acknowledges a message without running for a condition that answers false, and asks it each time", async () => {
    const made = await start();
    const worker = await made.engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("big", (data) => (data as { n: number }).n > 1);
    worker.serve("mail", (data) => void seen.push(data));
    await made.bind(worker, "durable:subscriber", "mail", { topic: "orders", condition_function_id: "big" });
    for (const n of [1, 2]) await made.call("svc::durable::publish", { topic: "orders", data: { n } });
    await made.until(
      "both are done",
      async () => (await made.call("queue::stats", { queue: "topic:orders>mail" })).done === 2,
    );
    expect(seen).toEqual([{ n: 2 }]);
  });

  it("honours every key of queue_config (gap 6)", async () => {
    const made = await start();
    const worker = await made.engine.connectWorker();
    const attempts: unknown[] = [];
    const held: (() => void)[] = [];
    worker.serve("mail", (data, frame) => {
      attempts.push([data, (frame.job as { attempt: number }).attempt]);
      if (data === "hang") return new Promise<void>((resolve) => held.push(resolve));
      throw new Error("no");
    });
    const queue_config = {
      type: "fifo",
      maxRetries: 1,
      concurrency: 5,
      visibilityTimeout: 20,
      delaySeconds: 2,
      backoffType: "fixed",
      backoffDelayMs: 10_000,
    };
    await made.bind(worker, "durable:subscriber", "mail", { topic: "t", queue_config });
    const stats = () => made.call("queue::stats", { queue: "topic:t>mail" });
    await made.call("svc::durable::publish", { topic: "t", data: "hang" });
    await made.call("svc::durable::publish", { topic: "t", data: "next" });
    expect(await stats()).toMatchObject({ delayed: 1, waiting: 1 });
    made.clock.advance(2_000);
    await made.until("the first one runs, alone", () => attempts.length === 1);
    // Timers have steps of 50 ms.
    made.clock.advance(20_050);
    await made.until("it is to be tried again", async () => (await stats()).delayed === 1);
    expect(attempts).toHaveLength(1);
    made.clock.advance(11_000);
    await made.until("it runs again", () => attempts.length === 2);
    made.clock.advance(20_050);
    await made.until(
      "it is dead, and the next one is tried",
      async () => (await stats()).dead === 1 && attempts.length === 3,
    );
    expect(attempts).toEqual([
      ["hang", 1],
      ["hang", 2],
      ["next", 1],
    ]);
    for (const end of held) end();
  });

  it.each([
    ["a key that is none", { topic: "t", queue_config: { retries: 3 } }],
    ["a type that is none", { topic: "t", queue_config: { type: "lifo" } }],
    ["a back-off that is none", { topic: "t", queue_config: { backoffType: "random" } }],
    ["no topic", {}],
    ["an empty topic", { topic: "" }],
  ])("is refused with %s (gap 6)", async (_what, config) => {
    const made = await start();
    const worker = await made.engine.connectWorker();
    worker.serve("mail", () => null);
    expect(await made.bind(worker, "durable:subscriber", "mail", config)).toMatchObject({
      error: { code: "trigger_registration_failed" },
    });
  });
});

describe("a store that fails", () => {
  it("fails the publisher, who is given a message id once it is stored (gap 2)", async () => {
    const folder = temporaryFolder();
    const made = await start({ dataDir: folder.path });
    const mail = await subscriber(made, "mail", "orders");
    // A database trigger simulates a full disk.
    const database = openDatabase(join(folder.path, "queue.db"));
    // The store may be writing.
    database.exec("PRAGMA busy_timeout=20000");
    database.exec("CREATE TRIGGER full BEFORE INSERT ON bodies BEGIN SELECT RAISE(ABORT, 'no room'); END");
    database.exec("CREATE TRIGGER full2 BEFORE INSERT ON backlog BEGIN SELECT RAISE(ABORT, 'no room'); END");
    for (const topic of ["orders", "nobody"]) {
      await expect(made.call("svc::durable::publish", { topic, data: 1 })).rejects.toMatchObject({
        code: "storage_failed",
      });
      await expect(made.call("iii::durable::publish", { topic, data: 1 })).rejects.toMatchObject({
        code: "storage_failed",
      });
    }
    database.exec("DROP TRIGGER full");
    database.exec("DROP TRIGGER full2");
    database.close();
    const published = await made.call<{ message_id: string }>("svc::durable::publish", { topic: "orders", data: 2 });
    expect(published).toEqual({ message_id: expect.stringMatching(/^[0-9a-f-]{36}$/), subscriptions: 1 });
    await made.until("it came", () => mail.seen.length === 1);
    expect(mail.seen).toEqual([2]);
    await made.stop();
    engines.length = 0;
    folder.remove();
  });
});

describe("the subscription that a trusted worker took over", () => {
  const config = { topic: "orders", queue_config: { maxRetries: 0 } };
  const queue = "topic:orders>mail";
  const access = accessOfRole("guest", ["mail", "svc::durable::publish"]);

  /**
   * A restricted connection that subscribed `mail` first, with a condition unless it is undefined. Then the owner of
   * `mail` subscribed it.
   */
  async function takenOver(condition: string | undefined) {
    const made = await start();
    const { engine, bind, until } = made;
    const owner = await engine.connectWorker({ name: "owner" });
    const seen: unknown[] = [];
    owner.serve("mail", (data) => void seen.push(data));
    await until("mail is there", () => engine.directory.functionById("mail") !== undefined);
    const guest = await engine.connectWorker({ access });
    const asked: unknown[] = [];
    guest.serve("guest::condition", (data) => {
      asked.push(data);
      throw new Error("no");
    });
    await until("the condition is there", () => engine.directory.functionById("guest::condition") !== undefined);
    const guestConfig = condition === undefined ? config : { ...config, condition_function_id: condition };
    expect((await bind(guest, "durable:subscriber", "mail", guestConfig)).error ?? null).toBeNull();
    owner.say({
      type: "registertrigger",
      id: "owners",
      trigger_type: "durable:subscriber",
      function_id: "mail",
      config,
    });
    await owner.next((frame) => frame.type === "triggerregistrationresult" && frame.id === "owners");
    const publish = async (...messages: readonly number[]): Promise<void> => {
      for (const data of messages) await made.call("svc::durable::publish", { topic: "orders", data });
    };
    const ended = async (): Promise<number> => {
      const { dead, done } = await made.call<{ dead: number; done: number }>("queue::stats", { queue });
      return dead + done;
    };
    const statuses = () =>
      engine.directory
        .triggers()
        .filter(({ function_id: id }) => id === "mail")
        .map(({ status, reason }) => [status, reason ?? null]);
    return { ...made, owner, guest, seen, asked, publish, ended, statuses };
  }

  it("has no messages decided on by the condition of the restricted connection, which is shown", async () => {
    const { seen, asked, publish, ended, statuses, until, call } = await takenOver("guest::condition");
    await publish(1, 2, 3, 4);
    await until("all ended", async () => (await ended()) === 4);
    expect([seen, asked, (await call<{ dead: number }>("queue::stats", { queue })).dead]).toEqual([
      [1, 2, 3, 4],
      [],
      0,
    ]);
    expect(statuses()).toEqual([
      [
        "error",
        "the subscription of mail to the topic orders belongs to a trusted worker; subscribe a function of your own",
      ],
      ["active", null],
    ]);
  });

  it("is the restricted connection's again when the worker takes its trigger back, and waits for the worker when that is away", async () => {
    const { engine, clock, owner, asked, publish, ended, statuses, until } = await takenOver("guest::condition");
    owner.say({ type: "unregistertrigger", id: "owners" });
    await until("it is taken back", () => statuses().length === 1);
    expect(statuses()).toEqual([["active", null]]);
    await publish(1);
    await until("it ended", async () => (await ended()) === 1);
    expect(asked).toEqual([1]);
    owner.say({
      type: "registertrigger",
      id: "owners",
      trigger_type: "durable:subscriber",
      function_id: "mail",
      config,
    });
    await until("it is taken again", () => statuses()[0]?.[0] === "error");
    owner.close();
    await until("it is away", () => engine.directory.functionById("mail") === undefined);
    clock.advance(60_000);
    await until("its trigger lapsed", () => statuses().length === 1);
    const other = await engine.connectWorker({ name: "owner" });
    const seen: unknown[] = [];
    other.serve("mail", (data) => void seen.push(data));
    await until("mail is there", () => engine.directory.functionById("mail") !== undefined);
    await publish(2);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([seen, asked]).toEqual([[], [1]]);
    other.say({
      type: "registertrigger",
      id: "owners",
      trigger_type: "durable:subscriber",
      function_id: "mail",
      config,
    });
    await until("it came", () => seen.length === 1);
    expect([seen, asked]).toEqual([[2], [1]]);
  });

  it.each([
    ["one trigger that both asked for", undefined],
    ["triggers of their own", "guest::condition"],
  ])("is not ended by the restricted connection that leaves, with %s", async (_, condition) => {
    const { engine, clock, owner, guest, publish, until, call } = await takenOver(condition);
    owner.close();
    await until("it is away", () => engine.directory.functionById("mail") === undefined);
    clock.advance(60_000);
    await publish(1);
    guest.close();
    await until("no trigger is left", () => engine.directory.triggers().every(({ function_id: id }) => id !== "mail"));
    expect(await call("engine::queue::topic_stats", { topic: "orders" })).toMatchObject({ depth: 1 });
    expect(await call("svc::durable::publish", { topic: "orders", data: 2 })).toMatchObject({ subscriptions: 1 });
  });
});

describe("the subscription of a restricted connection", () => {
  const guest = restrictedPrincipal("role guest");
  const away = { isAway: () => true, functionIds: [], run: async () => undefined };

  it("that is full has messages dropped, and none refused to who publishes; a trusted worker's has them refused", async () => {
    const queues = await queueEngine();
    const { core, engine } = queues;
    const base = { ...defaultQueueSettings, limits: { ...defaultQueueSettings.limits, maxDepth: 2 } };
    const topics = new Topics({ core, log: engine.kernel.log, base });
    topics.subscribe("t", "guest::fn", {}, away, guest);
    const publish = () =>
      topics.publish("t", Payload.fromValue(1), { traceparent: undefined, baggage: undefined }, undefined);
    const answers: number[] = [];
    for (let n = 0; n < 4; n++) answers.push((await publish()).subscriptions);
    expect(answers).toEqual([1, 1, 0, 0]);
    expect(engine.logs.filter(({ message }) => message.includes("is full"))).toMatchObject([
      { fields: { topic: "t", principal: "role guest" } },
    ]);
    topics.subscribe("t", "owner::fn", {}, away, TRUSTED);
    for (let n = 0; n < 2; n++) await publish();
    await expect(publish()).rejects.toMatchObject({ code: "queue_full" });
    topics.stop();
    await queues.stop();
  });

  it("cannot be one of a trusted worker or of another principal: it would change and end it", async () => {
    const queues = await queueEngine();
    const { core, engine } = queues;
    const topics = new Topics({ core, log: engine.kernel.log, base: defaultQueueSettings });
    const publish = () =>
      topics.publish("t", Payload.fromValue(1), { traceparent: undefined, baggage: undefined }, undefined);
    const leave = topics.subscribe("t", "owner::fn", { maxRetries: 5 }, away, TRUSTED);
    leave();
    await publish();
    expect(() => topics.subscribe("t", "owner::fn", { maxRetries: 0 }, away, guest)).toThrow(
      "the subscription of owner::fn to the topic t belongs to a trusted worker; subscribe a function of your own",
    );
    topics.unsubscribe("t", "owner::fn", guest);
    const [queue] = topics.queuesOf("t");
    expect(await core.purge(String(queue))).toBe(1);
    expect(core.settingsOf(String(queue))).toMatchObject({ maxAttempts: 6 });
    topics.subscribe("t", "guest::fn", {}, away, guest);
    expect(() => topics.subscribe("t", "guest::fn", {}, away, restrictedPrincipal("role other"))).toThrow(
      "belongs to another principal",
    );
    // A trusted worker becomes the owner, so the other can no longer end it.
    topics.subscribe("t", "guest::fn", {}, away, TRUSTED);
    topics.unsubscribe("t", "guest::fn", guest);
    expect(topics.queuesOf("t")).toHaveLength(2);
    topics.stop();
    await queues.stop();
  });

  it("is one of an eighth of all subscriptions", async () => {
    const queues = await queueEngine();
    const { core, engine } = queues;
    const topics = new Topics({ core, log: engine.kernel.log, base: defaultQueueSettings });
    for (let n = 0; n < 1_250; n++) topics.subscribe(`t${n}`, "guest::fn", {}, away, guest);
    expect(() => topics.subscribe("more", "guest::fn", {}, away, guest)).toThrow(
      "all connections of role guest together have 1250 subscriptions to topics of 1250",
    );
    topics.subscribe("more", "owner::fn", {}, away, TRUSTED);
    topics.stop();
    await queues.stop();
  });
});
