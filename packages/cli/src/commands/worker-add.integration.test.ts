import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { EXIT, type ExitCode } from "../exit-codes.ts";
import { run } from "../main.ts";
import {
  PROBE_MANIFEST,
  startTestEngine,
  type TestEngine,
  type TestProject,
  testProject,
  writeProbeWorker,
} from "../running-engine.test-support.ts";
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
  const shell = recordedShell({
    cwd: project.dir,
    env: { PATH: process.env.PATH, SVC_URL: engine?.url ?? "ws://127.0.0.1:1" },
  });
  const status = await run(args, shell);
  return { status, shell };
}

const first = ({ shell }: Pick<Ended, "shell">): unknown =>
  (JSON.parse(shell.written.out) as { workers: unknown[] }).workers[0];
const config = (): string => readFileSync(project.configFile, "utf8");

describe("svc worker add with an engine running", () => {
  it("installs, writes a relative path (gap 67) below the comments, waits, and shows what the worker provides", async () => {
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

  it("adds a worker that provides only a trigger type and names the type", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    const program = join(project.dir, "workers/probe/worker.mjs");
    const source = readFileSync(program, "utf8");
    writeFileSync(
      program,
      source.replace(
        '{ type: "registerfunction", id: "probe::ping" }',
        '{ type: "registertriggertype", id: "ticker", description: "ticks" }',
      ),
    );
    engine = await startTestEngine(project);

    const { status, shell } = await svc("worker", "add", "./workers/probe");

    expect(shell.written.notes).toContain("Ready: ticker (1 trigger type)\n");
    expect(status).toBe(EXIT.done);
  }, 30_000);

  it("rejects an existing worker, and installs and restarts it with --force", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    engine = await startTestEngine(project);
    await svc("worker", "add", "./workers/probe");

    const again = await svc("worker", "add", "./workers/probe");
    const forced = await svc("worker", "add", "./workers/probe", "--force", "--json");

    expect(again.status).toBe(EXIT.failed);
    expect(again.shell.written.notes).toContain("--force");
    expect(forced.status).toBe(EXIT.done);
    expect(first(forced)).toMatchObject({
      name: "probe-worker",
      kind: "local",
      status: "ready",
      functions: ["probe::ping"],
      install: { status: "installed" },
    });
  }, 30_000);

  it("adds a built-in worker with its default settings", async () => {
    engine = await startTestEngine(project);

    const { status, shell } = await svc("worker", "add", "svc-http", "--json");

    expect(shell.written.notes).toContain("Worker svc-http added to config.yaml\n");
    expect(status).toBe(EXIT.done);
    expect(config()).toMatch(/# HTTP routes.*\n\s+- name: svc-http\n\s+config:\n\s+port: 3111\n/);
    expect(first({ shell })).toMatchObject({ name: "svc-http", kind: "built-in", status: "ready" });
  }, 30_000);

  it("adds svc-stream with its default settings", async () => {
    engine = await startTestEngine(project);
    const { shell } = await svc("worker", "add", "stream", "--json");
    expect(config()).toMatch(
      /# Streams: .*\n\s+- name: svc-stream\n\s+config:\n\s+port: 3112\n\s+host: 127.0.0.1\n\s+adapter:\n\s+name: file_based\n/,
    );
    expect(first({ shell })).toMatchObject({ name: "svc-stream", kind: "built-in", status: "ready" });
  }, 30_000);

  it("lists the added worker", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    engine = await startTestEngine(project);
    await svc("worker", "add", "./workers/probe");

    const listed = await svc("worker", "list");

    expect(listed.shell.written.out).toMatch(
      /^NAME +KIND +STATE +CPU +MEMORY +RESTARTS +UPTIME +FUNCTIONS\n(.*\n)*probe-worker +local +ready +\d+\.\d% +\d+ MiB +0 +\d+ s +probe::ping\n/,
    );
  }, 30_000);

  it("lists the first of many functions with the number of the others, and all as JSON", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));
    const program = join(project.dir, "workers/probe/worker.mjs");
    const register = 'send({ type: "registerfunction", id: "probe::ping" });';
    const source = readFileSync(program, "utf8");
    expect(source).toContain(register);
    const many = `for (let n = 10; n < 29; n++) send({ type: "registerfunction", id: "probe::f" + n });\nsend({ type: "registertriggertype", id: "ticker", description: "" });`;
    writeFileSync(program, source.replace(register, many));
    engine = await startTestEngine(project);
    await svc("worker", "add", "./workers/probe");

    expect((await svc("worker", "list")).shell.written.out).toMatch(
      /ready .* probe::f10, probe::f11, probe::f12, and 16 more, trigger types: ticker\n/,
    );
    const { workers } = JSON.parse((await svc("worker", "list", "--json")).shell.written.out) as {
      workers: { name: string; functions: unknown[] }[];
    };
    expect(workers.find(({ name }) => name === "probe-worker")?.functions).toHaveLength(19);
  }, 30_000);

  it("rejects a config file that is not the engine's", async () => {
    engine = await startTestEngine(project);
    writeFileSync(join(project.dir, "other.yaml"), "workers: []\n");

    const { status, shell } = await svc("worker", "add", "svc-http", "--config", "other.yaml");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain(project.configFile);
  }, 30_000);
});

