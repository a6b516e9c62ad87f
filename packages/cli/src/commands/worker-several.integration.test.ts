import { existsSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
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

interface Ended {
  readonly status: ExitCode;
  readonly shell: RecordedShell;
}

const named = (name: string): string => PROBE_MANIFEST.replace("name: probe-worker", `name: ${name}`);
const commandIn =
  (project: () => TestProject, url: () => string, more: Parameters<typeof recordedShell>[0] = {}) =>
  async (...args: readonly string[]): Promise<Ended> => {
    const shell = recordedShell({ cwd: project().dir, env: { PATH: process.env.PATH, SVC_URL: url() }, ...more });
    return { status: await run(["worker", ...args], shell), shell };
  };

describe("svc worker add and remove with an engine running", () => {
  let project: TestProject;
  let engine: TestEngine;
  const svc = commandIn(
    () => project,
    () => engine.url,
  );
  const config = (): string => readFileSync(project.configFile, "utf8");

  beforeAll(async () => {
    project = testProject();
    for (const name of ["one", "two", "three"]) await writeProbeWorker(join(project.dir, name), named(name));
    engine = await startTestEngine(project);
  });
  afterAll(async () => {
    await engine.stop();
    project.remove();
  });
  afterEach(async () => {
    const listed = [...config().matchAll(/- name: (\S+)/g)].map(([, name]) => name ?? "");
    if (listed.length > 0) await svc("remove", ...listed);
  });

  it("adds several with numbers, reports the failed one, and keeps the others", async () => {
    await writeProbeWorker(join(project.dir, "broken"), `${named("broken")}  install: echo no such package; exit 7\n`);

    const { status, shell } = await svc("add", "./one", "./broken", "state", "--json");

    expect(status).toBe(EXIT.failed);
    const { notes, out } = shell.written;
    expect(notes).toMatch(
      /\[1\/3\] \.\/one\n(?:.*\n)*Ready: probe::ping \(1 function\)\n\[2\/3\] \.\/broken\n(?:.*\n)*error: .*\n(?:.*\n)*\[3\/3\] state\n/,
    );
    expect(notes).toContain("1 of 3 could not be added: ./broken.");
    expect(JSON.parse(out)).toMatchObject({
      workers: [
        { name: "one", status: "ready" },
        { name: "svc-state", kind: "built-in" },
      ],
      failed: [{ worker: "./broken", message: expect.stringContaining("no such package") as string }],
    });
    expect(config()).toContain("path: ./one");
    expect(config()).not.toContain("broken");
  }, 30_000);

  it("writes the name, the number of processes and the variables, and runs that many processes", async () => {
    const { status } = await svc(
      "add",
      "./one",
      "--name",
      "two",
      "--replicas",
      "2",
      "--env",
      "LEVEL=a=b",
      "-e",
      "EMPTY=",
    );

    expect(status).toBe(EXIT.done);
    expect(config()).toMatch(/- name: two\n\s+path: \.\/one\n\s+replicas: 2\n\s+env:\n\s+LEVEL: a=b\n\s+EMPTY: ""\n/);
    const { workers } = JSON.parse((await svc("list", "--json")).shell.written.out) as {
      workers: { name: string; pids: number[] }[];
    };
    expect(workers.find(({ name }) => name === "two")?.pids.length).toBeGreaterThanOrEqual(2);
  }, 30_000);

  it("rejects a folder that is already listed under another name, also through a link, and suggests replicas (gap 67)", async () => {
    await svc("add", "./one");
    symlinkSync(join(project.dir, "one"), join(project.dir, "link"));

    const { status, shell } = await svc("add", "./link", "--name", "other");
    const again = await svc("add", "./one");

    rmSync(join(project.dir, "link"));
    expect([status, again.status]).toEqual([EXIT.failed, EXIT.failed]);
    expect(shell.written.notes).toContain("already in config.yaml, as one");
    expect(shell.written.notes).toContain("`replicas: 2`");
    expect(again.shell.written.notes).toContain("`replicas: 2`");
    expect(config()).not.toContain("other");
  }, 30_000);

  it("notes that a worker is outside the project or is a link", async () => {
    const elsewhere = testProject();
    await writeProbeWorker(join(elsewhere.dir, "far"), named("two"));
    symlinkSync(join(elsewhere.dir, "far"), join(project.dir, "linked"));

    const outside = await svc("add", join(elsewhere.dir, "far"));
    await svc("remove", "two");
    const linked = await svc("add", "./linked");

    expect(outside.shell.written.notes).toContain("is outside the project's folder");
    expect(linked.shell.written.notes).toContain("./linked is a symbolic link to ");
    expect(config()).toContain("path: ./linked");
    await svc("remove", "two");
    rmSync(join(project.dir, "linked"));
    elsewhere.remove();
  }, 30_000);

  it("stops at Ctrl-C during an install, ends the install, and does not change the config file", async () => {
    await writeProbeWorker(
      join(project.dir, "slow"),
      `${named("slow")}  install: touch begun; echo still waiting; sleep 300\n`,
    );
    const before = config();
    const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH, SVC_URL: engine.url } });
    const ended = run(["worker", "add", "./slow", "./two"], shell);
    await shell.noted("still waiting");

    shell.stop("SIGINT");

    expect(await ended).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("the install of slow was cancelled");
    expect(shell.written.notes).toContain("Stopped before ./two.");
    expect(config()).toBe(before);
    expect(shell.listeners()).toBe(0);
  }, 30_000);

  it("keeps edits of the config file that were made during an install", async () => {
    await writeProbeWorker(
      join(project.dir, "edited"),
      `${named("three")}  install: echo '# by hand' >> ../config.yaml\n`,
    );

    const { status } = await svc("add", "./edited");

    expect(status).toBe(EXIT.done);
    expect(config()).toContain("# by hand");
    expect(config()).toContain("name: three");
  }, 30_000);

  it("removes several, waits until their processes have exited, and keeps their files", async () => {
    await svc("add", "./one", "./two");
    const { workers } = JSON.parse((await svc("list", "--json")).shell.written.out) as {
      workers: { name: string; pids: number[] }[];
    };
    const pids = workers.flatMap((worker) => worker.pids);
    expect(pids.length).toBeGreaterThanOrEqual(2);

    const { status, shell } = await svc("remove", "one", "two", "--json");

    expect(status).toBe(EXIT.done);
    expect(pids.filter((pid) => existsSync(`/proc/${pid}`))).toEqual([]);
    expect(JSON.parse(shell.written.out)).toMatchObject({
      workers: [{ name: "one", functions: ["probe::ping"] }, { name: "two" }],
      failed: [],
    });
    expect(config()).toContain("# mine");
    expect(config()).not.toContain("path:");
    expect(existsSync(join(project.dir, "one/worker.mjs"))).toBe(true);
  }, 30_000);

  it("removes a module by its short name and warns what stops working", async () => {
    await svc("add", "state");

    const { status, shell } = await svc("remove", "state");

    expect(status).toBe(EXIT.done);
    expect(shell.written.notes).toMatch(/without svc-state, calls of state::\S+, .* fail/);
    expect(config()).not.toContain("svc-state");
  }, 30_000);

  it("suggests the nearest worker for a mistyped one, before anything is removed", async () => {
    await svc("add", "./three");

    const { status, shell } = await svc("remove", "three", "thre");

    expect(status).toBe(EXIT.failed);
    expect(shell.written.notes).toContain("did you mean three?");
    expect(config()).toContain("name: three");
  }, 30_000);
});

