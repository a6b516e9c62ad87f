import { expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const KILLS = amount(200, 10);
/** Longer than the other engines take to see that it is gone, and to expel it. */
const AWAY_MS = 6_000;
const [BACK, AWAY, SERVER, ALL] = ["engine, started at once", "engine, away for 6 s", "one server", "all servers"];

it(`${KILLS} times kill -9 of an engine, a NATS server or all of them lose nothing that was acknowledged (G1, G2, G7, G8)`, async () => {
  const { seed, random } = seeded();
  say(`kills in a cluster: seed ${seed}; SVC_SEED=${seed} repeats the choice and the moments`);
  const scene = await ClusterScene.open({ folder: faultsFolder("cluster-kills") });
  const load = await ClusterLoad.start(scene).catch(async (error: unknown) => {
    await scene.close();
    throw error;
  });
  const heldMs: number[] = [];
  const pick = (count: number): number => Math.floor(random() * count);

  async function killEngine(): Promise<void> {
    const name = NODES[pick(NODES.length)] ?? "a";
    const isAway = random() < 0.5;
    const held = await load.hold(name);
    scene.signal(name, "SIGKILL");
    const fault = load.began(isAway ? AWAY : BACK, [name]);
    const failed = held?.ended(fault.at);
    if (isAway) await pause(AWAY_MS);
    await scene.startAgain(name);
    const how = await failed;
    if (how === undefined) return;
    expect(how.code).toBe("invocation_stopped");
    heldMs.push(how.afterMs);
  }

  async function killServers(which: readonly number[], kind: string): Promise<void> {
    const awayMs = random() * 3_000;
    const killed = which.map((at) => scene.killServer(at));
    load.began(kind);
    await Promise.all(killed);
    await pause(awayMs);
    await Promise.all(which.map((at) => scene.servers.servers[at]?.restart()));
  }

  try {
    for (let kill = 1; kill <= KILLS; kill++) {
      await pause(random() * 1_500);
      if (kill % 10 === 0) await killServers([0, 1, 2], ALL);
      else if (random() < 0.5) await killEngine();
      else await killServers([pick(3)], SERVER);
      await load.progress();
      say(`${kill}: ${load.lastFault()}`);
      expect(load.problems()).toEqual([]);
      if (kill % 10 === 0) say(`${kill} kills: ${load.summary()}`);
    }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(`${KILLS} times kill -9 in a cluster`, `${load.kinds()}; ${load.summary()}; ${problems.length} violations`);
    figure("calls in the hands of a killed engine failed after", inSeconds(heldMs));
    for (const kind of [BACK, AWAY]) figure(`jobs in the hands of a killed ${kind}, ran again after`, load.again(kind));
    figure("starts of engines took", inSeconds(scene.startMs));
    for (const kind of [BACK, AWAY, SERVER, ALL]) {
      const roaming = inSeconds(load.roamingStalls(kind));
      figure(
        `pause of acknowledged writes, ${kind} killed`,
        `${inSeconds(load.stalls(kind))} at each engine that lived; ${roaming} for clients with three addresses`,
      );
    }
    expect(problems).toEqual([]);
  } finally {
    await load.stop();
    await scene.close();
  }
});
