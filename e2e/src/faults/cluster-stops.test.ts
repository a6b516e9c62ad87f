import type { NatsServer } from "@svc-runtime/engine/testing";
import { CallError } from "@svc-runtime/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { inSeconds } from "../cluster-load/outcomes.ts";
import { seeded } from "../state-load/plan.ts";
import { CuttableProxy } from "../support/cuttable-proxy.ts";
import { eventually } from "../support/processes.ts";
import { say } from "../support/say.ts";
import { ClusterLoad } from "./cluster-load.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES, within } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

const STOPS = amount(10, 1);
const CUTS = amount(10, 1);
const [SHORT_MS, LONG_MS] = [2_000, 10_000];
/** Longer than a write waits for the log. */
const CUT_MS = 28_000;

let scene: ClusterScene | undefined;
let load: ClusterLoad | undefined;
const proxies: CuttableProxy[] = [];

afterEach(async () => {
  await load?.stop();
  await scene?.close();
  await Promise.all(proxies.splice(0).map((proxy) => proxy.close()));
  scene = load = undefined;
});

async function open(name: string, natsOf?: Parameters<typeof ClusterScene.open>[0]["natsOf"]) {
  const { seed, random } = seeded();
  say(`${name}: seed ${seed}; SVC_SEED=${seed} repeats the choice and the moments`);
  scene = await ClusterScene.open({ folder: faultsFolder(name), ...(natsOf && { natsOf }) });
  load = await ClusterLoad.start(scene);
  return { scene, load, random, pick: () => Math.floor(random() * 3) };
}

describe("a cluster of which a process stands still", () => {
  it.each([SHORT_MS, LONG_MS])(
    "for %i ms loses nothing that was acknowledged, an engine or a server (G1, G2, G7, G8)",
    async (ms) => {
      const { scene, load, random, pick } = await open(`cluster-stops-${ms}`);
      const heldMs: number[] = [];
      // Long enough that the others expel an engine.
      const isLong = ms === LONG_MS;
      const [engine, server] = [`an engine that stands still for ${ms / 1_000} s`, `a server that does`];
      for (let stop = 0; stop < STOPS; stop++) {
        await pause(random() * 1_500);
        const name = NODES[pick()] ?? "a";
        const held = isLong ? await load.hold(name) : undefined;
        scene.signal(name, "SIGSTOP");
        const fault = load.began(engine, [name], { keepJobs: !isLong });
        await pause(ms);
        scene.signal(name, "SIGCONT");
        if (held !== undefined) heldMs.push((await held.ended(fault.at)).afterMs);
        await load.progress();
        say(load.lastFault());

        await pause(random() * 1_500);
        const { process } = scene.servers.servers[pick()] as NatsServer;
        process.kill("SIGSTOP");
        load.began(server);
        await pause(ms);
        process.kill("SIGCONT");
        await load.progress();
        expect(load.problems()).toEqual([]);
      }
      const problems = await load.finish();
      problems.push(...(await replicaProblems(scene)));
      figure(
        `${STOPS} times ${engine}, and ${STOPS} times ${server}`,
        `${load.summary()}; ${problems.length} violations`,
      );
      if (isLong) {
        figure(`calls in the hands of ${engine} failed after`, inSeconds(heldMs));
        figure(`jobs in the hands of ${engine} ran again after`, load.again(engine));
      }
      for (const kind of [engine, server])
        figure(`pause of acknowledged writes at the others, ${kind}`, inSeconds(load.stalls(kind)));
      expect(problems).toEqual([]);
    },
  );
});

describe("an engine that is cut off from the NATS servers", () => {
  it("refuses writes and is not ready, while the others go on and run its jobs; then it joins again", async () => {
    const { scene, load, random } = await open("cluster-cut-off", async (name, servers) => {
      if (name !== "a") return servers.map(({ url }) => url);
      for (const { port } of servers) proxies.push(await CuttableProxy.start(port));
      return proxies.map(({ url }) => url);
    });
    const kind = "an engine that is cut off";
    const [unready, refused]: [number[], number[]] = [[], []];
    for (let cut = 0; cut < CUTS; cut++) {
      await pause(random() * 1_500);
      for (const proxy of proxies) proxy.cut();
      const { at } = load.began(kind, ["a"]);
      const write = load.runner("a").call({
        function_id: "state::set",
        payload: { scope: "cut", key: "k", value: cut },
        timeoutMs: 60_000,
      });
      const failed = write.then(
        () => expect.unreachable("a write at an engine without servers was acknowledged"),
        (error: unknown) => {
          refused.push(performance.now() - at);
          expect(CallError.is(error) && error.code).toBe("store_unavailable");
        },
      );
      await eventually("the engine is not ready", async () => (await scene.readyStatus("a")) === 503, 30_000);
      unready.push(performance.now() - at);
      await within(60_000, "the end of a write at an engine without servers", failed);
      await pause(Math.max(0, at + CUT_MS - performance.now()));
      for (const proxy of proxies) proxy.heal();
      await eventually("the engine is ready again", async () => (await scene.readyStatus("a")) === 200, 60_000);
      await load.progress();
      say(load.lastFault());
      expect(load.problems()).toEqual([]);
    }
    const problems = await load.finish();
    problems.push(...(await replicaProblems(scene)));
    figure(`${CUTS} times ${kind} from all servers`, `${load.summary()}; ${problems.length} violations`);
    figure(`${kind} is not ready after`, inSeconds(unready));
    figure(`${kind} refuses a write after`, inSeconds(refused));
    figure(`jobs in the hands of ${kind} ran again after`, load.again(kind));
    figure(`pause of acknowledged writes at the others, ${kind}`, inSeconds(load.stalls(kind)));
    expect(problems).toEqual([]);
  });
});