describe("svc worker add and remove without an engine", () => {
  let project: TestProject;
  const svc = commandIn(
    () => project,
    () => "ws://127.0.0.1:1",
  );

  beforeEach(async () => {
    project = testProject();
    await writeProbeWorker(join(project.dir, "one"), named("one"));
  });
  afterEach(() => project.remove());

  it("rejects a folder that is given twice and explains how to get two processes", async () => {
    const { status, shell } = await svc("add", "./one", "one/");

    expect(status).toBe(EXIT.usage);
    expect(shell.written.notes).toContain("--replicas 2");
    expect(readFileSync(project.configFile, "utf8")).toBe("# mine\nworkers: []\n");
  });

  it.each([
    [["--replicas", "0"], "from 1 to 64"],
    [["--env", "1X=2"], "NAME=VALUE"],
    [["--env", "A=1", "--env", "A=2"], "given twice"],
    [["--name", "No Name"], "No Name"],
    [["svc-state", "--name", "x"], "--name needs exactly one worker"],
  ])("ends with 2 for %j", async (more, hint) => {
    const { status, shell } = await svc("add", "./one", ...more);

    expect(status).toBe(EXIT.usage);
    expect(shell.written.notes).toContain(hint);
  });

  describe("with workers that depend on each other", () => {
    const text = "workers:\n  - name: db\n    path: ./db\n  - name: app\n    path: ./app\n    depends_on: [db]\n";
    beforeEach(() => writeFileSync(project.configFile, text));

    it("does not remove a worker that another depends on, and names that one", async () => {
      const { status, shell } = await svc("remove", "db", "--yes");

      expect(status).toBe(EXIT.failed);
      expect(shell.written.notes).toContain("app depends on db. ");
      expect(readFileSync(project.configFile, "utf8")).toBe(text);
    });

    it("removes both, in any order", async () => {
      const { status } = await svc("remove", "db", "app", "--yes");

      expect(status).toBe(EXIT.done);
      expect(readFileSync(project.configFile, "utf8")).toBe("workers: []\n");
    });
  });

  it("neither adds nor removes a worker by the name of a command of svc-exec", async () => {
    const text = "workers:\n  - name: svc-exec\n    config:\n      commands:\n        - { name: one, command: make }\n";
    writeFileSync(project.configFile, text);

    const added = await svc("add", "./one");
    const removed = await svc("remove", "one");

    expect([added.status, removed.status]).toEqual([EXIT.failed, EXIT.failed]);
    expect(added.shell.written.notes).toContain(
      "The name one is already used in config.yaml by a command of svc-exec.",
    );
    expect(removed.shell.written.notes).toContain("one is a command of svc-exec");
    expect(readFileSync(project.configFile, "utf8")).toBe(text);
  });

  it("passes a variable unchanged, even if it looks like a variable of the config file", async () => {
    const { status } = await svc("add", "./one", "--env", `PASSWORD=a\${NOPE}b`, "-e", `HOME=\${PATH}`);

    expect(status).toBe(EXIT.done);
    expect(readFileSync(project.configFile, "utf8")).toMatch(/PASSWORD: a\$\$\{NOPE\}b\n\s+HOME: \$\$\{PATH\}\n/);
  });

  it("asks on a terminal before it removes, and does nothing without a yes", async () => {
    writeFileSync(project.configFile, "workers:\n  - name: one\n    path: ./one\n");
    const answering = (answer: string) =>
      commandIn(
        () => project,
        () => "ws://127.0.0.1:1",
        { cwd: project.dir, env: { SVC_URL: "ws://127.0.0.1:1" }, answers: [answer] },
      );

    const refused = await answering("")("remove", "one");
    const afterNo = readFileSync(project.configFile, "utf8");
    const agreed = await answering("y")("remove", "one");

    for (const { shell } of [refused, agreed])
      expect(shell.written.notes).toContain("Remove one from config.yaml? [y/N] ");
    expect([refused.status, agreed.status]).toEqual([EXIT.failed, EXIT.done]);
    expect(afterNo).toContain("name: one");
    expect(readFileSync(project.configFile, "utf8")).not.toContain("name: one");
  });
});
