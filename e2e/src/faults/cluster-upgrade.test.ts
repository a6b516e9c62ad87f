import { join } from "node:path";
import type { NodeListing } from "@svc-runtime/protocol/listings";
import { CallError, connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { afterEach, expect, it } from "vitest";
import { inMs } from "../cluster-load/outcomes.ts";
import { svc } from "../support/cli.ts";
import { eventually } from "../support/processes.ts";
import { ClusterScene, NODES, type NodeName } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const ROUNDS = amount(5, 1);
/** Calls per second, of all clients. */
const RATE = 100;
const CLIENTS = 4;
/** A folder with an earlier version, installed, built and bundled, which is replaced by this one. */
const BEFORE = process.env.SVC_UPGRADE_FROM;

let scene: ClusterScene | undefined;
const workers: Worker[] = [];

afterEach(async () => {
  await Promise.all(workers.splice(0).map((worker) => worker.shutdown({ timeoutMs: 1_000 })));
  await scene?.close();
  scene = undefined;
});

/** Calls at a steady rate, by clients that know all engines. */
class SteadyCalls {
  readonly failures: string[] = [];
  readonly tookMs: number[] = [];
  #isOver = false;
  readonly #lanes: readonly Promise<void>[];

  constructor(clients: readonly Worker[]) {
    this.#lanes = clients.map((client, lane) => this.#run(client, lane));
  }

  async #run(client: Worker, lane: number): Promise<void> {
    const underWay = new Set<Promise<void>>();
    const everyMs = (1_000 * CLIENTS) / RATE;
    let dueAt = performance.now() + (lane * everyMs) / CLIENTS;
    for (let number = 0; !this.#isOver; number++) {
      const call = this.#call(client, lane, number).finally(() => underWay.delete(call));
      underWay.add(call);
      dueAt += everyMs;
      await pause(Math.max(0, dueAt - performance.now()));
    }
    await Promise.all(underWay);
  }

  async #call(client: Worker, lane: number, number: number): Promise<void> {
    const at = performance.now();
    const isWrite = number % 4 === 3;
    try {
      if (isWrite)
        await client.call({ function_id: "state::set", payload: { scope: "upgrade", key: `${lane}`, value: number } });
      else expect(await client.call({ function_id: "upgrade::echo", payload: number })).toBe(number);
      this.tookMs.push(performance.now() - at);
    } catch (error) {
      const code = CallError.is(error) ? `${error.code}: ${error.message}` : String(error);
      this.failures.push(`${isWrite ? "set" : "echo"} of client ${lane}: ${code}`);
    }
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#lanes);
  }
}

const HOW = ["drained and stopped", "stopped"] as const;

it.each(HOW.slice(0, amount(HOW.length, 1)))(
  `${RATE} calls per second lose none while each engine in turn is %s and starts again (G9)`,
  async (how) => {
    const program = BEFORE === undefined ? undefined : join(BEFORE, "packages/cli/bin/svc.js");
    scene = await ClusterScene.open({
      folder: faultsFolder("cluster-upgrade"),
      ...(program === undefined ? {} : { program }),
    });
    const all = NODES.map((name) => scene?.url(name) ?? "");
    /** The addresses, beginning with another one for each worker. */
    const from = (at: number): string => [...all.slice(at % 3), ...all.slice(0, at % 3)].join(",");
    const connected = async (name: string, at: number): Promise<Worker> => {
      const worker = connect(from(at), { name, handleSignals: false, logger: silentLogger });
      workers.push(worker);
      await worker.connected();
      return worker;
    };
    let [ran, jobs] = [0, 0];
    const ticks = new Map<string, number>();
    for (const [at] of NODES.entries()) {
      const worker = await connected(`worker-${at}`, at);
      worker.registerFunction("upgrade::echo", async (payload) => {
        // So that calls are in flight at any moment.
        await pause(20);
        return payload;
      });
      worker.registerFunction("upgrade::job", () => {
        ran += 1;
      });
      worker.registerFunction("upgrade::tick", ({ scheduled_time }: { readonly scheduled_time: string }) => {
        ticks.set(scheduled_time, (ticks.get(scheduled_time) ?? 0) + 1);
      });
      const trigger = worker.registerTrigger({
        type: "cron",
        function_id: "upgrade::tick",
        config: { expression: "* * * * * *", overlap: "allow" },
      });
      await trigger.registered;
    }
    const clients = await Promise.all(Array.from({ length: CLIENTS }, (_, at) => connected(`client-${at}`, at)));
    await scene.settled();
    const load = new SteadyCalls(clients);
    const restartMs: number[] = [];
    for (let round = 0; round < ROUNDS; round++)
      for (const name of NODES) {
        const before = load.tookMs.length;
        await eventually("calls are made again", () => load.tookMs.length > before + RATE, 30_000);
        for (let job = 0; job < 10; job++, jobs++)
          await clients[0]?.enqueue({ function_id: "upgrade::job", queue: "load", payload: null });
        const at = performance.now();
        if (how === "drained and stopped") await drain(scene, name);
        await scene.stop(name);
        await scene.startAgain(name);
        restartMs.push(performance.now() - at);
      }
    await eventually("all jobs ran", () => ran >= jobs, 30_000);
    await load.end();
    figure(
      `${restartMs.length} engines ${how} and started again, ${RATE} calls/s${BEFORE === undefined ? "" : ", from an earlier version"}`,
      `${load.tookMs.length} calls, ${load.failures.length} failed; took ${inMs(load.tookMs)}; ${jobs} jobs, ${ran} runs; ${ticks.size} ticks; a restart took ${inMs(restartMs)}`,
    );
    expect(load.failures).toEqual([]);
    expect([...ticks].filter(([, starts]) => starts > 1)).toEqual([]);
    expect(missing([...ticks.keys()])).toEqual([]);
    expect(ran).toBe(jobs);
    expect(scene.unexpected).toEqual([]);
  },
);

async function drain(scene: ClusterScene, name: NodeName): Promise<void> {
  const others = NODES.filter((each) => each !== name).map((each) => scene.url(each));
  const { code, stdout, stderr } = await svc(["nodes", "drain", name, "--json"], {
    cwd: scene.node(name).project,
    url: others.join(","),
    timeoutMs: 60_000,
  });
  expect([code, stderr]).toEqual([0, expect.stringContaining("Drained")]);
  const drained = JSON.parse(stdout) as NodeListing;
  expect(drained).toMatchObject({ name, state: "drained", report: { workers: 0 } });
  expect(await scene.readyStatus(name)).toBe(503);
}

/** Seconds between the first and the last tick that have none. */
function missing(ticks: readonly string[]): readonly string[] {
  const seconds = ticks.map((tick) => Math.floor(Date.parse(tick) / 1_000)).sort((one, other) => one - other);
  return seconds.slice(1).flatMap((second, at) => {
    const before = seconds[at] ?? second;
    return Array.from({ length: second - before - 1 }, (_, by) => new Date((before + by + 1) * 1_000).toISOString());
  });
}
