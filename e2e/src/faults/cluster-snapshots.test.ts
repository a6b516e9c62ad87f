import { readdirSync } from "node:fs";
import { dirname } from "node:path";
import { expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { eventually } from "../support/processes.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES, type NodeName } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const KILLS = amount(20, 3);
const [BEGUN, TAKEN] = ["a snapshot is being taken", "a snapshot was taken"];
/** Time within which a snapshot is made with so little data; the kill comes at a random instant in it. */
const MADE_MS = 300;

/** Files of snapshots and copies that are not complete. */
function drafts(scene: ClusterScene): readonly string[] {
  const folders = NODES.map((name) => dirname(scene.replicaOf(name, "state")));
  const isDraft = (name: string): boolean => name.includes(".snapshot") || name.endsWith(".seed");
  return folders.flatMap((folder) => readdirSync(folder).filter(isDraft));
}

it(`${KILLS} times kill -9 of an engine that takes a snapshot lose nothing, and the next snapshot is taken`, async () => {
  const { seed, random } = seeded();
  say(`kills during snapshots: seed ${seed}; SVC_SEED=${seed} repeats the moments`);
  const scene = await ClusterScene.open({ folder: faultsFolder("cluster-snapshots"), snapshotAfter: 65_536 });
  const load = await ClusterLoad.start(scene).catch(async (error: unknown) => {
    await scene.close();
    throw error;
  });
  const lines = (name: NodeName, text: string): number => scene.node(name).engine.output().split(text).length - 1;
  const sum = (text: string): number => NODES.reduce((total, name) => total + lines(name, text), 0);
  const againMs: number[] = [];
  let interrupted = 0;
  try {
    for (let kill = 1; kill <= KILLS; kill++) {
      const before = new Map(NODES.map((name) => [name, lines(name, BEGUN)]));
      let found: NodeName | undefined;
      await eventually(
        "an engine begins a snapshot",
        () => {
          found = NODES.find((name) => lines(name, BEGUN) > (before.get(name) ?? 0));
          return found !== undefined;
        },
        120_000,
      );
      if (found === undefined) throw new Error("no engine began a snapshot");
      const name = found;
      // The first one at once, so that at least one is interrupted.
      await pause(kill === 1 ? 0 : random() * MADE_MS);
      const { engine } = scene.node(name);
      scene.signal(name, "SIGKILL");
      load.began("engine during a snapshot", [name]);
      await engine.exited;
      if (lines(name, BEGUN) > lines(name, TAKEN)) interrupted += 1;
      const taken = sum(TAKEN) - lines(name, TAKEN);
      const from = performance.now();
      await scene.startAgain(name);
      await eventually("the next snapshot is taken", () => sum(TAKEN) > taken, 120_000);
      againMs.push(performance.now() - from);
      await load.progress();
      expect(load.problems()).toEqual([]);
    }
    const problems = await load.finish();
    await eventually("no engine has a file of a snapshot", () => drafts(scene).length === 0, 120_000);
    problems.push(...(await replicaProblems(scene)));
    figure(
      `${KILLS} times kill -9 of an engine that takes a snapshot`,
      `${interrupted} snapshots interrupted; ${load.summary()}; the next snapshot was taken after ${inSeconds(againMs)}; ${problems.length} violations`,
    );
    expect(problems).toEqual([]);
    expect(interrupted).toBeGreaterThan(0);
  } finally {
    await load.stop();
    await scene.close();
  }
});
