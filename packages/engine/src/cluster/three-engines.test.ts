import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { InMemoryCluster } from "../kernel/nodes/testing/in-memory-cluster.ts";
import { event } from "../modules/event/index.ts";
import { httpModule } from "../modules/http/index.ts";
import { queue } from "../modules/queue/index.ts";
import { until } from "../modules/queue/testing/queue-engine.ts";
import { state } from "../modules/state/index.ts";
import type { InMemoryEngine, InMemoryWorker } from "../testing/in-memory-engine.ts";
import { ClusterEngines, registerTrigger } from "./testing/cluster-engines.ts";

let engines: ClusterEngines;
let cluster: InMemoryCluster;
let a: InMemoryEngine;
let b: InMemoryEngine;
let c: InMemoryEngine;

const startNode = (name: string): Promise<InMemoryEngine> =>
  engines.start(name, {
    modules: [queue, state, event, httpModule],
    config: {
      "svc-queue": { adapter: { name: "in_memory" }, queue_configs: { default: { concurrency: 4 } } },
      "svc-state": { adapter: { name: "file_based" } },
      "svc-event": {},
      "svc-http": {},
    },
  });

beforeEach(async () => {
  engines = new ClusterEngines();
  ({ cluster } = engines);
  a = await startNode("a");
  b = await startNode("b");
  c = await startNode("c");
});
afterEach(() => engines.stop());

const register = registerTrigger;