describe("an engine of another project", () => {
  let other: TestProject;
  beforeEach(() => {
    other = testProject();
  });
  afterEach(() => other.remove());

  /** A command in `other` that finds the engine of `project` at the port of its own config file. */
  async function svcInOther(...args: readonly string[]): Promise<Ended> {
    engine = await startTestEngine(project);
    writeFileSync(other.configFile, `engine: { bridge: { port: ${new URL(engine.url).port} } }\nworkers: []\n`);
    const shell = recordedShell({ cwd: other.dir, env: { PATH: process.env.PATH } });
    return { status: await run(args, shell), shell };
  }

  it.each([
    ["add", "svc-http"],
    ["restart", "svc-http"],
  ])(
    "is not changed by svc worker %s",
    async (...args) => {
      const { status, shell } = await svcInOther("worker", ...args);

      expect(status).toBe(EXIT.failed);
      expect(shell.written.notes).toContain(
        `belongs to another project: it runs with ${project.configFile}, not with ${other.configFile}`,
      );
      expect(shell.written.notes).toContain("--url");
      expect(config()).toBe("# mine\nworkers: []\n");
      expect(readFileSync(other.configFile, "utf8")).not.toContain("svc-http");
    },
    30_000,
  );

  it("is changed if its address is given", async () => {
    await svcInOther("worker", "list");
    const shell = recordedShell({ cwd: other.dir, env: { PATH: process.env.PATH } });

    expect(await run(["worker", "add", "svc-http", "--url", engine?.url ?? ""], shell)).toBe(EXIT.done);
    expect(config()).toContain("svc-http");
  }, 30_000);

  it("is reported by svc worker list, and only there", async () => {
    const listed = await svcInOther("worker", "list");
    const shell = recordedShell({ cwd: other.dir, env: { PATH: process.env.PATH } });
    const called = await run(["trigger", "--function-id=engine::info"], shell);

    expect(listed.status).toBe(EXIT.done);
    expect(listed.shell.written.notes).toContain(`is another project's; it runs with ${project.configFile}`);
    expect({ called, notes: shell.written.notes }).toEqual({ called: EXIT.done, notes: "" });
  }, 30_000);

  it("is used if there is no config file", async () => {
    engine = await startTestEngine(project);
    const shell = recordedShell({
      cwd: other.dir,
      env: { PATH: process.env.PATH, SVC_BRIDGE_PORT: new URL(engine.url).port },
    });
    rmSync(other.configFile);

    expect(await run(["worker", "add", "svc-http"], shell)).toBe(EXIT.done);
    expect(config()).toContain("svc-http");
  }, 30_000);

  it("is the project's own if the folder is reached through a link", async () => {
    engine = await startTestEngine(project);
    const link = join(other.dir, "link");
    symlinkSync(project.dir, link);
    const shell = recordedShell({
      cwd: link,
      env: { PATH: process.env.PATH, SVC_BRIDGE_PORT: new URL(engine.url).port },
    });

    expect(await run(["worker", "add", "svc-http"], shell)).toBe(EXIT.done);
  }, 30_000);
});

describe("a worker that crashes", () => {
  it("is reported at once with its last output, and only once", async () => {
    await writeProbeWorker(
      join(project.dir, "probe"),
      PROBE_MANIFEST.replace("node worker.mjs", "echo beforehand; echo SyntaxError here >&2; exit 3"),
    );
    engine = await startTestEngine(project);
    const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH, SVC_URL: engine.url } });
    const ended = run(["worker", "add", "./probe"], shell);

    await shell.noted(
      "Worker probe-worker crashed: it ended with exit code 3 (SyntaxError here) and restarts in 1 s\n",
    );
    await shell.noted("to recover");
    shell.stop("SIGINT");

    expect(await ended).toBe(EXIT.failed);
    expect(shell.written.notes.match(/\| beforehand/g)).toHaveLength(1);
    expect(shell.written.notes).toContain("It stays in config.yaml, and the engine keeps starting it");
    expect(shell.listeners()).toBe(0);
    const listed = await svc("worker", "list");
    expect(listed.shell.written.notes).toContain("SyntaxError here");
  }, 30_000);
});

