import { afterEach, describe, expect, it } from "vitest";
import { accessTo } from "../../../testing/index.ts";
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

describe("a queue trigger", () => {
  it("runs the jobs that name no function, and leaves the others alone", async () => {
    const { engine, bind, call, until } = await start();
    const worker = await engine.connectWorker();
    const seen: unknown[] = [];
    worker.serve("any", (data, frame) => seen.push([data, (frame.job as { attempt: number }).attempt]));
    worker.serve("named", () => null);
    await call("queue::enqueue", { queue: "default", data: "waits" });
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ waiting: 1 });
    await bind(worker, "queue", "any", { queue: "default" });
    await call("queue::enqueue", { queue: "default", function_id: "named", data: "other" });
    await until("both are done", async () => (await call("queue::stats", { queue: "default" })).done === 2);
    expect(seen).toEqual([["waits", 1]]);
  });

  it("shares the jobs with others of the queue in turns; a condition that answers false leaves a job to the next one", async () => {
    const { engine, bind, call, until } = await start({ q: { concurrency: 1 } });
    const worker = await engine.connectWorker();
    const seen: string[] = [];
    for (const id of ["a", "b"]) worker.serve(id, (data) => void seen.push(`${id}${data}`));
    worker.serve("even", (data) => Number(data) % 2 === 0);
    await bind(worker, "queue", "a", { queue: "q", condition_function_id: "even" });
    await bind(worker, "queue", "b", { queue: "q" });
    await call("queue::enqueue_many", { jobs: [1, 3, 2, 4].map((data) => ({ queue: "q", data })) });
    await until("all ran", () => seen.length === 4);
    expect(seen.slice(0, 2)).toEqual(["b1", "b3"]);
    expect(
      seen
        .slice(2)
        .map((ran) => ran[0])
        .sort(),
    ).toEqual(["a", "b"]);
  });

  it.each(["condition", "function"])("cancels the call of its %s when the job is cancelled", async (cancelled) => {
    const { engine, bind, call } = await start();
    const worker = await engine.connectWorker();
    if (cancelled === "condition") worker.say({ type: "registerfunction", id: "may" });
    else worker.serve("may", () => true);
    worker.say({ type: "registerfunction", id: "work" });
    await bind(worker, "queue", "work", { queue: "default", condition_function_id: "may" });
    const { job_id } = (await call("queue::enqueue", { queue: "default", data: 1 })) as { readonly job_id: string };
    const pending = cancelled === "condition" ? "may" : "work";
    const { invocation_id } = await worker.next(
      (frame) => frame.type === "invokefunction" && frame.function_id === pending,
    );
    await call("queue::cancel", { job_id });
    expect(await worker.next((frame) => frame.type === "cancelinvocation")).toMatchObject({
      invocation_id,
      reason: "the job was cancelled",
    });
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ active: 0, waiting: 0, cancelled: 1 });
    expect(worker.received.filter((text) => text.includes("invokefunction"))).toEqual([]);
  });

  it("has the job done without running when every condition answers false", async () => {
    const { engine, bind, call, until } = await start();
    const worker = await engine.connectWorker();
    let ran = 0;
    worker.serve("never", () => false);
    worker.serve("work", () => void ran++);
    await bind(worker, "queue", "work", { queue: "default", condition_function_id: "never" });
    await call("queue::enqueue", { queue: "default", data: 1 });
    await until("it is done", async () => (await call("queue::stats", { queue: "default" })).done === 1);
    expect(ran).toBe(0);
  });

  it("holds the jobs while its worker is away, and uses none of their attempts (gap 7)", async () => {
    const { engine, bind, call, clock, until } = await start();
    const first = await engine.connectWorker();
    first.serve("work", () => null);
    await bind(first, "queue", "work", { queue: "default" });
    first.close();
    await until("it is away", () => engine.directory.functionById("work") === undefined);
    await call("queue::enqueue", { queue: "default", data: 1 });
    clock.advance(30_000);
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ dead: 0, done: 0 });
    const second = await engine.connectWorker();
    const attempts: unknown[] = [];
    second.serve("work", (_, frame) => attempts.push((frame.job as { attempt: number }).attempt));
    await bind(second, "queue", "work", { queue: "default" });
    await until("it ran", () => attempts.length === 1);
    expect(attempts).toEqual([1]);
  });

  it("is refused for a queue that is not declared, and shown in error while a new config has it no more", async () => {
    const { engine, bind, until } = await start({ q: {} });
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    expect(await bind(worker, "queue", "work", { queue: "nowhere" })).toMatchObject({
      error: { message: expect.stringContaining("Queue 'nowhere' not found") },
    });
    await bind(worker, "queue", "work", { queue: "q" });
    const status = () =>
      engine.directory.triggers().find(({ config }) => (config as { queue: string }).queue === "q")?.status;
    const reload = (queues: object) =>
      engine.applyModules([{ name: "svc-queue", config: { adapter: { name: "in_memory" }, queue_configs: queues } }]);
    expect(status()).toBe("active");
    await reload({});
    await until("it is in error", () => status() === "error");
    await reload({ q: {} });
    await until("it is active", () => status() === "active");
  });
});

