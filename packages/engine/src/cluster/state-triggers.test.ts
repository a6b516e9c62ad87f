import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { event } from "../modules/event/index.ts";
import { until } from "../modules/queue/testing/queue-engine.ts";
import { state } from "../modules/state/index.ts";
import type { InMemoryEngine, InMemoryWorker } from "../testing/in-memory-engine.ts";
import { accessTo } from "../testing/restricted.ts";
import { ClusterEngines } from "./testing/cluster-engines.ts";

interface Seen {
  readonly node: string;
  readonly key: string;
  readonly version: number;
}

let engines: ClusterEngines;
let byName: Map<string, InMemoryEngine>;
let seen: Seen[];
/** What the appends of engine a wait for, and their number. */
let held: Promise<void>;
let appends: number;

beforeEach(async () => {
  engines = new ClusterEngines();
  byName = new Map();
  seen = [];
  held = Promise.resolve();
  appends = 0;
  const beforeStored = (): Promise<void> => {
    appends += 1;
    return held;
  };
  for (const name of ["a", "b", "c"]) {
    const config = { "svc-state": { adapter: { name: "file_based" } }, "svc-event": {} };
    const engine = await engines.start(name, {
      ...{ modules: [state, event], config },
      ...(name === "a" ? { logFaults: { beforeStored } } : {}),
    });
    byName.set(name, engine);
  }
});
afterEach(() => engines.stop());

const engineOf = (name: string): InMemoryEngine => byName.get(name) as InMemoryEngine;

const set = (name: string, key: string): Promise<unknown> =>
  engineOf(name).call("state::set", { scope: "s", key, value: Math.random() });

/** Connects a worker with the function of the trigger to an engine. */
async function connect(name: string): Promise<InMemoryWorker> {
  const worker = await engineOf(name).connectWorker({ name });
  worker.serve("on::change", (data) => {
    const { key, version } = data as { key: string; version: number };
    seen.push({ node: name, key, version });
    return null;
  });
  return worker;
}

function register(worker: InMemoryWorker, type = "state", config: object = { scope: "s" }, id = "t"): void {
  worker.say({ type: "registertrigger", id, trigger_type: type, function_id: "on::change", config });
}

/** Connects a worker with the same trigger to each of the engines. */
async function bind(names: readonly string[], type = "state", config: object = { scope: "s" }) {
  const workers: InMemoryWorker[] = [];
  for (const name of names) {
    const worker = await connect(name);
    register(worker, type, config);
    workers.push(worker);
  }
  // The engine that delivers has seen a change.
  await until("the trigger works", async () => {
    await set("a", `first-${Math.random()}`);
    await engines.cluster.exchange();
    return seen.length > 0;
  });
  await engines.cluster.advance(500);
  seen = [];
  return workers;
}

