import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { join } from "node:path";
import { connect, silentLogger } from "@svc-runtime/sdk";
import { afterEach, describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, type TestProject, testProject, writeProbeWorker } from "../running-engine.test-support.ts";
import { recordedShell } from "../shell.test-support.ts";
import { spaceFinding } from "./data-folder.ts";
import { clockFinding } from "./engine.ts";
import { examine } from "./examine.ts";
import { type Finding, isAtLeast } from "./finding.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const FREE_PORTS = "engine:\n  bridge: {port: 0}\n";
const NO_PORTS = `workers:\n  - name: svc-http\n    config: {port: 0}\n  - name: svc-stream\n    config: {port: 0}\n${FREE_PORTS}`;

function projectWith(text: string): TestProject {
  const project = testProject(text);
  cleanUps.push(() => project.remove());
  return project;
}

async function doctor(
  project: TestProject,
  options: readonly string[] = [],
  env: Readonly<Record<string, string | undefined>> = { PATH: process.env.PATH },
) {
  const shell = recordedShell({ cwd: project.dir, env });
  // Without the project's own engine, use an unused address, so that no other engine is found at the default port.
  const args =
    existsSync(join(project.dir, ".svc/data/engine.json")) || options.includes("--url")
      ? options
      : [...options, "--url", await deadUrl()];
  const status = await run(["doctor", "--json", ...args], shell);
  return {
    status,
    ...(JSON.parse(shell.written.out) as { ok: boolean; checks: (Finding & { remedy: string | null })[] }),
  };
}

/** Returns an address where nothing listens: a port that was just released. */
async function deadUrl(): Promise<string> {
  const { server, port } = await listening();
  await new Promise((closed) => server.close(closed));
  return `ws://127.0.0.1:${port}`;
}

async function listening(): Promise<{ readonly server: Server; readonly port: number }> {
  const server = createServer();
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return { server, port: address.port };
}