describe("a config", () => {
  it.each([
    [
      "queue",
      { queue: "default", condition_function: "may" },
      "unknown member `condition_function`; did you mean condition_function_id?",
    ],
    [
      "durable:subscriber",
      { topic: "orders.*" },
      "`topic`: must be the name of one topic: a durable subscription supports no patterns",
    ],
  ])("of type %s is refused when it fits nothing: %j", async (type, config, message) => {
    const { engine, bind } = await start();
    const worker = await engine.connectWorker();
    worker.serve("work", () => null);
    expect(await bind(worker, type, "work", config)).toMatchObject({
      error: { message: expect.stringContaining(message) },
    });
  });
});

describe("a restricted connection", () => {
  it("may bind a function to a queue only where it may remove jobs, and to a topic only where it may see what comes there", async () => {
    const { engine, bind } = await start();
    const guest = await engine.connectWorker({ access: accessTo([]) });
    guest.serve("guest::fn", () => null);
    const refusedFor = (id: string) => ({ error: { message: expect.stringContaining(id) } });
    expect(await bind(guest, "durable:subscriber", "guest::fn", { topic: "t" })).toMatchObject(
      refusedFor("queue::peek"),
    );
    const peeker = await engine.connectWorker({ access: accessTo(["queue::peek"]) });
    peeker.serve("peeker::fn", () => null);
    expect(await bind(peeker, "queue", "peeker::fn", { queue: "default" })).toMatchObject(refusedFor("queue::purge"));
    const remover = await engine.connectWorker({ access: accessTo(["queue::purge"]) });
    remover.serve("remover::fn", () => null);
    expect((await bind(remover, "queue", "remover::fn", { queue: "default" })).error ?? null).toBeNull();
    const publisher = await engine.connectWorker({ access: accessTo(["svc::durable::publish"]) });
    publisher.serve("publisher::fn", () => null);
    expect((await bind(publisher, "durable:subscriber", "publisher::fn", { topic: "t" })).error ?? null).toBeNull();
  });

  it("may have a job made only of a function that it may call, which the job names", async () => {
    const { engine, call } = await start();
    const guest = await engine.connectWorker({
      access: accessTo(["queue::enqueue", "queue::enqueue_many", "engine::queue::enqueue", "open"]),
    });
    // The functions of the queue's triggers would run the job.
    const unnamed = { error: { code: "FORBIDDEN", message: expect.stringContaining("must name its function") } };
    expect(await guest.call("queue::enqueue", { queue: "default", data: 1 })).toMatchObject(unnamed);
    expect(await guest.call("queue::enqueue_many", { jobs: [{ queue: "default", data: 1 }] })).toMatchObject(unnamed);
    const job = { queue: "default", function_id: "secret", data: 1 };
    expect(await guest.call("queue::enqueue", job)).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect(await guest.call("engine::queue::enqueue", job)).toMatchObject({ error: { code: "FORBIDDEN" } });
    expect((await guest.call("queue::enqueue", { ...job, function_id: "open" })).error ?? null).toBeNull();
    expect(await call("queue::stats", { queue: "default" })).toMatchObject({ waiting: 1 });
  });
});

describe("the module", () => {
  it("is there once, since two would take each other's jobs for those of a former run", async () => {
    const { engine } = await start();
    const once = { name: "svc-queue", config: { adapter: { name: "in_memory" }, queue_configs: {} } };
    expect(await engine.applyModules([once, { ...once, instance: "svc-queue#2" }])).toEqual([
      expect.stringContaining("list it once"),
    ]);
  });
});
