import { expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES } from "./cluster-scene.ts";
import { faultsFolder, ImageDisk } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const CUTS = amount(20, 2);

it(`${CUTS} power cuts of all engines and all NATS servers lose nothing that was acknowledged (G1, G2)`, async () => {
  const { seed, random } = seeded();
  say(`power cuts of a cluster: seed ${seed}; SVC_SEED=${seed} repeats the moments`);
  const folder = faultsFolder("cluster-power-cut");
  const disk = new ImageDisk(folder, 1_024);
  let scene: ClusterScene | undefined;
  let load: ClusterLoad | undefined;
  const upMs: number[] = [];
  try {
    const opened = await ClusterScene.open({ folder, data: disk.mountPoint });
    scene = opened;
    load = await ClusterLoad.start(scene);
    for (let cut = 1; cut <= CUTS; cut++) {
      await pause(random() * 3_000);
      // Stopped first: a copy made while they write is not consistent.
      for (const { process } of scene.servers.servers) process.kill("SIGSTOP");
      for (const name of NODES) scene.signal(name, "SIGSTOP");
      load.began("power cut", NODES);
      await disk.cut(() => opened.killAll());
      const at = performance.now();
      await opened.startAll();
      await load.progress();
      upMs.push(performance.now() - at);
      expect(load.problems()).toEqual([]);
      say(`power cut ${cut}: ${load.summary()}`);
    }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(
      `${CUTS} power cuts of a cluster by block-device snapshot`,
      `${load.summary()}; ${problems.length} violations`,
    );
    figure("a cluster works again after a power cut, from the start of its processes on", inSeconds(upMs));
    expect(problems).toEqual([]);
  } finally {
    await load?.stop();
    await scene?.close();
    disk.unmount();
  }
});
