import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NatsServers, startNatsServers } from "@svc-runtime/engine/testing";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineProcess, startEngine, svc } from "./support/cli.ts";
import { call, fill, jobsOf, MODULES, serve, stored } from "./support/cluster-data.ts";
import { eventually } from "./support/processes.ts";

const CLUSTER = "shop";
const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];

const folder = mkdtempSync(join(tmpdir(), "svc-cluster-data-"));
const servers = join(folder, "nats");
const mails: unknown[] = [];
const engines = new Map<Name, EngineProcess>();
const clients: Worker[] = [];
let nats: NatsServers;

const projectOf = (name: Name): string => join(folder, name);

async function start(name: Name, config: string): Promise<Worker> {
  const ports = await freePorts();
  engines.set(name, await startEngine({ cwd: projectOf(name), ports, config }));
  const client = connect(`ws://127.0.0.1:${ports.bridge}`, { handleSignals: false, logger: silentLogger });
  clients.push(client);
  await client.connected();
  return client;
}

/** Ends all engines. */
async function end(signal: "SIGKILL" | "SIGTERM"): Promise<void> {
  await Promise.all(clients.splice(0).map((client) => client.shutdown({ timeoutMs: 1_000 })));
  for (const { child } of engines.values()) child.kill(signal);
  await Promise.all([...engines.values()].map(({ exited }) => exited));
  engines.clear();
}

/** Runs `svc cluster init` or `recover` as a user does, in the folder of an engine. */
async function begin(command: "init" | "recover", name: Name, ...options: readonly string[]) {
  const { code, stderr, stdout } = await svc(["cluster", command, "--from", "data", ...options], {
    cwd: projectOf(name),
    timeoutMs: 60_000,
  });
  return { code, shown: stderr + stdout };
}

async function positions(name: Name): Promise<Readonly<Record<string, number>>> {
  const { shown } = await begin("recover", name, "--dry-run", "--json");
  const { stores } = JSON.parse(shown) as { readonly stores: readonly { store: string; position: number }[] };
  return Object.fromEntries(stores.map(({ store, position }) => [store, position]));
}

beforeAll(async () => {
  nats = await startNatsServers(CLUSTER, NAMES.length, { storeFolder: servers });
  for (const name of NAMES) {
    mkdirSync(projectOf(name));
    const config = (cluster: string): string =>
      `engine:\n  data_dir: data\n  cluster: {name: ${cluster}, node: ${name}, nats: {servers: [${nats.urls.join(", ")}]}}\n${MODULES}`;
    writeFileSync(join(projectOf(name), "config.yaml"), config(CLUSTER));
    writeFileSync(join(projectOf(name), "other.yaml"), config("other"));
    writeFileSync(join(projectOf(name), "alone.yaml"), `engine: {data_dir: data}\n${MODULES}`);
  }
});
afterAll(async () => {
  await end("SIGKILL");
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it("an engine's data begin a cluster, and a copy of one engine begins it again when the servers lost theirs", async () => {
  const refused = async (of: ReturnType<typeof begin>, problem: string): Promise<void> =>
    expect(await of).toEqual({ code: 1, shown: expect.stringContaining(problem) });

  const seen = async (client: Worker) => stored(client, await serve(client, (data) => mails.push(data)));

  const alone = await start("a", "alone.yaml");
  const trigger = await serve(alone, (data) => mails.push(data));
  await fill(alone, trigger);
  const before = await stored(alone, trigger);
  await refused(begin("init", "a"), "is in use by");
  await end("SIGTERM");
  await refused(begin("init", "a", "--config", "other.yaml"), "engine.cluster.name must be the name");
  expect(await begin("init", "a")).toMatchObject({ code: 0, shown: expect.stringContaining("Stored queue") });

  const cluster = await Promise.all(NAMES.map((name) => start(name, "config.yaml")));
  for (const client of cluster) expect(await seen(client)).toEqual(before);
  const [a, b] = cluster as [Worker, Worker];
  engines.get("c")?.child.kill("SIGKILL");
  await engines.get("c")?.exited;
  await call(a, "state::set", { scope: "shop", key: "zero", value: 1 });
  await call(a, "queue::resume", { queue: "mail" });
  await eventually("the jobs run", () => mails.length === 3);
  expect(mails).toEqual(expect.arrayContaining(["done", { to: "a" }, { to: "b" }]));
  await call(b, "state::get", { scope: "shop", key: "zero" });
  await eventually("the jobs are done", async () => (await jobsOf(b, "mail", "done")).length === 3);
  await end("SIGKILL");

  await Promise.all(nats.servers.map((server) => server.kill()));
  rmSync(servers, { recursive: true });
  await Promise.all(nats.servers.map((server) => server.restart()));
  const [ofB, ofC] = [await positions("b"), await positions("c")];
  expect(Object.keys(ofB)).toEqual(["cron", "queue", "state"]);
  expect(ofB.state).toBeGreaterThan(ofC.state ?? 0);
  expect(await begin("recover", "b")).toMatchObject({ code: 0, shown: expect.stringContaining("Stored state") });
  await refused(begin("recover", "c"), "begins already with other data");
  // That c cannot start with its former copy is tested in `start-logs.integration.test.ts`.
  renameSync(join(projectOf("c"), "data/cluster"), join(projectOf("c"), "former"));
  for (const client of await Promise.all((["b", "c"] as const).map((name) => start(name, "config.yaml")))) {
    const { items, jobs, ...rest } = await seen(client);
    expect(rest).toEqual({ paused: [], runs: before.runs });
    expect(items).toEqual([...(before.items as []), expect.objectContaining({ key: "zero" })]);
    expect(jobs).toMatchObject({ ...(before.jobs as object), "mail waiting": [], "mail done": [{}, {}, {}] });
  }
});
