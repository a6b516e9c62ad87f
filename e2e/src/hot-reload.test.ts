import { readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { eventually, isRunning, killHard, processesIn } from "./support/processes.ts";
import { SavedProject, type SavedStatus, SOURCES } from "./support/save-load.ts";

const sdk = fileURLToPath(new URL("../../packages/sdk/dist/node.js", import.meta.url));
/** Connects once the file `go` exists. */
const HELD_BACK = `import { existsSync } from "node:fs";
import { connect } from ${JSON.stringify(sdk)};
while (!existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
connect().registerFunction("slow::pid", () => process.pid);
`;
/** Ends at SIGTERM at once, as a worker without an SDK does. Its first version waits for the file `go`. */
const ABRUPT = (version: number): string => `import { existsSync } from "node:fs";
import { connect } from ${JSON.stringify(sdk)};
connect({ handleSignals: false }).registerFunction("abrupt::version", async () => {
  while (${version} === 0 && !existsSync("go")) await new Promise((resolve) => setTimeout(resolve, 20));
  return ${version};
});
`;
const WORKERS = ["node", "python", "slow", "abrupt"];

const project = new SavedProject();

const isReady = ({ state }: SavedStatus): boolean => state === "ready";

beforeAll(async () => {
  for (const [name, source] of Object.entries(SOURCES)) project.write(name, { ...source, text: source.text(0) });
  const node = { file: "worker.mjs", manifest: `exec ${process.execPath} worker.mjs` };
  project.write("slow", { ...node, text: HELD_BACK, more: "watch: {ignore: [go]}\n" });
  project.save("slow", "go", "");
  project.write("abrupt", { ...node, text: ABRUPT(0), more: "watch: {ignore: [go]}\n" });
  await project.start(WORKERS);
});

afterAll(() => project.close());

describe("a worker whose source is saved under load (P-5)", () => {
  it.each([
    ["node", 5],
    ["python", 2],
  ] as const)("answers every call and request, and runs each version: %s", async (name, saves) => {
    expect((await project.saveUnderLoad(name, { saves })).failures).toEqual([]);
    expect(project.engine.output()).not.toMatch(/taken by/);
  });

  it("finishes its calls before it is stopped, also if it does not do so itself", async () => {
    await project.statusWith("abrupt", isReady);
    const version = (): Promise<unknown> => project.caller.call({ function_id: "abrupt::version", payload: {} });
    const call = version();
    project.save("abrupt", "worker.mjs", ABRUPT(1));
    await project.statusWith("abrupt", ({ replicas }) => replicas.some(({ state }) => state === "stopping"));
    expect(await version()).toBe(1);
    project.save("abrupt", "go", "");
    expect(await call).toBe(0);
    await project.statusWith("abrupt", isReady);
  });
});

describe("an engine that is killed while it replaces a worker (P-5)", () => {
  it("has recorded both processes, and ends both", async () => {
    const before = await project.statusWith("slow", isReady);
    rmSync(join(project.folder, "slow/go"));
    project.save("slow", "worker.mjs", `${HELD_BACK}// edited\n`);
    const during = await project.statusWith(
      "slow",
      ({ state, replicas }) =>
        state === "replacing" && replicas.every(({ pid }) => pid !== null) && replicas.length === 2,
    );
    expect(during.replicas.map(({ index, state }) => `${index} ${state}`)).toEqual(["1 ready", "1 starting"]);
    expect(during.pids).toEqual(expect.arrayContaining([...before.pids]));
    expect(await project.caller.call({ function_id: "slow::pid", payload: {} })).toBe(before.replicas[0]?.pid);
    const records = join(project.folder, ".svc/run/workers");
    const noted = (): string[] =>
      readdirSync(records).filter(
        (file) => file.endsWith(".json") && readFileSync(join(records, file), "utf8").includes('"slow"'),
      );
    await eventually("both are noted", () => noted().length === 2);
    killHard(project.engine.pid);
    await project.engine.exited;
    await eventually(
      "neither is alive",
      () => !during.pids.some(isRunning) && processesIn(project.folder).length === 0,
    );
    await project.caller.shutdown({ timeoutMs: 1 });
    project.save("slow", "go", "");
    await project.start(WORKERS);
    const after = await project.statusWith("slow", isReady);
    expect(after.replicas).toHaveLength(1);
    expect(after.pids).toHaveLength(1);
  });
});
