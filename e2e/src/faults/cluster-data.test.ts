import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startNatsServers } from "@svc-runtime/engine/testing";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { seeded } from "../state-load/plan.ts";
import { type EngineProcess, startEngine, svc } from "../support/cli.ts";
import { call, fill, MODULES, serve, stored } from "../support/cluster-data.ts";
import { say } from "../support/say.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";

const KILLS = amount(20, 3);
/** Longer than the command takes, so that some attempts end by themselves. */
const WITHIN_MS = 4_000;
const NAMES = ["a", "b", "c"] as const;
/** 12 MB, so that a snapshot has many parts. */
const ITEMS = { calls: 12, items: 16, bytes: 65_536 };

it(`kill -9 of svc cluster init and recover, ${KILLS} times each, loses nothing, and the next attempt succeeds`, async () => {
  const { seed, random } = seeded();
  say(`kills of svc cluster: seed ${seed}; SVC_SEED=${seed} repeats the moments`);
  const folder = faultsFolder("cluster-data");
  const servers = join(folder, "nats");
  const nats = await startNatsServers("shop", NAMES.length, { storeFolder: servers });
  const engines = new Set<EngineProcess>();
  const clients: Worker[] = [];

  async function start(name: string, config: string): Promise<Worker> {
    const ports = await freePorts();
    engines.add(await startEngine({ cwd: join(folder, name), ports, config }));
    const client = connect(`ws://127.0.0.1:${ports.bridge}`, { handleSignals: false, logger: silentLogger });
    clients.push(client);
    await client.connected();
    return client;
  }
  async function end(): Promise<void> {
    await Promise.all(clients.splice(0).map((client) => client.shutdown({ timeoutMs: 1_000 })));
    for (const { child, exited } of engines) {
      child.kill("SIGKILL");
      await exited;
    }
    engines.clear();
  }
  const emptyServers = async (): Promise<void> => {
    await Promise.all(nats.servers.map((server) => server.kill()));
    rmSync(servers, { recursive: true, force: true });
    await Promise.all(nats.servers.map((server) => server.restart()));
  };
  /**
   * Kills a command `wanted` times, and then lets it end. A `recover` that is faster than its kill ends the round before.
   * Resolves with the number of attempts that were killed.
   */
  async function killed(command: "init" | "recover", wanted: number): Promise<number> {
    let kills = 0;
    let isDone = false;
    const run = async (timeoutMs: number): Promise<void> => {
      const options = { cwd: join(folder, "a"), timeoutMs };
      const { code, stderr } = await svc(["cluster", command, "--from", "data"], options);
      if (code === null) kills += 1;
      // It was killed after its last step, which takes the copy away.
      else if (code === 0 || stderr.includes("has no data of an engine of a cluster")) isDone = true;
      else throw new Error(`svc cluster ${command} failed: ${stderr}`);
    };
    while (kills < wanted) {
      await run(random() * WITHIN_MS);
      if (!isDone) continue;
      // It was faster. `init` may be repeated until an engine has begun.
      if (command === "recover") break;
      await emptyServers();
      isDone = false;
    }
    if (!isDone) await run(120_000);
    expect(isDone).toBe(true);
    return kills;
  }

  try {
    for (const name of NAMES) {
      mkdirSync(join(folder, name));
      const cluster = `{name: shop, node: ${name}, nats: {servers: [${nats.urls.join(", ")}]}}`;
      writeFileSync(join(folder, name, "config.yaml"), `engine: {data_dir: data, cluster: ${cluster}}\n${MODULES}`);
      writeFileSync(join(folder, name, "alone.yaml"), `engine: {data_dir: data}\n${MODULES}`);
    }
    const alone = await start("a", "alone.yaml");
    const trigger = await serve(alone, () => {});
    for (let number = 0; number < ITEMS.calls; number++)
      await call(alone, "state::set_many", {
        items: Array.from({ length: ITEMS.items }, (_, at) => ({
          ...{ scope: "large", key: `${number} ${at}`, value: `${number} ${at} ${"x".repeat(ITEMS.bytes)}` },
        })),
      });
    await fill(alone, trigger);
    const before = await stored(alone, trigger);
    const large = await call(alone, "state::list", { scope: "large" });
    await end();

    async function check(): Promise<void> {
      for (const client of await Promise.all(NAMES.map((name) => start(name, "config.yaml")))) {
        expect(await stored(client, await serve(client, () => {}))).toEqual(before);
        expect(await call(client, "state::list", { scope: "large" })).toEqual(large);
      }
      await end();
    }
    const init = await killed("init", KILLS);
    await check();
    let recover = 0;
    for (let round = 0; recover < KILLS; round++) {
      await emptyServers();
      recover += await killed("recover", KILLS - recover);
      for (const name of ["b", "c"])
        renameSync(join(folder, name, "data/cluster"), join(folder, name, `former-${round}`));
      await check();
    }
    figure(
      "kill -9 of svc cluster init and recover",
      `${init} and ${recover} attempts killed; all data at all engines`,
    );
  } finally {
    await end();
    await nats.stop();
  }
});
