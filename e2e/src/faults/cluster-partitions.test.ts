import type { Machine } from "@svc-runtime/engine/testing";
import { CallError, type Worker } from "@svc-runtime/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { eventually } from "../support/processes.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES, type NodeName, within } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { type Cut, Machines } from "./machines.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const CUTS = amount(10, 1);
/** The longest is longer than a write waits for the log (20 s), the shortest shorter than silence is noticed (6 s). */
const [LONGEST_MS, SHORTEST_MS] = [28_000, 3_000];
const LENGTHS_MS = Array.from(
  { length: CUTS },
  (_, at) => LONGEST_MS - (at * (LONGEST_MS - SHORTEST_MS)) / Math.max(1, CUTS - 1),
);
/** In a cut of this length the others surely expel the engine and run its jobs. */
const EXPELLED_MS = 15_000;
/**
 * In a cut of this length the engine surely refuses writes. Then it is not ready, and sends clients that know several
 * addresses to another one.
 */
const REFUSED_MS = 22_000;
const READY_MS = 60_000;
const CALL_MS = 60_000;
const LENGTHS = `${SHORTEST_MS / 1_000} to ${LONGEST_MS / 1_000} s`;

let machines: Machines | undefined;
let scene: ClusterScene | undefined;
let load: ClusterLoad | undefined;

afterEach(async () => {
  try {
    await load?.stop();
    await scene?.close();
  } finally {
    await machines?.remove();
    machines = scene = load = undefined;
  }
});

async function open(name: string, natsOf?: Parameters<typeof ClusterScene.open>[0]["natsOf"]) {
  const { seed, random } = seeded();
  say(`${name}: seed ${seed}; SVC_SEED=${seed} repeats the choice and the moments`);
  const folder = faultsFolder(name);
  machines = new Machines(folder, NODES.length);
  scene = await ClusterScene.open({ folder, machines, ...(natsOf && { natsOf }) });
  load = await ClusterLoad.start(scene);
  return { machines, scene, load, random, pick: () => NODES[Math.floor(random() * 3)] ?? "a" };
}

const machineOf = ({ all }: Machines, name: NodeName): Machine => all[NODES.indexOf(name)] as Machine;

interface Attempt {
  /** How it ended: `acknowledged`, or the code of the error. Undefined while it is open. */
  outcome: string | undefined;
  /** When it ended. */
  at: number;
  readonly ended: Promise<void>;
}

/** Makes a call whose end is looked at later. */
function attempt(worker: Worker, function_id: string, payload: unknown): Attempt {
  const end = (outcome: string): void => {
    Object.assign(made, { outcome, at: performance.now() });
  };
  const made: Attempt = {
    ...{ outcome: undefined, at: 0 },
    ended: worker.call({ function_id, payload, timeoutMs: CALL_MS }).then(
      () => end("acknowledged"),
      (error: unknown) => end(CallError.is(error) ? error.code : String(error)),
    ),
  };
  return made;
}

/** Heals a cut. Resolves when all engines are ready and all clients go on, with how long that took. */
async function heal(cut: Cut, scene: ClusterScene, load: ClusterLoad): Promise<number> {
  cut.heal();
  const from = performance.now();
  for (const name of NODES) {
    scene.live.add(name);
    await eventually(`the engine ${name} is ready`, async () => (await scene.readyStatus(name)) === 200, READY_MS);
  }
  await load.progress();
  say(load.lastFault());
  expect(load.problems()).toEqual([]);
  return performance.now() - from;
}

describe("a machine with an engine and its NATS server, of which all packets are dropped", () => {
  it("acknowledges nothing while the other two go on; then it joins again, and nothing is lost (G1, G2, G7)", async () => {
    // With its own server in the config, each engine stays connected to it, which has lost the majority.
    const ownServer: Parameters<typeof open>[1] = async (name, servers) =>
      servers.filter((_, at) => at === NODES.indexOf(name)).map(({ url }) => url);
    const { machines, scene, load, random, pick } = await open("cluster-partition-machine", ownServer);
    const kind = "a machine that is cut off";
    const [refused, joined]: [number[], number[]] = [[], []];
    for (const [number, ms] of LENGTHS_MS.entries()) {
      await pause(random() * 1_500);
      const name = pick();
      const cut = machines.cutOff(machineOf(machines, name));
      scene.live.delete(name);
      const { at } = load.began(kind, [name], { keepJobs: ms < EXPELLED_MS });
      const write = attempt(load.runner(name), "state::set", { scope: "cut", key: name, value: number });
      const other = load.runner(NODES.find((each) => each !== name) ?? "a");
      const seen = { scope: "cut", key: "seen" };
      const there = attempt(other, "state::set", { ...seen, value: number });
      if (ms >= EXPELLED_MS) {
        await within(CALL_MS, "the end of a write at a machine that is not cut off", there.ended);
        expect(there.outcome).toBe("acknowledged");
        const read = attempt(load.runner(name), "state::get", seen);
        await pause(Math.max(0, at + Math.min(ms, REFUSED_MS) - performance.now()));
        expect(read.outcome).not.toBe("acknowledged");
      }
      if (ms >= REFUSED_MS) {
        expect(await scene.readyStatus(name)).toBe(503);
        expect(write.outcome).toBe("store_unavailable");
        await load.progress({ except: name });
      }
      await pause(Math.max(0, at + ms - performance.now()));
      expect(write.outcome).not.toBe("acknowledged");
      if (write.outcome !== undefined) refused.push(write.at - at);
      joined.push(await heal(cut, scene, load));
      await within(CALL_MS, "the end of a write that was made at a machine that was cut off", write.ended);
    }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(`${CUTS} times ${kind}, for ${LENGTHS}`, `${load.summary()}; ${problems.length} violations`);
    figure(`the engine of ${kind} refuses a write after`, inSeconds(refused));
    figure(`jobs that the engine of ${kind} was running ran again after`, load.again(kind));
    figure(`pause of acknowledged writes at the others, ${kind}`, inSeconds(load.stalls(kind)));
    figure(`the same, of a client that knows all engines`, inSeconds(load.roamingStalls(kind)));
    figure(`all clients went on after the heal, ${kind}`, inSeconds(joined));
    expect(problems).toEqual([]);
  });
});

describe("two machines that cannot reach each other", () => {
  it("lose nothing, and start no tick twice, while both reach the third (G1, G2)", async () => {
    const { machines, scene, load, random, pick } = await open("cluster-partition-pair");
    const kind = "two machines that cannot reach each other";
    const joined: number[] = [];
    for (const ms of LENGTHS_MS) {
      await pause(random() * 1_500);
      const third = pick();
      const [one = "a", other = "b"] = NODES.filter((name) => name !== third);
      const cut = machines.cutBetween(machineOf(machines, one), machineOf(machines, other));
      const { at } = load.began(kind, [one, other], { keepJobs: true });
      await pause(Math.max(0, at + ms - performance.now()));
      joined.push(await heal(cut, scene, load));
    }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(`${CUTS} times ${kind}, for ${LENGTHS}`, `${load.summary()}; ${problems.length} violations`);
    figure(`pause of acknowledged writes at the third, ${kind}`, inSeconds(load.stalls(kind)));
    figure(`all clients went on after the heal, ${kind}`, inSeconds(joined));
    expect(problems).toEqual([]);
  });
});
