import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc/protocol/testing";
import type { Worker } from "@svc/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { connectLooker } from "./state-load/look.ts";
import { CallLoad } from "./support/call-load.ts";
import { type EngineProcess, startEngine } from "./support/cli.ts";
import { eventually, isRunning, killHard, processesIn } from "./support/processes.ts";

/** 100 calls per second. */
const CALL_EVERY_MS = 10;
const SAVES = 6;

const repository = fileURLToPath(new URL("../..", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "svc-hot-reload-"));

const node = (
  version: number,
): string => `import { connect } from ${JSON.stringify(join(repository, "packages/sdk/dist/node.js"))};
connect().registerFunction("node::version", async ({ ms }) => {
  await new Promise((resolve) => setTimeout(resolve, ms));
  return ${version};
});
`;
const python = (version: number): string => `import asyncio
import svc
worker = svc.connect()
@worker.function("python::version")
async def version(payload):
    await asyncio.sleep(payload["ms"] / 1000)
    return ${version}
worker.run()
`;
/** Connects once the file `go` exists. */
const HELD_BACK = `import { existsSync } from "node:fs";
import { connect } from ${JSON.stringify(join(repository, "packages/sdk/dist/node.js"))};
while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
connect().registerFunction("slow::pid", () => process.pid);
`;

interface Status {
  readonly state: string;
  readonly reason: string | null;
  readonly pids: readonly number[];
  readonly replicas: readonly { readonly index: number; readonly state: string; readonly pid: number | null }[];
}

let engine: EngineProcess;
let caller: Worker;

function write(name: string, files: Readonly<Record<string, string>>): void {
  mkdirSync(join(folder, name), { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, name, file), text);
}

const manifest = (name: string, start: string): string =>
  `name: ${name}\nruntime: {kind: other}\nscripts: {start: ${start}}\n`;

async function start(): Promise<void> {
  const ports = await freePorts();
  engine = await startEngine({ cwd: folder, ports });
  caller = connectLooker(`ws://localhost:${ports.bridge}`);
}

async function statusWith(name: string, isWanted: (status: Status) => boolean): Promise<Status> {
  let status: Status | undefined;
  await eventually(
    `${name} is as wanted`,
    async () => {
      status = await caller.call<Status>({ function_id: "worker::status", payload: { name } });
      return isWanted(status);
    },
    60_000,
  );
  return status as Status;
}

const isReady = ({ state }: Status): boolean => state === "ready";

beforeAll(async () => {
  write("node", { "worker.mjs": node(0), "svc.worker.yaml": manifest("node", `exec ${process.execPath} worker.mjs`) });
  write("python", {
    "worker.py": python(0),
    "svc.worker.yaml": manifest("python", `exec ${join(repository, ".venv/bin/python")} worker.py`),
  });
  write("slow", {
    "worker.mjs": HELD_BACK,
    go: "",
    "svc.worker.yaml": `${manifest("slow", `exec ${process.execPath} worker.mjs`)}watch: {ignore: [go]}\n`,
  });
  const env = `env: {PYTHONPATH: ${join(repository, "python/src")}}`;
  const entries = ["node", "python", "slow"].map((name) => `  - {name: ${name}, path: ${name}, ${env}}\n`);
  writeFileSync(join(folder, "config.yaml"), `workers:\n${entries.join("")}`);
  await start();
});

afterAll(async () => {
  await caller?.shutdown({ timeout_ms: 1 });
  engine?.child.kill("SIGTERM");
  await engine?.exited;
  rmSync(folder, { recursive: true, force: true });
});

describe("a worker whose source is saved under load (P-5)", () => {
  it.each([
    ["TypeScript", "node", "worker.mjs", node, SAVES],
    ["Python", "python", "worker.py", python, 2],
  ] as const)("answers every call, and runs each version: %s", async (_language, name, file, source, saves) => {
    await statusWith(name, isReady);
    // Most of them are short.
    const load = new CallLoad<number>({
      everyMs: CALL_EVERY_MS,
      call: (made) =>
        caller.call({ function_id: `${name}::version`, payload: { ms: made % 10 === 0 ? 50 : made % 5 } }),
    });
    for (let version = 1; version <= saves; version++) {
      const isNew = load.result((result) => result === version);
      write(name, { [file]: source(version) });
      await isNew;
      const { replicas } = await statusWith(name, isReady);
      expect(replicas).toHaveLength(1);
    }
    await caller.call({ function_id: "worker::restart", payload: { name } });
    await statusWith(name, isReady);
    await load.end();
    expect(load.failures).toEqual([]);
  });
});

describe("an engine that is killed while it replaces a worker (P-5)", () => {
  it("has recorded both processes, and ends both", async () => {
    const before = await statusWith("slow", isReady);
    rmSync(join(folder, "slow/go"));
    write("slow", { "worker.mjs": `${HELD_BACK}// edited\n` });
    const during = await statusWith(
      "slow",
      ({ state, replicas }) =>
        state === "replacing" && replicas.every(({ pid }) => pid !== null) && replicas.length === 2,
    );
    expect(during.replicas.map(({ index, state }) => `${index} ${state}`)).toEqual(["1 ready", "1 starting"]);
    expect(during.pids).toEqual(expect.arrayContaining([...before.pids]));
    expect(await caller.call({ function_id: "slow::pid", payload: {} })).toBe(before.replicas[0]?.pid);
    const records = join(folder, ".svc/run/workers");
    const noted = (): string[] =>
      readdirSync(records).filter(
        (file) => file.endsWith(".json") && readFileSync(join(records, file), "utf8").includes('"slow"'),
      );
    await eventually("both are noted", () => noted().length === 2);
    killHard(engine.pid);
    await engine.exited;
    await eventually("neither is alive", () => !during.pids.some(isRunning) && processesIn(folder).length === 0);
    await caller.shutdown({ timeout_ms: 1 });
    write("slow", { go: "" });
    await start();
    const after = await statusWith("slow", isReady);
    expect(after.replicas).toHaveLength(1);
    expect(after.pids).toHaveLength(1);
  });
});
