import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { describe, expect, it } from "vitest";
import { problemsOf } from "../queue-load/check-history.ts";
import { Load } from "../queue-load/load.ts";
import { settled, summaryOf } from "../queue-load/read-results.ts";
import { seeded } from "../state-load/plan.ts";
import { startEngine } from "../support/cli.ts";
import { connectCaller } from "../support/connect-caller.ts";
import { say } from "../support/say.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure, runtimes } from "./runs.ts";
import { moments, pause, Scene } from "./scene.ts";

const STATE_KILLS = amount(50, 3);
const QUEUE_KILLS = amount(100, 3);
const OPERATIONS_PER_KILL = 400;

const QUEUES = `workers:
  - name: svc-queue
    config:
      queue_configs:
        ordered: {type: fifo, message_group_field: group, concurrency: 32, max_retries: 3, backoff_ms: 20}
        plain: {concurrency: 16, max_retries: 3, backoff_ms: 20}
`;

describe("an engine that is killed with -9 repeatedly", () => {
  it.each(runtimes())("keeps every acknowledged write of state, $name (F4)", async ({ name, node }) => {
    const folder = faultsFolder("kills");
    const operations = STATE_KILLS * OPERATIONS_PER_KILL;
    const scene = await Scene.open({ name: "kills", folder, dataDir: join(folder, "data"), operations, node });
    try {
      const { load, random } = scene;
      load.begin();
      for (const moment of moments(STATE_KILLS, operations, random)) {
        await load.reached(moment);
        await pause(random() * 50);
        await scene.kill();
        await scene.startAgain();
      }
      expect(await scene.problems(`${STATE_KILLS} times kill -9 under writes of state, ${name}`)).toEqual([]);
    } finally {
      await scene.close();
    }
  });

  it("loses no job, and keeps the order of groups (F4)", async () => {
    const project = join(faultsFolder("kills-queue"), "project");
    mkdirSync(project);
    writeFileSync(join(project, "config.yaml"), QUEUES);
    const ports = await freePorts();
    let engine = await startEngine({ cwd: project, ports });
    const { seed, random } = seeded();
    say(`kills of a queue: seed ${seed}`);
    const operations = QUEUE_KILLS * OPERATIONS_PER_KILL;
    const url = `ws://localhost:${ports.bridge}`;
    const load = await Load.start({ folder: join(project, "journals"), url, seed, operations });
    const caller = connectCaller(url);
    try {
      load.begin();
      for (const moment of moments(QUEUE_KILLS, operations, random)) {
        await load.reached(moment);
        await pause(random() * 50);
        engine.child.kill("SIGKILL");
        await engine.exited;
        engine = await startEngine({ cwd: project, ports });
      }
      await load.finished();
      const final = await settled(caller);
      const history = load.history();
      const problems = problemsOf(history, final);
      figure(`${QUEUE_KILLS} times kill -9 under jobs`, `${summaryOf(history, final)}; ${problems.length} violations`);
      expect(problems).toEqual([]);
    } finally {
      await caller.shutdown({ timeoutMs: 1_000 });
      await load.stop();
      engine.child.kill("SIGKILL");
      await engine.exited;
    }
  });
});
