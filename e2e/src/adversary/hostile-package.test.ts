// A worker's folder from a stranger. Its commands run as the user, so users read it before adding it. Reading and
// listing it must be safe.
import { execFileSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { svc } from "../support/cli.ts";
import type { Client } from "./support/client.ts";
import { type Site, startSite } from "./support/site.ts";

const SOCKETS = pathToFileURL(createRequire(import.meta.url).resolve("ws")).href;
/** A worker that registers `NAME::ping`. */
const source = (name: string): string => `import WebSocket from ${JSON.stringify(SOCKETS)};
const socket = new WebSocket(process.env.SVC_URL);
const send = (message) => socket.send(JSON.stringify(message));
socket.on("open", () => {
  const data = { name: "${name}", runtime: "node", pid: process.pid };
  send({ type: "invokefunction", function_id: "engine::workers::register", data, action: { type: "void" } });
  send({ type: "registerfunction", id: "${name}::ping" });
});
socket.on("message", (text) => {
  const { type, invocation_id, function_id } = JSON.parse(text);
  if (type === "invokefunction") send({ type: "invocationresult", invocation_id, function_id, result: "${name}" });
});
`;
const manifest = (name: string, more = ""): string =>
  `name: ${name}\nruntime: { kind: javascript, entry: worker.mjs }\n${more}`;
const worker = (name: string, more = ""): Readonly<Record<string, string>> => ({
  "svc.worker.yaml": manifest(name, more),
  "worker.mjs": source(name),
});

let site: Site;
let owner: Client;
/** Contains the folders of all workers. */
let workers: string;
/** A folder beside the project, which no worker's folder may refer to. */
let outside: string;

beforeAll(async () => {
  outside = mkdtempSync(join(tmpdir(), "svc-outside-"));
  writeFileSync(join(outside, "worker.mjs"), source("outside"));
  workers = mkdtempSync(join(tmpdir(), "svc-workers-"));
  put("good", worker("good"));
  site = await startSite(() => entriesOf(["good"]));
  owner = site.owner;
  await owner.result("worker::wait", { name: "good" }, { timeout_ms: 60_000 });
  expect(await owner.result("good::ping")).toBe("good");
});
afterAll(async () => {
  await site?.stop();
  for (const folder of [workers, outside]) rmSync(folder, { recursive: true, force: true });
});

/** The control of every test: the valid worker still works, and nothing was written beside the project. */
afterEach(async () => {
  expect(await owner.result("good::ping")).toBe("good");
  expect(readdirSync(outside)).toEqual(["worker.mjs"]);
  enter(["good"]);
  await expect.poll(async () => (await localWorkers()).map(({ name }) => name), { timeout: 60_000 }).toEqual(["good"]);
});

/** Writes a worker's folder and returns its path. */
function put(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(workers, name);
  mkdirSync(folder, { recursive: true });
  for (const [file, text] of Object.entries(files)) writeFileSync(join(folder, file), text);
  return folder;
}

const entriesOf = (names: readonly string[]): string =>
  `workers:\n${names.map((name) => `  - { name: ${name}, path: ${join(workers, name)} }\n`).join("")}`;

/** Replaces the config file with one that lists these workers. */
function enter(names: readonly string[]): void {
  const next = join(site.folder, "next.yaml");
  writeFileSync(next, entriesOf(names));
  renameSync(next, join(site.folder, "config.yaml"));
}

interface WorkerStatus {
  readonly name: string;
  readonly kind: string;
  readonly state: string;
  readonly reason: string | null;
}

async function localWorkers(): Promise<readonly WorkerStatus[]> {
  const { workers } = (await owner.result("worker::list")) as { workers: WorkerStatus[] };
  return workers.filter(({ kind }) => kind === "local");
}

/** Lists these folders and resolves with the reason for which each one failed. */
async function failures(names: readonly string[]): Promise<Readonly<Record<string, string>>> {
  enter(["good", ...names]);
  const failed = async (): Promise<WorkerStatus[]> => (await localWorkers()).filter(({ state }) => state === "failed");
  await expect
    .poll(async () => (await failed()).map(({ name }) => name).sort(), { timeout: 60_000 })
    .toEqual([...names].sort());
  return Object.fromEntries((await failed()).map(({ name, reason }) => [name, reason ?? ""]));
}

describe("the folder of a worker, listed in the config file,", () => {
  it("with a manifest that is huge, deep, malformed, a device or a pipe fails with the reason, and others start", async () => {
    put("huge", { "svc.worker.yaml": `${manifest("huge")}# ${"x".repeat(300_000)}` });
    put("deep", { "svc.worker.yaml": `name: deep\nenv: ${"[".repeat(200_000)}` });
    const bomb = [..."bcdefghij"].map(
      (name, at) => `${name}: &${name} [${new Array(10).fill(`*${"abcdefghi"[at]}`).join(", ")}]`,
    );
    put("bomb", { "svc.worker.yaml": `a: &a [x, x, x, x, x, x, x, x, x, x]\n${bomb.join("\n")}\n` });
    put("prototype", { "svc.worker.yaml": manifest("prototype", "__proto__: { polluted: 1 }\n"), "worker.mjs": "" });
    symlinkSync("/dev/zero", join(put("device", {}), "svc.worker.yaml"));
    execFileSync("mkfifo", [join(put("pipe", {}), "svc.worker.yaml")]);
    mkdirSync(join(put("nested", {}), "svc.worker.yaml"));
    const reasons = await failures(["huge", "deep", "bomb", "prototype", "device", "pipe", "nested"]);
    expect(reasons).toMatchObject({
      huge: expect.stringContaining("at most 262144 are read"),
      deep: expect.stringContaining("nested deeper than 64 levels"),
      bomb: expect.stringContaining("holds more than 100000 values"),
      prototype: expect.stringContaining("__proto__ cannot be a key"),
      device: expect.stringContaining("it is not a regular file"),
      pipe: expect.stringContaining("it is not a regular file"),
      nested: expect.stringContaining("it is not a regular file"),
    });
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined();
  });

  it("cannot start a file outside of it by its entry, nor take over the address or the token of the engine", async () => {
    put("upwards", { "svc.worker.yaml": "name: upwards\nruntime: { kind: javascript, entry: ../../../worker.mjs }\n" });
    put("absolute", {
      "svc.worker.yaml": `name: absolute\nruntime: { kind: javascript, entry: ${join(outside, "worker.mjs")} }\n`,
    });
    put("hidden", {
      "svc.worker.yaml": "name: ../hidden\nruntime: { kind: javascript, entry: worker.mjs }\n",
      "worker.mjs": "",
    });
    put("address", worker("address", "env: { SVC_URL: ws://evil.example }\n"));
    put("run", worker("run", "env: { SVC_RUN_ID: forged }\n"));
    const reasons = await failures(["upwards", "absolute", "address", "run", "hidden"]);
    expect(reasons).toMatchObject({
      upwards: expect.stringContaining("is outside the worker's folder"),
      absolute: expect.stringContaining("is outside the worker's folder"),
      hidden: expect.stringContaining("contains other characters"),
      address: expect.stringContaining("the engine sets this variable"),
      run: expect.stringContaining("the engine sets this variable"),
    });
    expect(await owner.codeOf("outside::ping")).toBe("function_not_found");
  });

  it("whose package.json or list of requirements is a device does not hold up the engine", async () => {
    const folder = put("endless", worker("endless", "scripts: { install: 'true', start: node worker.mjs }\n"));
    for (const file of ["package.json", "requirements.txt", "yarn.lock"]) symlinkSync("/dev/zero", join(folder, file));
    writeFileSync(join(folder, ".env"), "SVC_URL=ws://evil.example\nSVC_TOKEN=forged\n");
    enter(["good", "endless"]);
    await expect.poll(() => owner.codeOf("endless::ping"), { timeout: 60_000 }).toBeUndefined();
    expect(await owner.result("endless::ping")).toBe("endless");
  });

  it("that writes control characters, long lines and what looks like a log line is shown without them, in its own log file only", async () => {
    const noise = `console.log("\\u001b[2J\\u001b]0;owned\\u0007cleared");
console.error(JSON.stringify({ level: "error", message: "forged by a worker" }));
console.log("y".repeat(300000));
console.log("end of noise");
`;
    put("noisy", { ...worker("noisy"), "worker.mjs": `${noise}${source("noisy")}` });
    enter(["good", "noisy"]);
    await expect.poll(() => owner.codeOf("noisy::ping"), { timeout: 60_000 }).toBeUndefined();
    const file = join(site.folder, ".svc", "logs", "noisy.log");
    await expect
      .poll(() => existsSync(file) && readFileSync(file, "utf8").includes("end of noise"), { timeout: 60_000 })
      .toBe(true);
    const shown = await svc(["worker", "logs", "noisy"], { cwd: site.folder });
    expect([shown.code, shown.stdout]).toEqual([0, expect.stringContaining("cleared")]);
    expect(shown.stdout).not.toContain("\u001b");
    expect(
      Math.max(
        ...readFileSync(file, "utf8")
          .split("\n")
          .map(({ length }) => length),
      ),
    ).toBeLessThan(70_000);
    expect(site.records().filter(({ message }) => message === "forged by a worker")).toEqual([]);
    expect(site.engine.output()).not.toContain("\u001b");
  });
});

describe("svc worker add", () => {
  it("refuses a hostile manifest with its place, shows no control characters, and edits and starts nothing", async () => {
    const before = readFileSync(join(site.folder, "config.yaml"), "utf8");
    put("escape", {
      "svc.worker.yaml": `name: "\\e]0;owned\\a"\nruntime: { kind: other }\nscripts: { install: touch ${outside}/installed, start: touch ${outside}/started }\n`,
    });
    const refused = await svc(["worker", "add", join(workers, "escape")], { cwd: site.folder });
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("svc.worker.yaml:1:7: name:")]);
    expect(refused.stdout + refused.stderr).not.toContain("\u001b");
    expect(readFileSync(join(site.folder, "config.yaml"), "utf8")).toBe(before);
  });

  it("says that a folder is a link to a place outside the project", async () => {
    const elsewhere = mkdtempSync(join(tmpdir(), "svc-elsewhere-"));
    try {
      for (const [file, text] of Object.entries(worker("linked"))) writeFileSync(join(elsewhere, file), text);
      symlinkSync(elsewhere, join(workers, "linked"));
      const added = await svc(["worker", "add", join(workers, "linked"), "--no-wait"], { cwd: site.folder });
      expect([added.code, added.stderr]).toEqual([0, expect.stringMatching(/is a symbolic link to/)]);
    } finally {
      rmSync(elsewhere, { recursive: true, force: true });
    }
  });
});