describe("three engines on one log", () => {
  it("lose nothing that was acknowledged when one of them is killed under load", async () => {
    const held = new Promise(() => {});
    let heldJobs = 0;
    const workerOfA = await a.connectWorker({ name: "worker" });
    workerOfA.serve("job", () => {
      heldJobs += 1;
      return held;
    });
    workerOfA.serve("slow", () => held);
    await cluster.exchange();
    expect(b.directory.functionById("slow")?.workers).toMatchObject([{ id: workerOfA.id }]);

    const failures: unknown[] = [];
    for (let at = 0; at < 5; at++) b.call("slow", at).catch((error: unknown) => failures.push(error));
    const acknowledged = { jobs: new Set<number>(), keys: new Set<string>() };
    const attempted: Promise<void>[] = [];
    const load = (from: number, to: number, engines: readonly InMemoryEngine[]): void => {
      for (let at = from; at < to; at++) {
        const engine = engines[at % engines.length] as InMemoryEngine;
        const job = engine.call("queue::enqueue", { queue: "default", function_id: "job", data: at });
        const item = engine.call("state::set", { scope: "s", key: `${at}`, value: at });
        attempted.push(
          job.then(() => void acknowledged.jobs.add(at)).catch(() => {}),
          item.then(() => void acknowledged.keys.add(`${at}`)).catch(() => {}),
        );
      }
    };
    load(0, 20, [a, b, c]);
    // Nobody else has a worker for the jobs, so they wait at `a` alone.
    await until("a runs jobs", () => heldJobs >= 4);
    for (let turn = 0; turn < 5; turn++) await cluster.exchange();
    expect(heldJobs).toBe(4);

    const ran: unknown[] = [];
    const workerOfC = await c.connectWorker({ name: "worker" });
    workerOfC.serve("job", (data) => {
      ran.push(data);
      return data;
    });
    load(20, 60, [a, b, c]);
    engines.kill(a);
    load(60, 80, [b, c]);
    await cluster.advance(6_000);
    expect(failures).toHaveLength(5);
    for (const failure of failures) expect(failure).toMatchObject({ code: "invocation_stopped", executed: "unknown" });

    // Requests of `a` fail at its own deadline only: its clock stands still.
    await until("what b and c were asked for was written", () => acknowledged.jobs.size >= 60);
    await until("c has run every acknowledged job", () => [...acknowledged.jobs].every((job) => ran.includes(job)));
    expect(acknowledged.jobs.size).toBeGreaterThanOrEqual(60);
    // Each ran at c once: those that a held were given back once.
    expect(ran.length).toBe(new Set(ran).size);
    for (const engine of [b, c])
      for (const key of acknowledged.keys)
        expect(await engine.call("state::get", { scope: "s", key })).toBe(Number(key));
  });

  it("deliver an event once to each subscriber, whichever engine it was published to", async () => {
    const seen: string[] = [];
    for (const [name, engine] of Object.entries({ a, c })) {
      const worker = await engine.connectWorker({ name });
      worker.serve(`on::${name}`, (data) => seen.push(`${name} ${data}`));
      register(worker, "subscribe", `on::${name}`, { topic: "orders" });
    }
    await cluster.exchange();
    for (const [name, engine] of Object.entries({ a, b, c }))
      await engine.call("publish", { topic: "orders", data: name });
    await until("all were delivered", () => seen.length >= 6);
    await cluster.exchange();
    expect(seen.sort()).toEqual(["a a", "a b", "a c", "c a", "c b", "c c"]);
  });

  it("add one job for a durable subscription, also if several engines have it and another one published", async () => {
    const seen: unknown[] = [];
    for (const [name, engine] of Object.entries({ a, b })) {
      const worker = await engine.connectWorker({ name });
      worker.serve("on::order", (data) => seen.push(data));
      register(worker, "durable:subscriber", "on::order", { topic: "orders" });
      await cluster.exchange();
      // At once, and at an engine that has no trigger of it.
      for (const publisher of [c, b, a])
        await publisher.call("svc::durable::publish", { topic: "orders", data: seen.length });
    }
    await until("all were delivered", () => seen.length >= 6);
    for (let turn = 0; turn < 10; turn++) await cluster.exchange();
    expect(seen).toHaveLength(6);
  });

  it("keep a durable subscription and its messages until the last engine that has it withdraws it", async () => {
    const seen: unknown[] = [];
    const held: (() => void)[] = [];
    const workers: InMemoryWorker[] = [];
    for (const engine of [a, b]) {
      const worker = await engine.connectWorker();
      worker.serve("on::order", async (data) => {
        await new Promise<void>((resolve) => held.push(resolve));
        seen.push(data);
      });
      const config = { topic: "orders", queue_config: { concurrency: 1 } };
      worker.say({
        type: "registertrigger",
        id: "t",
        trigger_type: "durable:subscriber",
        function_id: "on::order",
        config,
      });
      workers.push(worker);
      await cluster.exchange();
    }
    const publish = (data: number): Promise<unknown> => c.call("svc::durable::publish", { topic: "orders", data });
    for (let data = 0; data < 5; data++) await publish(data);
    await until("each engine runs one", () => held.length === 2);
    workers[0]?.say({ type: "unregistertrigger", id: "t" });
    for (let turn = 0; turn < 5; turn++) await cluster.exchange();
    expect(await publish(5)).toMatchObject({ subscriptions: 1 });
    await until("all were delivered", () => {
      for (const end of held.splice(0)) end();
      return seen.length >= 6;
    });
    expect([...seen].sort()).toEqual([0, 1, 2, 3, 4, 5]);
    workers[1]?.say({ type: "unregistertrigger", id: "t" });
    for (let turn = 0; turn < 5; turn++) await cluster.exchange();
    for (const engine of [a, b, c])
      expect(await engine.call("svc::durable::publish", { topic: "orders", data: 6 })).toMatchObject({
        subscriptions: 0,
      });
  });

  it("end a durable subscription although an engine that had it is gone", async () => {
    const workers: InMemoryWorker[] = [];
    for (const engine of [a, b]) {
      const worker = await engine.connectWorker();
      worker.serve("on::order", () => null);
      const config = { topic: "orders" };
      worker.say({
        type: "registertrigger",
        id: "t",
        trigger_type: "durable:subscriber",
        function_id: "on::order",
        config,
      });
      workers.push(worker);
    }
    await cluster.exchange();
    engines.kill(a);
    await cluster.advance(8_000);
    workers[1]?.say({ type: "unregistertrigger", id: "t" });
    for (let turn = 0; turn < 5; turn++) await cluster.exchange();
    expect(await c.call("svc::durable::publish", { topic: "orders", data: 1 })).toMatchObject({ subscriptions: 0 });
  });

  it("deliver a change of state as an event once, although each engine sees it", async () => {
    const seen: unknown[] = [];
    const worker = await a.connectWorker();
    worker.serve("on::state", (data) => seen.push(data));
    register(worker, "subscribe", "on::state", { topic: "state:created" });
    await cluster.exchange();
    await until("state reports its changes", async () => {
      await b.call("state::set", { scope: "s", key: `${seen.length}-${Math.random()}`, value: 1 });
      return seen.length > 0;
    });
    await cluster.exchange();
    const before = seen.length;
    await b.call("state::set", { scope: "s", key: "last", value: 1 });
    await until("it was delivered", () => seen.some((data) => (data as { key: string }).key === "last"));
    for (let turn = 0; turn < 5; turn++) await cluster.exchange();
    expect(seen.slice(before).filter((data) => (data as { key: string }).key === "last")).toHaveLength(1);
  });

  it("answer an HTTP route at each engine, also with bodies that stream from one to the other", async () => {
    const worker = await a.connectWorker();
    const lengthOf = async (ref: unknown): Promise<number> => {
      const reader = a.takeReader(ref);
      let length = 0;
      for (let item = await reader.read(); item !== undefined; item = await reader.read())
        length += item.kind === "binary" ? item.bytes.length : item.text.length;
      return reader.ended === "finished" ? length : Number.NaN;
    };
    worker.serve("measure", async (input) => {
      const request = input as { body: unknown; request_body: unknown; files?: readonly { body: unknown }[] };
      const [file] = request.files ?? [];
      const length = await lengthOf(file === undefined ? request.request_body : file.body);
      return { status_code: 200, body: { length } };
    });
    worker.serve("echo", (request) => ({ status_code: 200, body: (request as { body: unknown }).body }));
    register(worker, "http", "measure", { api_path: "/measure", http_method: "POST" });
    register(worker, "http", "echo", { api_path: "/echo", http_method: "POST" });
    await cluster.exchange();
    const form = new FormData();
    form.set("file", new Blob(["x".repeat(300_000)]), "a.txt");
    for (const engine of [a, b, c]) {
      const post = async (path: string, body: string | FormData, type?: string): Promise<unknown> => {
        const headers = type === undefined ? {} : { "content-type": type };
        return (await fetch(`${await engine.http()}${path}`, { method: "POST", headers, body })).json();
      };
      expect(await post("/echo", '{"hello":"you"}', "application/json")).toEqual({ hello: "you" });
      expect(await post("/measure", "x".repeat(900_000), "application/octet-stream")).toEqual({ length: 900_000 });
      expect(await post("/measure", form)).toEqual({ length: 300_000 });
    }
  });
});