describe("svc worker add without an engine", () => {
  it("adds to ./config.yaml and reports that the worker starts with the next engine", async () => {
    await writeProbeWorker(join(project.dir, "workers/probe"));

    const { status, shell } = await svc("worker", "add", "./workers/probe");

    expect(status).toBe(EXIT.done);
    expect(config()).toContain("name: probe-worker");
    expect(shell.written.notes).toContain("starts with the next one: svc dev\n");
  });

  it("exits with 3 if there is no config file either", async () => {
    await writeProbeWorker(join(project.dir, "elsewhere/probe"));
    const shell = recordedShell({ cwd: join(project.dir, "elsewhere"), env: { SVC_URL: "ws://127.0.0.1:1" } });

    expect(await run(["worker", "add", "./probe"], shell)).toBe(EXIT.noEngine);
  });

  it("exits with 3 if the given engine is not reachable, and edits nothing", async () => {
    const { status } = await svc("worker", "add", "svc-http", "--url", "ws://127.0.0.1:1");

    expect(status).toBe(EXIT.noEngine);
    expect(config()).toBe("# mine\nworkers: []\n");
  });
});

describe("a worker that cannot be added", () => {
  it.each([
    ["a missing folder", "./workers/none", "not found"],
    ["a file", "./config.yaml", "is a file"],
    ["a folder without a manifest", ".", "svc.worker.yaml"],
  ])("exits with 1 for %s and does not change the config file", async (_case, path, hint) => {
    const { status, shell } = await svc("worker", "add", path);

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain(hint);
    expect(config()).toBe("# mine\nworkers: []\n");
  });

  it("exits with 1 for an unknown key in the manifest and names it", async () => {
    await writeProbeWorker(join(project.dir, "probe"), PROBE_MANIFEST.replace("entry:", "entri:"));

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("entri");
  });

  it("exits with 1 for a failed install, shows its last output, and does not change the config file", async () => {
    await writeProbeWorker(join(project.dir, "probe"), `${PROBE_MANIFEST}  install: echo no such package; exit 7\n`);

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("  no such package");
    expect(config()).toBe("# mine\nworkers: []\n");
  });

  it("exits with 1 if the config file is not YAML, and names the file", async () => {
    writeFileSync(project.configFile, "workers: [\n");
    await writeProbeWorker(join(project.dir, "probe"));

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("config.yaml:");
  });

  it("exits with 1 for an invalid config file, before any install", async () => {
    writeFileSync(project.configFile, "wrkers: []\n");
    await writeProbeWorker(join(project.dir, "probe"), `${PROBE_MANIFEST}  install: echo done > installed\n`);

    const { status, shell } = await svc("worker", "add", "./probe");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("wrkers");
    expect(existsSync(join(project.dir, "probe/installed"))).toBe(false);
  });

  it("is not rejected for a variable that only the engine has", async () => {
    writeFileSync(project.configFile, "engine:\n  data_dir: $" + "{ONLY_THERE}\nworkers: []\n");
    await writeProbeWorker(join(project.dir, "probe"));

    expect((await svc("worker", "add", "./probe")).status).toBe(EXIT.done);
  });

  it.each([[[]], [["--force"]]])(
    "exits with 1 for the name of another folder's worker, before any install (%j)",
    async (more) => {
      await writeProbeWorker(join(project.dir, "one/probe"));
      await writeProbeWorker(join(project.dir, "two/probe"), `${PROBE_MANIFEST}  install: echo done > installed\n`);
      await svc("worker", "add", "./one/probe");

      const { status, shell } = await svc("worker", "add", "./two/probe", ...more);

      expect(status).toBe(EXIT.failed);
      expect(shell.written.notes).toContain(join(project.dir, "one/probe"));
      expect(shell.written.notes).toContain(join(project.dir, "two/probe"));
      expect(existsSync(join(project.dir, "two/probe/installed"))).toBe(false);
    },
  );

  it("suggests the folder that matches a name", async () => {
    await mkdir(join(project.dir, "workers/math-worker"), { recursive: true });

    const { status, shell } = await svc("worker", "add", "math-worker");

    expect(status).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("did you mean ./workers/math-worker?");
    expect(shell.written.notes).toContain("svc worker add ./workers/math-worker");
  });

  it("shows the path form if a folder's name was read as a built-in worker", async () => {
    await mkdir(join(project.dir, "probe"));

    const { status, shell } = await svc("worker", "add", "probe");

    expect(status).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("svc worker add ./probe");
  });
});
