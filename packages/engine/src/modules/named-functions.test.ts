// Functions that a trusted party names and that the engine calls later: restricted connections may not take their ids meanwhile.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import {
  accessTo,
  bindTrigger,
  type InMemoryEngine,
  type InMemoryWorker,
  inMemoryEngine,
  manualClock,
} from "../testing/index.ts";
import { loadModules } from "./index.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

const NAMED = expect.stringContaining(
  "is called by a job or an alert of a trusted worker, or by a setting: choose an id below a prefix of this connection",
);
const QUEUE = { "svc-queue": { adapter: { name: "in_memory" } } };

async function start(
  config: Readonly<Record<string, unknown>>,
  options: Parameters<typeof inMemoryEngine>[0] = {},
): Promise<InMemoryEngine> {
  const engine = await inMemoryEngine({
    modules: await loadModules(),
    config,
    ...options,
  });
  undo.push(() => engine.stop());
  return engine;
}

/** Resolves with the message of the refusal; undefined when the worker may register the function. */
async function refusal(worker: InMemoryWorker, id: string): Promise<unknown> {
  worker.say({ type: "registerfunction", id });
  worker.say({ type: "ping" });
  const frame = await worker.next(({ type }) => type === "error" || type === "pong");
  if (frame.type === "pong") return undefined;
  await worker.next(({ type }) => type === "pong");
  return (frame.error as { readonly message: string }).message;
}

const guestOf = (engine: InMemoryEngine): Promise<InMemoryWorker> =>
  engine.connectWorker({ access: accessTo(["queue::enqueue", "engine::alerts::create"]) });
const tenantOf = (engine: InMemoryEngine): Promise<InMemoryWorker> =>
  engine.connectWorker({ access: accessTo([], { prefix: "acme" }) });

/** Resolves when so many jobs wait. */
async function jobsWait(engine: InMemoryEngine, jobs: number): Promise<void> {
  for (;;) {
    const { waiting } = (await engine.call("queue::stats", { queue: "default" })) as { readonly waiting: number };
    if (waiting === jobs) return;
    await new Promise((resolve) => setImmediate(resolve));
  }
}

async function refusals(engine: InMemoryEngine, ids: readonly string[]): Promise<readonly unknown[]> {
  const guest = await guestOf(engine);
  const found: unknown[] = [];
  for (const id of ids) found.push(await refusal(guest, id));
  guest.close();
  await guest.closed;
  return found;
}

describe("the function of a job that a trusted caller puts on a queue", () => {
  it("cannot be taken by a restricted connection while nobody provides it, but below its own prefix", async () => {
    const clock = manualClock();
    const engine = await start({ ...QUEUE, "svc-cron": {} }, { clock });
    const owner = await engine.connectWorker();
    await owner.call("queue::enqueue", { queue: "default", function_id: "orders::late", data: 1 });
    await owner.call("queue::enqueue", { queue: "default", function_id: "orders::delayed", data: 1, delay_ms: 60_000 });
    await owner.call("queue::enqueue_many", { jobs: [{ queue: "default", function_id: "orders::many", data: 1 }] });
    await owner.call("orders::action", 1, { action: { type: "enqueue", queue: "default" } });
    await owner.call("queue::enqueue", { queue: "default", function_id: "acme::greet", data: 1 });
    await bindTrigger(owner, "durable:subscriber", "orders::told", { topic: "orders" });
    await bindTrigger(owner, "cron", "orders::ticked", { expression: "* * * * * *", queue: "default" });
    clock.advance(1_000);
    await jobsWait(engine, 5);
    owner.close();
    await owner.closed;
    // Its triggers are forgotten by then.
    clock.advance(120_000);
    expect(engine.directory.triggers()).toEqual([]);
    const ids = ["late", "delayed", "many", "action", "told", "ticked"].map((name) => `orders::${name}`);
    expect(await refusals(engine, ids)).toEqual(ids.map(() => NAMED));
    const tenant = await tenantOf(engine);
    await new Promise((resolve) => tenant.serve("greet", resolve));
  });

  it("stays with the restricted connection that provides it, also when that leaves and comes back", async () => {
    const engine = await start(QUEUE);
    const owner = await engine.connectWorker();
    const guest = await guestOf(engine);
    const ran = new Promise((resolve) => guest.serve("guest::work", resolve));
    guest.say({ type: "ping" });
    await guest.next(({ type }) => type === "pong");
    await owner.call("queue::enqueue", { queue: "default", function_id: "guest::work", data: "job" });
    expect(await ran).toBe("job");
    guest.close();
    await guest.closed;
    await owner.call("queue::enqueue", { queue: "default", function_id: "guest::work", data: "later" });
    const back = await guestOf(engine);
    await new Promise<void>((resolve) =>
      back.serve("guest::work", (data) => (data === "later" ? resolve() : undefined)),
    );
  });

  it("is not reserved by jobs of restricted connections, whether they put them there or a cron trigger of theirs does", async () => {
    const clock = manualClock();
    const engine = await start({ ...QUEUE, "svc-cron": {} }, { clock });
    const guest = await engine.connectWorker({
      access: accessTo(["queue::enqueue", "engine::queue::enqueue", "own::work", "own::ticked"]),
    });
    const { error } = await guest.call("queue::enqueue", { queue: "default", function_id: "own::work", data: 1 });
    expect(error).toBeNull();
    await bindTrigger(guest, "cron", "own::ticked", { expression: "* * * * * *", queue: "default" });
    clock.advance(1_000);
    await jobsWait(engine, 2);
    expect([await refusal(guest, "own::work"), await refusal(guest, "own::ticked")]).toEqual([undefined, undefined]);
    guest.close();
    await guest.closed;
  });
});