describe("svc doctor", () => {
  it("finds no problem in a project whose engine runs, and lists ready workers", async () => {
    const project = projectWith("workers:\n  - name: probe-worker\n    path: ./probe\n");
    await writeProbeWorker(join(project.dir, "probe"));
    const engine = await startTestEngine(project);
    cleanUps.push(() => engine.stop());
    await run(
      [
        "trigger",
        "--function-id=worker::wait",
        `--payload={"name":"probe-worker","timeout_ms":30000}`,
        "--url",
        engine.url,
      ],
      recordedShell({ cwd: project.dir }),
    );

    const { status, checks } = await doctor(project);

    expect(status).toBe(EXIT.done);
    const byCheck = new Map(checks.map((finding) => [finding.check, finding]));
    for (const name of [
      "node",
      "npm",
      "config",
      "data folder",
      "engine",
      "readiness",
      "clock",
      "worker probe-worker",
    ]) {
      expect([name, byCheck.get(name)?.status]).toEqual([name, "ok"]);
    }
  });

  it("reports a worker that cannot start, with the reason and its log file", async () => {
    const project = projectWith("workers:\n  - name: broken\n    path: ./broken\n");
    await mkdir(join(project.dir, "broken"));
    await writeFile(
      join(project.dir, "broken/svc.worker.yaml"),
      "name: broken\nruntime:\n  kind: javascript\nscripts:\n  start: printf 'up\\n\\033[31mno such thing\\n'; exit 3\n",
    );
    const engine = await startTestEngine(project);
    cleanUps.push(() => engine.stop());
    await run(
      [
        "trigger",
        "--function-id=worker::wait",
        `--payload={"name":"broken","timeout_ms":30000,"on_crash":true}`,
        "--url",
        engine.url,
      ],
      recordedShell({ cwd: project.dir }),
    );

    const { status, checks } = await doctor(project);

    expect(status).toBe(EXIT.failed);
    const finding = checks.find(({ check }) => check === "worker broken");
    expect(finding).toMatchObject({ status: "problem", remedy: expect.stringContaining(".log") });
    expect(finding?.message.endsWith("; last line: \u001b[31mno such thing")).toBe(true);
    const shell = recordedShell({ cwd: project.dir, env: { PATH: process.env.PATH } });
    await run(["doctor"], shell);
    expect(shell.written.out).toMatch(/last line: \\u001b\[31mno such thing$/m);
  });

  it("warns of a worker whose last change failed, while its previous processes keep running", async () => {
    const project = projectWith("workers:\n  - name: probe-worker\n    path: ./probe\n    watch: false\n");
    await writeProbeWorker(join(project.dir, "probe"));
    const engine = await startTestEngine(project);
    cleanUps.push(() => engine.stop());
    const wait = `--payload={"name":"probe-worker","timeout_ms":30000}`;
    const shell = recordedShell({ cwd: project.dir });
    await run(["trigger", "--function-id=worker::wait", wait, "--url", engine.url], shell);
    await writeFile(join(project.dir, "probe/worker.mjs"), "process.exit(4);\n");
    expect(await run(["worker", "restart", "probe-worker", "--url", engine.url], shell)).toBe(EXIT.failed);

    const { status, checks } = await doctor(project);

    expect(status).toBe(EXIT.done);
    expect(checks).toContainEqual({
      check: "worker probe-worker",
      status: "warning",
      message: expect.stringMatching(/^ready, but its previous processes keep running: its new process .*exit code 4/),
      remedy: expect.stringContaining("svc worker restart probe-worker"),
    });
  });

  it("warns of jobs that no worker can run, with the reason", async () => {
    const project = projectWith(
      `workers:\n  - name: svc-queue\n    config: {adapter: {name: in_memory}}\n${FREE_PORTS}`,
    );
    const engine = await startTestEngine(project);
    cleanUps.push(() => engine.stop());
    const shell = recordedShell({ cwd: project.dir });
    await run(["trigger", "mail::send", "--enqueue", "default", "--url", engine.url], shell);

    const { checks } = await doctor(project);

    expect(checks).toContainEqual({
      check: "queue default",
      status: "warning",
      message: "jobs wait: no connected worker provides the function mail::send",
      remedy: expect.stringContaining("svc queue peek default"),
    });
  });

  it("warns of triggers that are not active, with the reason", async () => {
    const project = projectWith(NO_PORTS);
    const engine = await startTestEngine(project);
    cleanUps.push(() => engine.stop());
    const worker = connect(engine.url, { handleSignals: false, logger: silentLogger });
    cleanUps.push(() => worker.shutdown());
    worker.registerFunction("shop::list", () => []);
    const bind = (type: string, config: object) =>
      worker.registerTrigger({ type, function_id: "shop::list", config }).registered;
    await bind("http", { api_path: "/orders" });
    expect((await doctor(project)).checks).toContainEqual({
      check: "triggers",
      status: "ok",
      message: "1 listed, none with a problem",
      remedy: null,
    });
    await bind("cron", { expression: "0 7 * * *" });
    await bind("http", { api_path: "/orders", http_method: "FETCH" });

    const { status, checks } = await doctor(project);

    const remedy = "Correct it where the worker registers it. All triggers: svc triggers";
    expect(checks.filter(({ check }) => check.startsWith("trigger"))).toEqual([
      {
        check: "trigger cron 0 7 * * * → shop::list",
        status: "warning",
        message: "inactive: no one provides the trigger type cron; add it with: svc worker add svc-cron",
        remedy,
      },
      {
        check: "trigger http FETCH /orders → shop::list",
        status: "warning",
        message: expect.stringMatching(/^error: .*http_method/),
        remedy,
      },
    ]);
    expect(status).toBe(EXIT.done);
  });

  it("names the process that uses a port of the engine", async () => {
    const { server, port } = await listening();
    cleanUps.push(() => new Promise((closed) => server.close(closed)));
    const project = projectWith(`workers:\n  - name: svc-http\n    config: {port: ${port}}\n${FREE_PORTS}`);

    const { status, checks } = await doctor(project);

    expect(status).toBe(EXIT.failed);
    expect(checks).toContainEqual({
      check: `port ${port}`,
      status: "problem",
      message: expect.stringContaining(`process ${process.pid}`),
      remedy: expect.stringContaining("svc-http.port"),
    });
  });

  it("reports a given engine that does not respond as a problem", async () => {
    const project = projectWith(NO_PORTS);
    const url = await deadUrl();

    const named = await doctor(project, ["--url", url]);

    expect(named.status).toBe(EXIT.failed);
    expect(named.checks.find(({ check }) => check === "engine")).toMatchObject({
      status: "problem",
      message: expect.stringContaining("nothing listens there"),
    });
  });

  it("reports a missing tool that a manifest needs", async () => {
    const project = projectWith(`workers:\n  - name: probe-worker\n    path: ./probe\n${FREE_PORTS}`);
    await writeProbeWorker(join(project.dir, "probe"));

    const { checks } = await doctor(project, [], { PATH: join(project.dir, "nothing") });

    expect(checks.find(({ check }) => check === "npm")).toMatchObject({
      status: "problem",
      message: expect.stringContaining("not found on the PATH; needed by probe-worker"),
      remedy: expect.stringContaining("Install Node 20"),
    });
  });

  it("reports an SDK of another version in a worker's folder", async () => {
    const project = projectWith(`workers:\n  - name: probe-worker\n    path: ./probe\n${FREE_PORTS}`);
    const folder = join(project.dir, "probe");
    await writeProbeWorker(folder);
    await mkdir(join(folder, "node_modules/@svc-runtime/sdk"), { recursive: true });
    await writeFile(join(folder, "node_modules/@svc-runtime/sdk/package.json"), `{"version": "0.0.1"}`);
    await mkdir(join(folder, ".venv/lib/python3.11/site-packages/svc_runtime-0.0.2.dist-info"), { recursive: true });

    const { checks } = await doctor(project);

    const sdks = checks.filter(({ check }) => check === "sdk of probe-worker");
    expect(sdks.map(({ status, message }) => [status, message.slice(0, 5)])).toEqual([
      ["warning", "0.0.1"],
      ["warning", "0.0.2"],
    ]);
    expect(sdks[0]?.remedy).toContain("svc worker add ./probe --force");
  });

  it("reports problems of the config and a missing one", async () => {
    expect(
      (await doctor(projectWith("engine:\n  log_level: loud\n"))).checks.find(({ check }) => check === "config"),
    ).toMatchObject({
      status: "problem",
      message: expect.stringContaining("config.yaml:2"),
    });
    expect(
      (await doctor(projectWith(NO_PORTS), ["--config", "other.yaml"])).checks.find(({ check }) => check === "config"),
    ).toMatchObject({
      status: "warning",
    });
  });

  it("reports a data folder that cannot be created", async () => {
    const project = projectWith(`${NO_PORTS}  data_dir: ./notes/data
`);
    await writeFile(join(project.dir, "notes"), "a file");

    expect((await doctor(project)).checks.find(({ check }) => check === "data folder")).toMatchObject({
      status: "problem",
      message: expect.stringContaining("notes is not writable"),
      remedy: expect.stringContaining("engine.data_dir"),
    });
  });

  it("times out slow checks, and reports a failed check as a finding", async () => {
    const checks = {
      slow: () => new Promise<readonly Finding[]>(() => {}),
      broken: () => Promise.reject(new Error("out of order")),
      fine: () => Promise.resolve([{ check: "fine", status: "ok" as const, message: "yes" }]),
    };

    expect(
      await examine(recordedShell({ cwd: projectWith(NO_PORTS).dir }), { url: await deadUrl() }, checks, 50),
    ).toEqual([
      { check: "slow", status: "problem", message: "timed out after 0.05 s" },
      { check: "broken", status: "problem", message: "check failed: out of order" },
      { check: "fine", status: "ok", message: "yes" },
    ]);
  });

  it("prints findings with the remedy below", async () => {
    const shell = recordedShell({ cwd: projectWith("engine:\n  log_level: loud\n").dir });

    expect(await run(["doctor", "--url", await deadUrl()], shell)).toBe(EXIT.failed);
    expect(shell.written.out).toMatch(
      /^problem {2}config {2,}config\.yaml:2:14: engine\.log_level: .*\n {10,}List all problems: svc config check config\.yaml$/m,
    );
    expect(shell.written.notes).toContain("2 problems found.");
  });
});

describe("evaluation of checks", () => {
  it("compares versions by number", () => {
    expect(isAtLeast("20.9.0", "20.19")).toBe(false);
    expect(isAtLeast("20.19.0", "20.19")).toBe(true);
    expect(isAtLeast("3.10", "3.10")).toBe(true);
    expect(isAtLeast("", "3.10")).toBe(false);
  });

  it("allows for truncated seconds and the response time when it compares clocks", () => {
    const noon = Date.parse("Sun, 22 Nov 2026 12:00:00 GMT");
    const status = (sentAtMs: number, receivedAtMs: number): string | undefined =>
      clockFinding("Sun, 22 Nov 2026 12:00:00 GMT", sentAtMs, receivedAtMs)[0]?.status;

    expect(status(noon + 900, noon + 950)).toBe("ok");
    expect(status(noon - 500, noon + 5000)).toBe("ok");
    expect(status(noon - 9000, noon - 8000)).toBe("warning");
    expect(status(noon + 60_000, noon + 60_010)).toBe("warning");
    expect(clockFinding(null, noon, noon)).toEqual([]);
  });

  it("evaluates the free space on a disk", () => {
    expect(spaceFinding("/data", 50 * 1_048_576).status).toBe("problem");
    expect(spaceFinding("/data", 500 * 1_048_576).status).toBe("warning");
    expect(spaceFinding("/data", 5000 * 1_048_576).status).toBe("ok");
  });
});
