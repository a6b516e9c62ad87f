import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import type { LocalWorkerEntry } from "../../config/types.ts";
import { defaultEnvFile, type EnvFile } from "../../local-workers/env-file.ts";
import { type InMemoryEngine, inMemoryEngine } from "../../testing/index.ts";
import { createSupervisor } from "./index.ts";

const TIMEOUT = { timeout: 9_000, interval: 20 };

let project: string;
let folder: string;
let engine: InMemoryEngine;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "svc-env-files-"));
  folder = join(project, "w");
  await mkdir(folder);
  await writeFile(join(folder, "svc.worker.yaml"), "name: w\nruntime: {kind: other}\nscripts: {start: exec sh w.sh}\nenv: {C: manifest, D: manifest}\n");
  await writeFile(join(folder, "w.sh"), "echo has $A $B $C $D\nexec sleep 300\n");
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await engine.stop();
  await rm(project, { recursive: true, force: true });
});

async function start(envFiles: readonly EnvFile[], env: Readonly<Record<string, string>> = {}): Promise<void> {
  const entry: LocalWorkerEntry = { name: "w", path: folder, configuredPath: "./w", replicas: 1, watch: true, envFiles, env, where: "config.yaml:1" };
  const supervisor = createSupervisor({
    projectDir: project,
    logsDir: join(project, "logs"),
    runDir: join(project, "run"),
    bridgeUrl: () => "ws://localhost:1",
    claims: { claim: () => {}, settled: () => {}, release: () => {} },
    moduleStates: () => [],
  });
  engine = await inMemoryEngine({ modules: [supervisor], config: { supervisor: { workers: [entry] } } });
}

const log = (): Promise<string> => readFile(join(project, "logs/w.log"), "utf8").catch(() => "");
const logs = (text: string): Promise<void> => vi.waitFor(async () => expect(await log()).toContain(text), TIMEOUT);

it("a worker gets its .env, which all others overrule, and is restarted when it changes", async () => {
  vi.stubEnv("B", "engine");
  await writeFile(join(folder, ".env"), "A=file\nB=file\nC=file\nD=file\n");
  await start([defaultEnvFile(folder)], { D: "entry" });
  await logs("has file engine manifest entry");
  await writeFile(join(folder, ".env"), "A=hunter2\n");
  await logs("has hunter2 engine manifest entry");
  expect(await log()).toContain("changed: .env");
});

it("a worker is restarted when a file outside of its folder changes, be it renamed over the former", async () => {
  const file = join(project, "shared.env");
  await writeFile(file, "A=one\n");
  await start([{ path: file, required: true }]);
  await logs("has one");
  await writeFile(join(project, "next.env"), "A=two\n");
  await rename(join(project, "next.env"), file);
  await logs("has two");
});

it("a worker runs on with its former variables when a named file is gone, and that is said", async () => {
  const file = join(project, "shared.env");
  await writeFile(file, "A=one\n");
  await start([{ path: file, required: true }]);
  await logs("has one");
  await rm(file);
  await logs("there is no such file");
  expect(await engine.call("worker::status", { name: "w" })).toMatchObject({ reason: expect.stringContaining("run on") as string });
});
