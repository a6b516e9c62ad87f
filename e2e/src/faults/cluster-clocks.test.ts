import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { NodeListing } from "@svc-runtime/protocol/listings";
import { expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { svc } from "../support/cli.ts";
import { eventually } from "../support/processes.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES, type NodeName } from "./cluster-scene.ts";
import { faultsFolder, run } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const ROUNDS = amount(2, 1);
/** How long an engine runs with a wrong clock. */
const WRONG_MS = amount(45_000, 10_000);
const OFFSETS = [30_000, -30_000, 600_000, -600_000];

const shown = (offsetMs: number): string => `${Math.abs(offsetMs) / 1_000} s ${offsetMs > 0 ? "ahead" : "behind"}`;

it("an engine whose clock is 30 s or 10 minutes wrong loses nothing, starts no tick twice, and is shown (G1, G2)", async () => {
  const { seed, random } = seeded();
  say(`clocks in a cluster: seed ${seed}; SVC_SEED=${seed} repeats the choice and the moments`);
  const folder = faultsFolder("cluster-clocks");
  const shim = join(folder, "clock-offset.so");
  const source = fileURLToPath(new URL("../../src/faults/clock-offset.c", import.meta.url));
  run("cc", "-shared", "-fPIC", "-O1", "-o", shim, source, "-ldl");
  const scene = await ClusterScene.open({ folder });
  const load = await ClusterLoad.start(scene).catch(async (error: unknown) => {
    await scene.close();
    throw error;
  });

  async function restart(name: NodeName, offsetMs: number): Promise<void> {
    scene.signal(name, "SIGKILL");
    load.began(offsetMs === 0 ? "clock right again" : `clock ${shown(offsetMs)}`, [name]);
    scene.setEnv(name, offsetMs === 0 ? {} : { LD_PRELOAD: shim, CLOCK_OFFSET_MS: String(offsetMs) });
    await scene.startAgain(name);
  }

  /** As `svc nodes` shows it at another engine. */
  async function offsetOf(name: NodeName): Promise<number | undefined> {
    const asked = NODES.find((each) => each !== name) ?? "a";
    const options = { cwd: scene.node(asked).project, url: scene.url(asked), timeoutMs: 20_000 };
    const { code, stdout } = await svc(["nodes", "--json"], options);
    if (code !== 0) return undefined;
    const { nodes } = JSON.parse(stdout) as { readonly nodes: readonly NodeListing[] };
    return nodes.find((node) => node.name === name)?.report?.clock_offset_ms;
  }

  try {
    for (let round = 1; round <= ROUNDS; round++)
      for (const offsetMs of OFFSETS) {
        const name = NODES[Math.floor(random() * NODES.length)] ?? "a";
        await restart(name, offsetMs);
        await load.progress();
        const isShown = async (): Promise<boolean> => Math.abs(((await offsetOf(name)) ?? 0) - offsetMs) < 2_000;
        await eventually(`svc nodes shows that ${name} is ${shown(offsetMs)}`, isShown, 30_000);
        const options = { cwd: scene.node(name).project, url: scene.url(name), timeoutMs: 60_000 };
        const doctor = await svc(["doctor"], options);
        expect(doctor.stdout + doctor.stderr).toMatch(/clock is [\d.]+ s (ahead|behind)/);
        await pause(WRONG_MS);
        await load.progress();
        say(`${round}: ${load.lastFault()}`);
        expect(load.problems()).toEqual([]);
        await restart(name, 0);
        await load.progress();
        say(`${round}: ${load.lastFault()}`);
        expect(load.problems()).toEqual([]);
      }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(
      `${ROUNDS * OFFSETS.length} times an engine with a wrong clock`,
      `${load.kinds()}; ${load.summary()}; ${problems.length} violations`,
    );
    for (const kind of [...OFFSETS.map((offsetMs) => `clock ${shown(offsetMs)}`), "clock right again"])
      figure(`pause of acknowledged writes at the others, ${kind}`, inSeconds(load.stalls(kind)));
    expect(problems).toEqual([]);
  } finally {
    await load.stop();
    await scene.close();
  }
});
