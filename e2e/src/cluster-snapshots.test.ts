import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type NatsServers, startNatsServers } from "@svc-runtime/engine/testing";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine } from "./support/cli.ts";
import { CuttableProxy } from "./support/cuttable-proxy.ts";
import { eventually } from "./support/processes.ts";

const CLUSTER = "snapshots";
const folder = mkdtempSync(join(tmpdir(), "svc-snapshots-"));
const engines: EngineProcess[] = [];
const clients: Worker[] = [];
let nats: NatsServers;
let network: CuttableProxy | undefined;
let written = 0;

async function start(name: string, ports: Ports): Promise<EngineProcess> {
  const engine = await startEngine({ cwd: join(folder, name), ports });
  engines.push(engine);
  return engine;
}

async function newNode(
  name: string,
  server: string,
): Promise<{ readonly ports: Ports; readonly client: Worker; engine: EngineProcess }> {
  mkdirSync(join(folder, name));
  writeFileSync(
    join(folder, name, "config.yaml"),
    `engine:
  cluster: {name: ${CLUSTER}, node: ${name}, snapshot_after: 65536, nats: {servers: ["${server}"]}}
workers:
  - name: svc-state
`,
  );
  const ports = await freePorts();
  const engine = await start(name, ports);
  const reconnect = { initialDelayMs: 50, maxDelayMs: 200 };
  const client = connect(`ws://127.0.0.1:${ports.bridge}`, { handleSignals: false, logger: silentLogger, reconnect });
  clients.push(client);
  return { ports, client, engine };
}

const call = (client: Worker, function_id: string, payload: object): Promise<unknown> =>
  client.call({ function_id, payload, timeoutMs: 30_000 });
const stored = (client: Worker, key: string): Promise<unknown> => call(client, "state::get", { scope: "s", key });
const countOf = (text: string, what: string): number => text.split(what).length - 1;

beforeAll(async () => {
  nats = await startNatsServers(CLUSTER, 1);
});
afterAll(async () => {
  for (const client of clients) await client.shutdown();
  for (const { child, exited } of engines) {
    child.kill("SIGKILL");
    await exited;
  }
  await network?.close();
  await nats?.stop();
  rmSync(folder, { recursive: true, force: true });
});

it("a log is cut, and an engine that is new or missed what was cut begins with a snapshot", async () => {
  const [server] = nats.servers;
  if (server === undefined) throw new Error("there is no NATS server");
  network = await CuttableProxy.start(server.port);
  const a = await newNode("a", server.url);

  /**
   * Writes at a until it has taken two snapshots that had not begun before, so that the log begins after what was there
   * before.
   */
  async function writeUntilCut(): Promise<void> {
    const wanted = countOf(a.engine.output(), "a snapshot is being taken") + 2;
    await eventually(
      "a took two snapshots",
      async () => {
        written += 1;
        await call(a.client, "state::set", { scope: "s", key: "large", value: `${written} ${"x".repeat(30_000)}` });
        await call(a.client, "state::set", { scope: "s", key: "written", value: written });
        return countOf(a.engine.output(), "a snapshot was taken") >= wanted;
      },
      60_000,
    );
  }
  const seeded = "a replica is made from a snapshot";
  await call(a.client, "state::set", { scope: "s", key: "first", value: 1 });
  await writeUntilCut();
  const b = await newNode("b", network.url);
  expect(countOf(b.engine.output(), seeded)).toBe(1);
  expect(await stored(b.client, "written")).toBe(written);
  expect(await stored(b.client, "first")).toBe(1);

  network.cut();
  await Promise.all([writeUntilCut(), b.engine.logged("the connection to a NATS server was lost")]);
  network.heal();
  await eventually("b is seeded while it runs", () => countOf(b.engine.output(), seeded) === 2, 30_000);
  await eventually(
    "b serves the same",
    async () => (await stored(b.client, "written").catch(() => undefined)) === written,
  );
});
