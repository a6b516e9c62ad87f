import {
  closeSync,
  cpSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { Worker } from "@svc-runtime/sdk";
import { expect, it } from "vitest";
import { seeded } from "../state-load/plan.ts";
import { type EngineProcess, startEngine } from "../support/cli.ts";
import { connectCaller } from "../support/connect-caller.ts";
import { say } from "../support/say.ts";
import { faultsFolder } from "./disks.ts";
import { amount, figure } from "./runs.ts";

const ROUNDS_PER_FILE = amount(20, 2);
const ITEMS = 400;
const CONFIG = (dataDir: string) => `engine:
  data_dir: ${dataDir}
workers:
  - name: svc-state
  - name: svc-stream
  - name: svc-queue
    config: { queue_configs: { held: { concurrency: 1 } } }
`;

/** Result of a start with a flipped bit. */
type Outcome = "whole" | "reported" | "silent";

/** Everything acknowledged, as text. Rejects if it cannot be read. */
async function contents(worker: Worker): Promise<string> {
  const ask = (function_id: string, payload: unknown) => worker.call({ function_id, payload, timeoutMs: 10_000 });
  return JSON.stringify([
    await ask("state::entries", { scope: "flips", limit: 1_000 }),
    await ask("stream::list", { stream_name: "flips", group_id: "g" }),
    await ask("queue::peek", { queue: "held", limit: 1_000 }),
  ]);
}

/** Whether the engine reports a problem with its data, in its log or in its health. */
async function isReported(engine: EngineProcess, worker: Worker): Promise<boolean> {
  const { components } = await worker.call<{ components: Readonly<Record<string, { readonly status: string }>> }>({
    function_id: "engine::health::check",
    payload: {},
  });
  // A busy machine makes the event loop unhealthy.
  const isUnwell = Object.entries(components).some(
    ([name, { status }]) => name !== "event_loop" && name !== "disk" && status !== "healthy",
  );
  return isUnwell || /"level":"(?:warn|error)"[^\n]*(?:damage|corrupt|malformed|integrity)/i.test(engine.output());
}

it("a flipped bit in a write-ahead log is reported, or changes nothing that was acknowledged; for database files the result is measured", async () => {
  const folder = faultsFolder("bit-flips");
  const project = join(folder, "project");
  const master = join(folder, "master");
  const dataDir = join(project, "data");
  mkdirSync(project);
  writeFileSync(join(project, "config.yaml"), CONFIG(dataDir));
  const { seed, random } = seeded();
  say(`bit flips: seed ${seed}; SVC_SEED=${seed} repeats the bits`);
  const ports = await freePorts();
  const url = `ws://localhost:${ports.bridge}`;
  const start = () => startEngine({ cwd: project, ports });
  const kill = async (engine: EngineProcess): Promise<void> => {
    engine.child.kill("SIGKILL");
    await engine.exited;
  };

  let engine = await start();
  const writer = connectCaller(url);
  await writer.call({ function_id: "queue::pause", payload: { queue: "held" } });
  for (let n = 0; n < ITEMS; n++) {
    if (n === ITEMS / 2) {
      // A normal stop moves the logs' content into the database files.
      engine.child.kill("SIGTERM");
      await engine.exited;
      engine = await start();
      await writer.connected();
    }
    const text = `item ${n} `.repeat(20);
    await writer.call({ function_id: "state::set", payload: { scope: "flips", key: String(n), value: { n, text } } });
    if (n % 4 === 0)
      await writer.call({
        function_id: "stream::set",
        payload: { stream_name: "flips", group_id: "g", item_id: String(n), data: { n, text } },
      });
    if (n % 4 === 1)
      await writer.call({
        function_id: "queue::enqueue",
        payload: { queue: "held", function_id: "nobody", data: { n, text } },
      });
  }
  const expected = await contents(writer);
  await kill(engine);
  await writer.shutdown({ timeoutMs: 100 });
  cpSync(dataDir, master, { recursive: true });
  const files = readdirSync(master).filter(
    (name) => /\.db(?:-wal)?$/.test(name) && statSync(join(master, name)).size > 0,
  );
  expect(files.some((name) => name.endsWith("-wal"))).toBe(true);

  const silent: string[] = [];
  for (const kind of ["-wal", ".db"]) {
    const counts: Record<Outcome, number> = { whole: 0, reported: 0, silent: 0 };
    for (const file of files.filter((name) => name.endsWith(kind))) {
      for (let round = 0; round < ROUNDS_PER_FILE; round++) {
        rmSync(dataDir, { recursive: true, force: true });
        cpSync(master, dataDir, { recursive: true });
        const bit = Math.floor(random() * statSync(join(master, file)).size * 8);
        flip(join(dataDir, file), bit);
        const outcome = await outcomeOf(start, kill, url, expected);
        counts[outcome]++;
        if (outcome === "silent") silent.push(`${file} bit ${bit} of ${statSync(join(master, file)).size * 8}`);
      }
    }
    figure(
      `one flipped bit in a ${kind === "-wal" ? "write-ahead log" : "database file"} after an unclean stop`,
      `${counts.whole} times nothing was lost, ${counts.reported} times the engine reported the damage, ${counts.silent} times data was missing or wrong without a report`,
    );
  }
  for (const line of silent) say(`silent: ${line}`);
  // The last transaction of a log looks like one that a power cut interrupted; see docs/guarantees.md.
  expect(silent.filter((line) => line.includes("-wal")).length).toBeLessThanOrEqual(
    Math.ceil(files.filter((name) => name.endsWith("-wal")).length * ROUNDS_PER_FILE * 0.02),
  );
  rmSync(folder, { recursive: true, force: true });
  expect(existsSync(folder)).toBe(false);
});

async function outcomeOf(
  start: () => Promise<EngineProcess>,
  kill: (engine: EngineProcess) => Promise<void>,
  url: string,
  expected: string,
): Promise<Outcome> {
  let engine: EngineProcess;
  try {
    engine = await start();
  } catch (error) {
    // It fails to start, and names the file.
    if (!/\.db/.test((error as Error).message)) throw error;
    return "reported";
  }
  const worker = connectCaller(url);
  try {
    const found = await contents(worker).catch((error: Error) => `cannot be read: ${error.message}`);
    if (found === expected) return "whole";
    if (found.startsWith("cannot be read")) return "reported";
    return (await isReported(engine, worker)) ? "reported" : "silent";
  } finally {
    await worker.shutdown({ timeoutMs: 100 });
    await kill(engine);
  }
}

function flip(file: string, bit: number): void {
  const handle = openSync(file, "r+");
  try {
    const byte = Buffer.alloc(1);
    const at = Math.floor(bit / 8);
    readSync(handle, byte, 0, 1, at);
    byte[0] = (byte[0] as number) ^ (1 << (bit % 8));
    writeSync(handle, byte, 0, 1, at);
  } finally {
    closeSync(handle);
  }
}
