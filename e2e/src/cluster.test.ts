import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { type NatsServers, startNatsServers } from "@svc-runtime/engine/testing";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, createLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { eventually } from "./support/processes.ts";

const CLUSTER = "shop";
const NAMES = ["a", "b", "c"] as const;
/** Least time between two writes of a lane of the load. */
const PAUSE_MS = 25;
type Name = (typeof NAMES)[number];

interface Node {
  readonly folder: string;
  readonly ports: Ports;
  engine: EngineProcess;
  readonly client: Worker;
}

interface Page {
  readonly items: readonly { readonly key: string }[];
  readonly cursor: string | null;
}

const folder = mkdtempSync(join(tmpdir(), "svc-cluster-"));
let nats: NatsServers;
const nodes = new Map<Name, Node>();

function node(name: Name): Node {
  const found = nodes.get(name);
  if (found === undefined) throw new Error(`the engine ${name} was not started`);
  return found;
}

function configOf(name: Name): string {
  return `engine:
  cluster: {name: ${CLUSTER}, node: ${name}, nats: {servers: [${nats.urls.join(", ")}]}}
workers:
  - name: svc-state
  - name: svc-cron
  - {name: svc-queue, config: {queue_configs: {default: {concurrency: 8}}}}
`;
}

async function startNode(name: Name): Promise<void> {
  const own = join(folder, name);
  mkdirSync(own);
  const ports = await freePorts();
  writeFileSync(join(own, "config.yaml"), configOf(name));
  const engine = await startEngine({ cwd: own, ports });
  const client = connect(`ws://127.0.0.1:${ports.bridge}`, {
    name: `client of ${name}`,
    handleSignals: false,
    logger: createLogger({ level: "silent", write: () => {} }),
    reconnect: { initialDelayMs: 50, maxDelayMs: 200 },
  });
  nodes.set(name, { folder: own, ports, engine, client });
}

function call<T>(name: Name, function_id: string, payload: unknown, timeoutMs = 30_000): Promise<T> {
  return node(name).client.call({ function_id, payload, timeoutMs }) as Promise<T>;
}

async function knows(name: Name, functionId: string): Promise<boolean> {
  const { functions } = await call<{ functions: { function_id: string }[] }>(name, "engine::functions::list", {});
  return functions.some(({ function_id }) => function_id === functionId);
}

