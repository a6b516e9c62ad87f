import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, expect, it, vi } from "vitest";
import { defaultEnvFile } from "../../local-workers/env-file.ts";
import type { Inspection } from "./inspect-worker.ts";
import { SupervisedProject, TIMEOUT } from "./testing/supervised-project.ts";

const project = new SupervisedProject();
const inFolder = (name: string): string => join(project.folder, name);

afterEach(() => {
  vi.unstubAllEnvs();
});

const writeWorker = (): Promise<void> =>
  project.writeWorker("w", {
    manifest: "name: w\nruntime: {kind: other}\nscripts: {start: exec sh worker.sh}\nenv: {C: manifest, D: manifest}\n",
    script: "echo has $A $B $C $D\nexec sleep 300\n",
  });
const log = (): Promise<string> => readFile(inFolder(".svc/logs/w.log"), "utf8").catch(() => "");
const logs = (text: string): Promise<void> => vi.waitFor(async () => expect(await log()).toContain(text), TIMEOUT);

it("a worker gets its .env, which all others overrule and nobody is shown, and is restarted when it changes", async () => {
  vi.stubEnv("B", "engine");
  await writeWorker();
  await writeFile(inFolder("w/.env"), "A=file\nB=file\nC=file\nD=file\n");
  await project.start([project.entry("w", { envFiles: [defaultEnvFile(inFolder("w"))], env: { D: "entry" } })]);
  await logs("has file engine manifest entry");
  expect(await project.call<Inspection>("worker::inspect", { name: "w" })).toMatchObject({
    env: { A: "***", B: "***", C: "manifest", D: "entry" },
    env_files: [inFolder("w/.env")],
    missing_env_files: [],
  });
  await writeFile(inFolder("w/.env"), "A=hunter2\n");
  await logs("has hunter2 engine manifest entry");
  expect(await log()).toContain("changed: .env");
  await rm(inFolder("w/.env"));
  expect(await project.call<Inspection>("worker::inspect", { name: "w" })).toMatchObject({
    env_files: [inFolder("w/.env")],
    missing_env_files: [inFolder("w/.env")],
  });
});

it("a worker is restarted when a file outside of its folder changes, be it renamed over the former; it runs on when that is gone", async () => {
  const file = inFolder("shared.env");
  await writeWorker();
  await writeFile(file, "A=one\n");
  await project.start([project.entry("w", { envFiles: [{ path: file, required: true }] })]);
  await logs("has one");
  await writeFile(inFolder("next.env"), "A=two\n");
  await rename(inFolder("next.env"), file);
  await logs("has two");
  await rm(file);
  await logs("there is no such file");
  expect(await project.status("w")).toMatchObject({
    state: expect.stringMatching(/starting|ready/) as string,
    reason: expect.stringContaining("keep running") as string,
  });
});

it("a worker gets what its .env holds when its install has ended", async () => {
  await project.writeWorker("w", {
    manifest: `name: w\nruntime: {kind: javascript}\nscripts: {install: "while [ ! -f go ]; do sleep 0.05; done; echo B=made >> .env", start: exec sh worker.sh}\n`,
    script: "echo has $A $B\nexec sleep 300\n",
  });
  await writeFile(inFolder("w/.env"), "A=before\n");
  await project.start([project.entry("w", { envFiles: [defaultEnvFile(inFolder("w"))] })]);
  await project.statusWith("w", ({ state }) => state === "installing");
  await writeFile(inFolder("w/.env"), "A=edited\n");
  await writeFile(inFolder("w/go"), "");
  await logs("has ");
  expect(await log()).toContain("has edited made");
  expect((await log()).match(/ install \$ /g)).toHaveLength(1);
});

it("a worker is restarted when a file of variables changes that its watch does not include, or leaves out", async () => {
  await writeWorker();
  await mkdir(inFolder("w/build"));
  await writeFile(inFolder("w/build/prod.env"), "A=one\n");
  const envFiles = [defaultEnvFile(inFolder("w")), { path: inFolder("w/build/prod.env"), required: true }];
  await project.start([project.entry("w", { envFiles, watch: { include: ["src"], ignore: ["*.env"] } })]);
  await logs("has one");
  await writeFile(inFolder("w/build/prod.env"), "A=two\n");
  await logs("has two");
  await writeFile(inFolder("w/.env"), "B=three\n");
  await logs("has two three");
});
