import { readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { connect, silentLogger } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { inMs } from "../cluster-load/outcomes.ts";
import { say } from "../support/say.ts";
import { replicaProblems } from "./cluster-replicas.ts";
import { ClusterScene, NODES } from "./cluster-scene.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";
import { pause } from "./scene.ts";

/** 1 GB of values, or 50 MB. */
const CALLS = amount(320, 16);
const [ITEMS, BYTES] = [50, 65_536];
const SNAPSHOT_AFTER = amount(268_435_456, 16_777_216);
const START_MS = 600_000;
const CALL_MS = 60_000;
/** How long writes are measured without a seeding. */
const BEFORE_MS = amount(10_000, 2_000);

it("an engine without data is seeded with 1 GB of items while the others are written to", async () => {
  const scene = await ClusterScene.open({ folder: faultsFolder("cluster-seeding"), snapshotAfter: SNAPSHOT_AFTER });
  const client = connect(scene.url("a"), { name: "writer", handleSignals: false, logger: silentLogger });
  try {
    await client.connected();
    await scene.stop("c");
    const value = "x".repeat(BYTES);
    for (let call = 0; call < CALLS; call++) {
      const items = Array.from({ length: ITEMS }, (_, item) => ({ scope: "large", key: `${call} ${item}`, value }));
      await client.call({ function_id: "state::set_many", payload: { items }, timeoutMs: CALL_MS });
    }
    rmSync(dirname(scene.replicaOf("c", "state")), { recursive: true });
    const megabytes = statSync(scene.replicaOf("a", "state")).size / 1e6;
    say(`${megabytes.toFixed(0)} MB at a`);

    let isOver = false;
    const writes = async (): Promise<number[]> => {
      const tookMs: number[] = [];
      while (!isOver) {
        const from = performance.now();
        const payload = { scope: "small", key: "k", value: tookMs.length };
        await client.call({ function_id: "state::set", payload, timeoutMs: CALL_MS });
        tookMs.push(performance.now() - from);
      }
      return tookMs;
    };
    const before = writes();
    await pause(BEFORE_MS);
    isOver = true;
    const beforeMs = await before;
    isOver = false;
    const during = writes();
    const from = performance.now();
    await scene.startAgain("c", START_MS);
    const startMs = performance.now() - from;
    isOver = true;
    const duringMs = await during;
    expect(scene.node("c").engine.output()).toContain("a replica is made from a snapshot");
    const { pid } = scene.node("c").engine;
    const [, peakKb] = /VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8")) ?? [];
    await scene.settled();
    figure(
      `an engine without data is started in a cluster with ${megabytes.toFixed(0)} MB of items`,
      `up after ${(startMs / 1_000).toFixed(1)} s; its memory at most ${(Number(peakKb) / 1_024).toFixed(0)} MB`,
    );
    figure("writes one after the other, before it was started", inMs(beforeMs));
    figure("writes one after the other, while it was seeded", inMs(duringMs));
    expect(await replicaProblems(scene)).toEqual([]);
    expect(NODES.every((name) => statSync(scene.replicaOf(name, "state")).size / 1e6 > megabytes / 2)).toBe(true);
  } finally {
    await client.shutdown({ timeoutMs: 1_000 });
    await scene.close();
  }
});