beforeAll(async () => {
  nats = await startNatsServers(CLUSTER, NAMES.length);
  await Promise.all(NAMES.map(startNode));
});
afterAll(async () => {
  for (const { client, engine } of nodes.values()) {
    await client.shutdown();
    engine.child.kill("SIGKILL");
    await engine.exited;
  }
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe("three engines and three NATS servers", () => {
  const ran = new Set<string>();

  it("are one system: calls, state and jobs cross from one engine to another", async () => {
    node("b").client.registerFunction("greet", (input: { name: string }) => ({ text: `hello ${input.name}` }));
    for (const name of ["a", "b"] as const)
      node(name).client.registerFunction("work", (input: { id: string }) => {
        ran.add(input.id);
        return null;
      });
    await eventually("a and c know the functions of b", async () => (await knows("a", "greet")) && knows("c", "work"));
    expect(await call("a", "greet", { name: "you" })).toEqual({ text: "hello you" });
    await call("a", "state::set", { scope: "s", key: "k", value: 1 });
    expect(await call("c", "state::get", { scope: "s", key: "k" })).toBe(1);
    await call("c", "queue::enqueue", { queue: "default", function_id: "work", data: { id: "first" } });
    await eventually("the job ran at a or b", () => ran.has("first"));
    const response = await fetch(`http://127.0.0.1:${node("c").ports.http}/readyz`);
    // Beside other load a component may be degraded, e.g. the event loop.
    expect([response.status, await response.json()]).toMatchObject([200, { status: "ready" }]);
  });

  it("show the same traces and log entries, whichever engine is asked", async () => {
    await call("c", "engine::log::info", { message: "said at c", service_name: "speaker" });
    const greeted = { function_id: "greet" };
    // An engine that does not answer in time is left out of an answer, e.g. beside other load.
    const shown = (name: Name, functionId: string, payload: unknown) =>
      expect.poll(() => call(name, functionId, payload));
    for (const name of NAMES) {
      await shown(name, "engine::traces::list", greeted).toMatchObject({
        spans: [{ trace: { root_name: "greet", nodes: ["b"] } }],
        total: 1,
        nodes: [...NAMES],
      });
      await shown(name, "engine::traces::facets", greeted).toMatchObject({
        facets: { status: [{ value: "ok", count: 1 }] },
        total: 1,
      });
      await shown(name, "engine::logs::list", { services: ["speaker"] }).toMatchObject({
        logs: [{ body: "said at c", node: "c" }],
        total: 1,
      });
    }
  });

  it("lose nothing that was acknowledged when an engine and then a NATS server are killed under load", async () => {
    const jobs = new Set<string>();
    const keys = new Set<string>();
    let isOver = false;
    const loads = NAMES.flatMap((name) =>
      [0, 1].map(async (lane) => {
        for (let at = 0; !isOver; at++) {
          const id = `${name}${lane}-${at}`;
          const job = call(name, "queue::enqueue", { queue: "default", function_id: "work", data: { id } });
          const item = call(name, "state::set", { scope: "load", key: id, value: at });
          await Promise.all([
            job.then(() => jobs.add(id)).catch(() => undefined),
            item.then(() => keys.add(id)).catch(() => undefined),
            pause(PAUSE_MS),
          ]);
        }
      }),
    );
    const grows = async (what: string, by: number): Promise<void> => {
      const [jobsBefore, keysBefore] = [jobs.size, keys.size];
      await eventually(what, () => jobs.size > jobsBefore + by && keys.size > keysBefore + by, 30_000);
    };
    await grows("writes are acknowledged", 50);

    const { engine } = node("a");
    engine.child.kill("SIGKILL");
    await engine.exited;
    await grows("writes go on without the engine", 50);
    node("a").engine = await startEngine({ cwd: node("a").folder, ports: node("a").ports });
    const keysOfA = (): number => [...keys].filter((id) => id.startsWith("a")).length;
    const before = keysOfA();
    await eventually("writes go on at the engine that started again", () => keysOfA() > before + 10);

    const [server] = nats.servers;
    await server?.kill();
    await grows("writes go on without a NATS server", 50);
    isOver = true;
    await Promise.all(loads);

    await eventually("every acknowledged job ran", () => [...jobs].every((id) => ran.has(id)));
    for (const name of NAMES) {
      const found = new Set<string>();
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const input = { scope: "load", limit: 1_000, ...(cursor === undefined ? {} : { cursor }) };
        const page: Page = await call(name, "state::entries", input);
        for (const { key } of page.items) found.add(key);
        cursor = page.cursor;
      }
      expect([...keys].filter((id) => !found.has(id))).toEqual([]);
    }
    await server?.restart();
  });

  it("an engine that stood still and was expelled joins again by itself", async () => {
    const { engine } = node("c");
    const { instance_id: run } = await call<{ instance_id: string }>("c", "engine::info", {});
    engine.child.kill("SIGSTOP");
    // Both votes are in the log before what their engines write afterwards.
    for (const name of ["a", "b"] as const) {
      const isVote = (line: string): boolean => line.includes("voting to expel") && line.includes(run);
      await eventually(`${name} votes`, () => node(name).engine.output().split("\n").some(isVote));
      await call(name, "state::set", { scope: "s", key: "k", value: 2 });
    }
    engine.child.kill("SIGCONT");
    await eventually("c logs that it was expelled", () =>
      engine.output().includes("the other engines expelled this one"),
    );
    await eventually("its state is that of the others", async () => {
      const value = await call("c", "state::get", { scope: "s", key: "k" }).catch(() => undefined);
      return value === 2;
    });
    await call("c", "state::set", { scope: "s", key: "k", value: 3 });
    expect(await call("b", "state::get", { scope: "s", key: "k" })).toBe(3);
  });
});
