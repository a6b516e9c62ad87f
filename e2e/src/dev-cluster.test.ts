import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync, mkdirSync, symlinkSync } from "node:fs";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { natsProgram } from "@svc-runtime/engine/testing";
import { connect, createLogger, type Worker } from "@svc-runtime/sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openLive } from "./console/support/watched-page.ts";
import { svc } from "./support/cli.ts";
import { eventually, isRunning, killHard } from "./support/processes.ts";
import { type WorkerProject, workerProject } from "./support/worker-project.ts";

const svcBin = fileURLToPath(new URL("../../packages/cli/bin/svc.js", import.meta.url));
const FREE = ["--bridge-port", "0", "--http-port", "0", "--ws-port", "0", "--console-port", "0"];

let project: WorkerProject;
let env: NodeJS.ProcessEnv;
let dev: ChildProcess;
let output = "";
const clients: Worker[] = [];

/** A process as the table of `svc dev` shows it. */
function row(name: string): { readonly pid: number; readonly address: string } {
  const [, pid, address] = new RegExp(`^ +${name} +(\\d+) +(\\S+)`, "m").exec(output) ?? [];
  if (pid === undefined || address === undefined) throw new Error(`there is no ${name} in:\n${output}`);
  return { pid: Number(pid), address };
}

function clientOf(...names: readonly string[]): Worker {
  const client = connect(names.map((name) => row(`engine ${name}`).address).join(","), {
    name: `client of ${names.join(", ")}`,
    handleSignals: false,
    logger: createLogger({ level: "silent", write: () => {} }),
    reconnect: { initialDelayMs: 50, maxDelayMs: 200 },
  });
  clients.push(client);
  return client;
}

const shown = (text: string): Promise<void> => eventually(`it shows ${text}`, () => output.includes(text), 60_000);

beforeAll(async () => {
  project = workerProject({ configured: ["hello"] });
  appendFileSync(
    join(project.folder, "config.yaml"),
    // As `svc worker add` writes them for one engine.
    "modules: [{name: svc-state, config: {adapter: {name: file_based}}}, {name: svc-queue}]\n",
  );
  const bin = join(project.folder, "bin");
  mkdirSync(bin);
  symlinkSync(natsProgram(), join(bin, "nats-server"));
  const { SVC_URL: _, ...inherited } = process.env;
  env = { ...inherited, NO_COLOR: "1", PWD: project.folder, PATH: `${bin}${delimiter}${process.env.PATH}` };
  dev = spawn(process.execPath, [svcBin, "dev", "--cluster", "3", ...FREE], {
    cwd: project.folder,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  for (const stream of [dev.stdout, dev.stderr])
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
    });
  await shown("svc dev is running");
});
afterAll(async () => {
  for (const client of clients) await client.shutdown();
  if (dev.exitCode === null && dev.signalCode === null) dev.kill("SIGKILL");
  await project.isQuiet();
  project.remove();
});

describe("svc dev --cluster 3", () => {
  it("runs the workers, each at one engine, and any engine calls them", async () => {
    // It runs at engine b.
    const added = await svc(["worker", "add", "./workers/there", "--json"], { cwd: project.folder });
    expect(JSON.parse(added.stdout)).toMatchObject({ workers: [{ name: "there", status: "ready" }], failed: [] });
    for (const name of ["hello", "there"]) await eventually(`${name} is ready`, () => isReady(name), 60_000);

    const { stdout } = await svc(["trigger", "hello::greet", "whom=Ada"], { cwd: project.folder });
    expect(stdout).toBe('{"greeting":"Hello Ada"}\n');
    for (const name of ["a", "b", "c"]) {
      const client = clientOf(name);
      expect(await client.call({ function_id: "there::greet", payload: { whom: "Ada" } })).toEqual({
        greeting: "Hello Ada",
      });
    }
    const second = await svc(["dev", "--cluster", "3", ...FREE], {
      cwd: project.folder,
      env: { PATH: env.PATH ?? "" },
    });
    expect(second).toMatchObject({ code: 1, stderr: expect.stringContaining("Another svc dev --cluster") as string });
  });

  // That nothing is lost meanwhile is tested under load without `svc dev`, in `cluster.test.ts`.
  it("starts an engine and a NATS server that are killed again, while the others go on", async () => {
    const client = clientOf("b", "c");
    const ops = [{ type: "increment", path: "", by: 1 }];
    let written = 0;
    const write = async (): Promise<void> => {
      await client.call({ function_id: "state::update", payload: { scope: "s", key: "counter", ops } });
      written += 1;
    };
    const writingUntil = (what: string, line: RegExp): Promise<void> =>
      eventually(
        what,
        async () => {
          await write();
          return line.test(output);
        },
        60_000,
      );
    await write();

    const { pid } = row("engine a");
    killHard(pid);
    await shown("it has ended (SIGKILL); it restarts");
    await writingUntil("engine a runs again", /engine a +\| it runs again, as process \d+/);
    const ofA = clientOf("a");
    await eventually("its worker is ready again", async () => {
      const answer = await ofA.call({ function_id: "hello::greet", payload: { whom: "Bo" } }).catch(() => undefined);
      return (answer as { greeting?: unknown } | undefined)?.greeting === "Hello Bo";
    });

    // Those of the other engines run on.
    expect(output).not.toMatch(/^there .*restarts/m);

    killHard(row("nats n1").pid);
    await writingUntil("it runs again", /nats n1 +\| it runs again, as process \d+/);
    expect(await client.call({ function_id: "state::get", payload: { scope: "s", key: "counter" } })).toBe(written);
  });

  it("drains an engine from the console, and takes it back", async () => {
    const [, consoleUrl = ""] = /^ +console +(\S+)/m.exec(output) ?? [];
    const { page } = await openLive(new URL("/nodes", consoleUrl).href);
    const ofC = page
      .getByRole("grid", { name: "Nodes" })
      .getByRole("row")
      .filter({ hasText: row("engine c").address });
    await ofC.getByRole("button", { name: "Drain" }).click();
    const dialog = page.getByRole("dialog", { name: "Drain engine c?" });
    await dialog.getByRole("button", { name: "Drain" }).click();
    await ofC.getByText("Drained").waitFor();
    const { code, stderr } = await svc(["nodes", "undrain", "c"], { cwd: project.folder });
    expect([code, stderr]).toEqual([0, "Undrained c\n"]);
    await ofC.getByText("Up").waitFor();
  });

  it("stops everything at Ctrl-C", async () => {
    const pids = ["engine b", "engine c", "nats n2", "nats n3"].map((name) => row(name).pid);
    const again = [...output.matchAll(/it runs again, as process (\d+)/g)].map(([, pid]) => Number(pid));
    const ended = once(dev, "close");
    dev.kill("SIGINT");
    expect(await ended).toEqual([0, null]);
    expect(output).toContain("Stopping the console, the engines with their workers, and the NATS servers.");
    expect([...pids, ...again].filter(isRunning)).toEqual([]);
    await project.isQuiet();
  });
});

async function isReady(worker: string): Promise<boolean> {
  return new RegExp(`^${worker} +[|] [\\d:.]+ process is ready`, "m").test(output);
}
