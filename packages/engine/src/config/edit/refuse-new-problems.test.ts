// biome-ignore-all lint/suspicious/noTemplateCurlyInString: the variables of a config file are written this way
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { loadModules } from "../../modules/index.ts";
import { parseConfig } from "../load.ts";
import { addWorkerToConfig, removeWorkerFromConfig } from "./edit-config.ts";

const modules = await loadModules();
const check = { env: {}, modules };
let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "svc-refuse-new-problems-"));
  file = join(folder, "config.yaml");
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const saved = (): Promise<string> => readFile(file, "utf8");
const DB = "  - name: db\n    path: ./db\n";
const APP = "  - name: app\n    path: ./app\n    depends_on: [db]\n";
const BUILD = "  - name: svc-exec\n    config:\n      commands:\n        - name: build\n          command: make\n";

it.each([
  ["a worker", `workers:\n${APP}${DB}`, "db", "app depends on db. "],
  [
    "a worker of which the engine knows a variable and we do not",
    `workers:\n${APP}${DB}    env: {A: "\${OURS}"}\n`,
    "db",
    "app depends on db. ",
  ],
  [
    "a module",
    `workers:\n${APP.replace("db", "svc-state")}  - name: svc-state\n`,
    "svc-state",
    "app depends on svc-state. ",
  ],
  ["the commands of svc-exec", `workers:\n${BUILD}${APP.replace("db", "build")}`, "svc-exec", "app depends on build. "],
  ["what a command waits for", `workers:\n${DB}${BUILD}          depends_on: [db]\n`, "db", "build depends on db. "],
])("does not remove %s that something waits for, and names that", async (_what, text, name, message) => {
  await writeFile(file, text);

  await expect(removeWorkerFromConfig(file, name, { check })).rejects.toMatchObject({
    code: "would_be_refused",
    message: expect.stringContaining(message) as string,
  });

  expect(await saved()).toBe(text);
});

it("removes an entry on which nothing depends, also if the file already has problems", async () => {
  await writeFile(file, `workers:\n${DB}${APP}  - name: bad\n    path: ./bad\n    replica: 2\nengin: {}\n`);

  await removeWorkerFromConfig(file, "app", { check });
  await removeWorkerFromConfig(file, "db", { check });
  await removeWorkerFromConfig(file, "bad", { check });

  expect(await saved()).toBe("workers: []\nengin: {}\n");
});

it("does not add a worker by the name of a command", async () => {
  const text = `workers:\n${BUILD}`;
  await writeFile(file, text);

  await expect(addWorkerToConfig(file, { name: "build", path: "./build" }, { check })).rejects.toMatchObject({
    code: "would_be_refused",
    message: expect.stringContaining('"build" is already listed at config.yaml:5') as string,
  });

  expect(await saved()).toBe(text);
});

it("adds to a file whose variables only the engine has", async () => {
  await writeFile(file, 'engine: {bridge: {port: "${OURS}"}, drain_ms: "${WAIT:5}"}\n');
  expect(await addWorkerToConfig(file, { name: "db", path: "./db" }, { check })).toEqual({ changed: true });
});

it("writes the variables of a worker so that each is read as it was given", async () => {
  const env = { A: "a${NOPE}b", B: "${PATH}", C: "$${HOME}", D: "${", E: "1.10", F: "$5 {x}" };

  await addWorkerToConfig(file, { name: "db", path: "./db", env }, { check });

  expect(
    parseConfig(file, await saved(), { ...check, env: { PATH: "another", HOME: "another" } }).localWorkers[0]?.env,
  ).toEqual(env);
});
