import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene } from "./cluster-scene.ts";
import { faultsFolder, SlowDisk } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const ROUNDS = amount(3, 1);
const SLOW_MS = amount(40_000, 10_000);
/** Writes per second that a slow disk takes. A sync needs several. */
const RATES = [100, 20];
const [SERVER, ENGINE, BOTH] = ["slow disk of one server", "slow disk of one engine", "slow disk of both"];

interface SlowDown {
  readonly kind: string;
  readonly rate: number;
  readonly slow: readonly SlowDisk[];
  /** How long it took until the clients of the engine went on after the disk was fast again. */
  readonly againMs: number[];
}

/** Makes disks slow for a time, and fast again. Clients of an engine that cannot follow the log wait; all others go on. */
async function slowDown(
  scene: ClusterScene,
  load: ClusterLoad,
  { kind, rate, slow, againMs }: SlowDown,
): Promise<void> {
  const except = kind === SERVER ? undefined : ("b" as const);
  for (const disk of slow) disk.limit(rate);
  load.began(`${kind}, ${rate} writes/s`, except === undefined ? [] : [except], { keepJobs: true });
  await pause(SLOW_MS);
  await load.progress({ except });
  say(`${load.lastFault()}; /readyz of b: ${await scene.readyStatus("b")}`);
  for (const disk of slow) disk.limit(undefined);
  const from = performance.now();
  await load.progress();
  if (except !== undefined) againMs.push(performance.now() - from);
}

it("a slow disk of a NATS server, of an engine and of both loses nothing, and the cluster keeps working (G1, G2, G8)", async () => {
  const { seed, random } = seeded();
  say(`slow disks in a cluster: seed ${seed}; SVC_SEED=${seed} repeats the choice and the moments`);
  const folder = faultsFolder("cluster-slow-disk");
  const data = join(folder, "data");
  const place = (...path: readonly string[]): string => {
    const mountPoint = join(data, ...path);
    mkdirSync(mountPoint, { recursive: true });
    return mountPoint;
  };
  const disks: SlowDisk[] = [];
  let scene: ClusterScene | undefined;
  let load: ClusterLoad | undefined;
  const againMs: number[] = [];
  try {
    const server = new SlowDisk({ folder, name: "server", megabytes: 1_024, mountPoint: place("nats", "n1") });
    disks.push(server);
    const engine = new SlowDisk({ folder, name: "engine", megabytes: 512, mountPoint: place("b") });
    disks.push(engine);
    scene = await ClusterScene.open({ folder, data });
    load = await ClusterLoad.start(scene);
    for (let round = 1; round <= ROUNDS; round++)
      for (const rate of RATES)
        for (const [kind, slow] of [
          [SERVER, [server]],
          [ENGINE, [engine]],
          [BOTH, [server, engine]],
        ] as const) {
          await pause(random() * 2_000);
          await slowDown(scene, load, { kind, rate, slow, againMs });
          say(`${round}: ${load.lastFault()}`);
          expect(load.problems()).toEqual([]);
        }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(
      `slow disks in a cluster, by a limit of writes per second`,
      `${load.kinds()}; ${load.summary()}; ${problems.length} violations`,
    );
    figure("clients of the engine with a slow disk went on, after the disk was fast again", inSeconds(againMs));
    for (const rate of RATES)
      for (const kind of [SERVER, ENGINE, BOTH])
        figure(
          `longest pause of acknowledged writes, ${kind}, ${rate} writes/s`,
          inSeconds(load.stalls(`${kind}, ${rate} writes/s`)),
        );
    expect(problems).toEqual([]);
  } finally {
    for (const disk of disks) disk.limit(undefined);
    await load?.stop();
    await scene?.close();
    for (const disk of disks) disk.remove();
  }
});