describe("the function of an alert", () => {
  const alert = (name: string, path: string) => ({
    name,
    metric: "svc.calls",
    threshold: 1,
    action: { type: "function", path },
  });
  const settings = (...paths: readonly string[]) => ({
    "svc-observability": { alerts: paths.map((path) => alert(path, path)) },
  });

  it("cannot be taken by a restricted connection: of the config file, made at run time, and after a restart", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-named-"));
    undo.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const engine = await start(settings("pager::config"), { dataDir });
    const owner = await engine.connectWorker();
    await owner.call("engine::alerts::create", alert("late", "pager::late"));
    await owner.call("engine::alerts::create", alert("changed", "pager::before"));
    await owner.call("engine::alerts::update", { name: "changed", action: { type: "function", path: "pager::after" } });
    await owner.call("engine::alerts::create", alert("gone", "pager::gone"));
    await owner.call("engine::alerts::delete", { name: "gone" });
    expect(await refusals(engine, ["pager::config", "pager::late", "pager::after"])).toEqual([NAMED, NAMED, NAMED]);
    expect(await refusals(engine, ["pager::before", "pager::gone"])).toEqual([undefined, undefined]);
    await engine.stop();
    const again = await start(settings("pager::other"), { dataDir });
    expect(await refusals(again, ["pager::other", "pager::late", "pager::after", "pager::config"])).toEqual([
      NAMED,
      NAMED,
      NAMED,
      undefined,
    ]);
  });

  it("is not reserved when a restricted connection made the alert, also after a restart", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "svc-named-"));
    undo.push(() => rmSync(dataDir, { recursive: true, force: true }));
    const engine = await start(settings(), { dataDir });
    const guest = await guestOf(engine);
    expect(await refusal(guest, "guest::pager")).toBeUndefined();
    expect((await guest.call("engine::alerts::create", alert("own", "guest::pager"))).error).toBeNull();
    guest.close();
    await guest.closed;
    expect(await refusals(engine, ["guest::pager"])).toEqual([undefined]);
    await engine.stop();
    expect(await refusals(await start(settings(), { dataDir }), ["guest::pager"])).toEqual([undefined]);
  });
});

describe("a function that a setting names", () => {
  it("cannot be taken by a restricted connection while the setting is there, and stays with the one that provides it before", async () => {
    const http = (name: string) => ({
      not_found_function: `web::${name}`,
      middleware: [{ function_id: `web::guard-${name}` }],
    });
    const modules = (name: string) => [
      { name: "svc-http", config: http(name) },
      { name: "svc-stream", config: { adapter: { name: "in_memory" }, auth_function: `web::auth-${name}` } },
    ];
    const engine = await start({});
    expect(await engine.applyModules(modules("first"))).toEqual([]);
    const first = ["web::first", "web::guard-first", "web::auth-first"];
    const second = ["web::second", "web::guard-second", "web::auth-second"];
    expect(await refusals(engine, first)).toEqual([NAMED, NAMED, NAMED]);
    const guest = await guestOf(engine);
    for (const id of second) expect(await refusal(guest, id)).toBeUndefined();
    expect(await engine.applyModules(modules("second"))).toEqual([]);
    expect(second.map((id) => engine.directory.functionById(id)?.workers.length)).toEqual([1, 1, 1]);
    expect(await refusals(engine, [...first, ...second])).toEqual([
      undefined,
      undefined,
      undefined,
      NAMED,
      NAMED,
      NAMED,
    ]);
    expect(await engine.applyModules([])).toEqual([]);
    expect(await refusals(engine, second)).toEqual([undefined, undefined, undefined]);
  });
});