describe("state triggers of a cluster", () => {
  it("are called for the changes that any engine writes", async () => {
    await bind(["a"]);
    for (const name of ["a", "b", "c"]) await set(name, name);
    await until("each was delivered", () => seen.length >= 3);
    expect(seen.map(({ key }) => key).sort()).toEqual(["a", "b", "c"]);
  });

  it("are called once for each change, in order, if several engines have equal ones", async () => {
    await bind(["a", "b"]);
    for (let turn = 0; turn < 4; turn++) for (const name of ["a", "b", "c"]) await set(name, "k");
    await until("each was delivered", () => seen.length >= 12);
    await engines.cluster.advance(500);
    expect(seen.map(({ version }) => version)).toEqual(Array.from({ length: 12 }, (_, index) => index + 1));
    expect(new Set(seen.map(({ node }) => node)).size).toBe(1);
  });

  it("are served by another engine when the first one is gone, and no change is left out", async () => {
    await bind(["a", "b"]);
    await set("c", "k");
    await until("it was delivered", () => seen.length > 0);
    const first = String(seen[0]?.node);
    engines.kill(engineOf(first));
    for (let turn = 0; turn < 3; turn++) await set("c", "k");
    await engines.cluster.advance(8_000);
    await until("the others were delivered", () => seen.length >= 4);
    expect(seen.map(({ version }) => version)).toEqual([1, 2, 3, 4]);
    expect(seen.at(-1)?.node).not.toBe(first);
  });

  it("are served by another engine while their worker is away from the first one", async () => {
    const workers = await bind(["a", "b"]);
    await set("c", "k");
    await until("it was delivered", () => seen.length > 0);
    const first = String(seen[0]?.node);
    workers[first === "a" ? 0 : 1]?.close();
    await engines.cluster.advance(500);
    await set("c", "k");
    await until("the next one was delivered", () => seen.length >= 2);
    expect(seen[1]).toMatchObject({ version: 2, node: first === "a" ? "b" : "a" });
  });

  it("are served by another engine at once if their only worker has moved to it", async () => {
    const [worker] = await bind(["a"]);
    // The first engine hears nothing of the other one after its worker has left.
    const other = await connect("b");
    await engines.cluster.advance(200);
    worker?.close();
    await engines.cluster.advance(200);
    register(other, "state", { scope: "s" }, "another id");
    await engines.cluster.advance(500);
    await set("c", "k");
    await engines.cluster.advance(1_000);
    expect(seen).toEqual([{ node: "b", key: "k", version: 1 }]);
  });

  it("are served by their only engine again when their worker is back", async () => {
    const [worker] = await bind(["a"]);
    worker?.close();
    await engines.cluster.advance(200);
    await set("c", "k");
    await engines.cluster.advance(200);
    expect(seen).toEqual([]);
    register(await connect("a"));
    await engines.cluster.advance(500);
    await set("c", "k");
    await engines.cluster.advance(500);
    expect(seen.map(({ node, version }) => [node, version])).toEqual([
      ["a", 1],
      ["a", 2],
    ]);
  });

  it("keep changes for a trigger whose only engine is gone, until another engine has it", async () => {
    await bind(["a"]);
    engines.kill(engineOf("a"));
    await engines.cluster.advance(8_000);
    await set("c", "k");
    expect(seen).toEqual([]);
    const worker = await engineOf("b").connectWorker({ name: "b" });
    worker.serve("on::change", (data) => seen.push({ ...(data as Seen), node: "b" }) > 0);
    worker.say({
      ...{ type: "registertrigger", id: "t", trigger_type: "state", function_id: "on::change" },
      config: { scope: "s" },
    });
    await until("it was delivered", () => seen.length > 0);
    expect(seen).toMatchObject([{ node: "b", key: "k", version: 1 }]);
  });

  it("are not called for a change if they lost the permission while it was asked which engine calls them", async () => {
    const [owner] = await bind(["a"]);
    const guest = await engineOf("a").connectWorker({ name: "guest", access: accessTo(["on::change"]) });
    register(guest, "state", { scope: "s" }, "guests");
    await engines.cluster.exchange();
    let release = (): void => {};
    held = new Promise((resolve) => {
      release = resolve;
    });
    appends = 0;
    await set("c", "k");
    await until("engine a asks", () => appends > 0);
    owner?.say({ type: "unregistertrigger", id: "t" });
    await engines.cluster.exchange();
    release();
    await engines.cluster.advance(500);
    expect(seen).toEqual([]);
    expect(engineOf("a").directory.triggers()).toMatchObject([
      { status: "error", reason: expect.stringContaining("state::get") },
    ]);
  });

  it("make one event of a change for equal subscribers at several engines", async () => {
    await bind(["a", "b"], "subscribe", { topic: "state:created" });
    await set("c", "k1");
    await set("a", "k2");
    await until("both were delivered", () => seen.length >= 2);
    await engines.cluster.advance(500);
    expect(seen.map(({ key }) => key).sort()).toEqual(["k1", "k2"]);
  });
});
