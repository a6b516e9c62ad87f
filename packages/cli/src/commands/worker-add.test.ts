import { readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { run } from "../main.ts";
import { PROBE_MANIFEST, startTestEngine, type TestEngine, type TestProject, testProject, writeProbeWorker } from "../running-engine.test-support.ts";
import { type RecordedShell, recordedShell } from "../shell.test-support.ts";

let project: TestProject;
let engine: TestEngine | undefined;
beforeEach(() => {
  project = testProject();
  engine = undefined;
});
afterEach(async () => {
  await engine?.stop();
  project.remove();
});

interface Ended {
  readonly status: ExitCode;
  readonly shell: RecordedShell;
}

async function svc(...args: readonly string[]): Promise<Ended> {
  const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH, SVC_URL: engine?.url ?? "ws://127.0.0.1:1" } });
  const status = await run(args, shell);
  return { status, shell };
}

const config = (): string => readFileSync(project.configFile, "utf8");

describe("svc worker add with an engine running", () => {
  it("installs, writes a relative path below the comments, waits, and says what one may expect", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    engine = await startTestEngine(project);

    const { status, shell } = await svc("worker", "add", "./workers/probe");

    expect(shell.written.notes).toMatch(
      /Worker probe-worker added to config\.yaml\n(Using cached deps|Dependencies installed in .*)\n(?:.*\n)*Worker auto-started\nReady: probe::ping \(1 function\)\n/,
    );
    expect(status).toBe(EXIT.done);
    expect(config()).toContain("# mine");
    expect(config()).toContain("path: ./workers/probe");
    expect(shell.written.out).toBe("");
    const called = await svc("trigger", "--function-id=probe::ping");
    expect(called.shell.written.out).toBe('{"pong":true}\n');
  }, 30_000);

  it("refuses a worker that is there already, and installs and restarts it with --force", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    engine = await startTestEngine(project);
    await svc("worker", "add", "./workers/probe");

    const again = await svc("worker", "add", "./workers/probe");
    const forced = await svc("worker", "add", "./workers/probe", "--force", "--json");

    expect(again.status).toBe(EXIT.failed);
    expect(again.shell.written.notes).toContain("--force");
    expect(forced.status).toBe(EXIT.done);
    expect(JSON.parse(forced.shell.written.out)).toMatchObject({
      name: "probe-worker",
      kind: "local",
      status: "ready",
      functions: ["probe::ping"],
      install: { status: "installed" },
    });
  }, 30_000);

  it("adds a built-in worker with its settings in plain sight", async () => {
    engine = await startTestEngine(project);

    const { status, shell } = await svc("worker", "add", "svc-http", "--json");

    expect(shell.written.notes).toContain("Worker svc-http added to config.yaml\n");
    expect(status).toBe(EXIT.done);
    expect(config()).toMatch(/# HTTP routes.*\n\s+- name: svc-http\n\s+config:\n\s+port: 3111\n/);
    expect(JSON.parse(shell.written.out)).toMatchObject({ name: "svc-http", kind: "built-in", status: "ready" });
  }, 30_000);

  it("lists what it added", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    engine = await startTestEngine(project);
    await svc("worker", "add", "./workers/probe");

    const listed = await svc("worker", "list");

    expect(listed.shell.written.out).toMatch(/^NAME +KIND +STATE +FUNCTIONS\n(.*\n)*probe-worker +local +ready +probe::ping\n/);
  }, 30_000);

  it("refuses a config file that is not the engine's", async () => {
    engine = await startTestEngine(project);
    writeFileSync(join(project.dir, "other.yaml"), "workers: []\n");

    const { status, shell } = await svc("worker", "add", "svc-http", "--config", "other.yaml");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain(project.configFile);
  }, 30_000);
});

describe("svc worker add without an engine", () => {
  it("adds to ./config.yaml and says that the worker starts with the next engine", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));

    const { status, shell } = await svc("worker", "add", "./workers/probe");

    expect(status).toBe(EXIT.done);
    expect(config()).toContain("name: probe-worker");
    expect(shell.written.notes).toContain("starts with the next one: svc --config config.yaml");
  });

  it("ends with 3 when there is no config file either", async () => {
    await writeProbeWorker(join(project.dir, "elsewhere/probe"));
    const shell = recordedShell({ cwd: join(project.dir, "elsewhere"), env: { SVC_URL: "ws://127.0.0.1:1" } });

    expect(await run(["worker", "add", "./probe"], shell)).toBe(EXIT.noEngine);
  });

  it("ends with 3 when the engine that was named is not there, and edits nothing", async () => {
    const { status } = await svc("worker", "add", "svc-http", "--url", "ws://127.0.0.1:1");

    expect(status).toBe(EXIT.noEngine);
    expect(config()).toBe("# mine\nworkers: []\n");
  });
});

describe("a worker that cannot be added", () => {
  it.each([
    ["a folder that is not there", "./workers/none", "no folder"],
    ["a file", "./config.yaml", "is a file"],
    ["a folder without a manifest", ".", "svc.worker.yaml"],
  ])("ends with 1 for %s and leaves the config file alone", async (_case, path, hint) => {
    const { status, shell } = await svc("worker", "add", path);

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain(hint);
    expect(config()).toBe("# mine\nworkers: []\n");
  });

  it("ends with 1 for a wrong key in the manifest, naming it", async () => {
    await writeProbeWorker(join(project.dir, "probe"), PROBE_MANIFEST.replace("entry:", "entri:"));

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("entri");
  });

  it("ends with 1 for an install that fails, with its last output, and leaves the config file alone", async () => {
    await writeProbeWorker(join(project.dir, "probe"), `${PROBE_MANIFEST}  install: echo no such package; exit 7\n`);

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("  no such package");
    expect(config()).toBe("# mine\nworkers: []\n");
  });

  it("ends with 1 when the config file is no YAML, naming the file", async () => {
    writeFileSync(project.configFile, "workers: [\n");
    await writeProbeWorker(join(project.dir, "probe"));

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("config.yaml:");
  });

  it("says how a path looks when a folder's name was taken for a built-in worker's", async () => {
    await mkdir(join(project.dir, "probe"));

    const { status, shell } = await svc("worker", "add", "probe");

    expect(status).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("svc worker add ./probe");
  });
});
