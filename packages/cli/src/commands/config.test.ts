import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { EXIT } from "../exit-codes.ts";
import { run } from "../main.ts";
import { startTestEngine, type TestProject, testProject } from "../running-engine.test-support.ts";
import { recordedShell } from "../shell.test-support.ts";

const GOOD = `workers:
  - name: svc-state
    config:
      adapter: { name: redis, config: { redis_url: "redis://me:hunter2@localhost:6379" } }
  - name: svc-http
    config:
      port: \${PORT:3333}
engine:
  log_level: warn
  token: \${MY_TOKEN:a-default-token-of-mine}
`;
const projects: TestProject[] = [];
afterEach(() => {
  for (const project of projects.splice(0)) project.remove();
});

function projectWith(text: string): TestProject {
  const project = testProject(text);
  projects.push(project);
  return project;
}

async function svc(project: TestProject, args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const shell = recordedShell({ cwd: project.dir, env });
  return { status: await run(["config", ...args], shell), ...shell.written };
}

interface ExplainedRow {
  readonly key: string;
  readonly value: unknown;
  readonly source: string | null;
  readonly where: string | null;
  readonly variable: string | null;
  readonly written: string | null;
}

async function explained(
  project: TestProject,
  key: string,
  env: Readonly<Record<string, string>> = {},
): Promise<ExplainedRow | undefined> {
  const { out } = await svc(project, ["explain", key, "--json"], env);
  return (JSON.parse(out) as { keys: ExplainedRow[] }).keys.find((row) => row.key === key);
}

describe("svc config check", () => {
  it("reports that a file is ok, with counts", async () => {
    expect(await svc(projectWith(GOOD), ["check"])).toEqual({
      status: EXIT.done,
      out: "config.yaml is ok: 2 modules, 0 local workers, 0 warnings\n",
      notes: "",
    });
  });

  it.each([
    ["docs/guide/configuration.md", "modules:"],
    ["README.md", "3122"],
  ])("accepts the file that %s shows with %s", async (document, mark) => {
    const text = readFileSync(new URL(`../../../../${document}`, import.meta.url), "utf8");
    const samples = [...text.matchAll(/```yaml\n([^`]*)```/g)].map(([, sample = ""]) => sample);
    const sample = samples.find((each) => each.includes(mark)) ?? "";
    expect(await svc(projectWith(sample), ["check"])).toEqual({
      status: EXIT.done,
      out: "config.yaml is ok: 2 modules, 0 local workers, 0 warnings\n",
      notes: "",
    });
  });

  it("lists every problem with line, key and expected value, and exits with 1", async () => {
    const project = projectWith(
      "workers:\n  - name: svc-stat\n  - name: svc-http\n    config:\n      prot: 1\nengine:\n  log_level: loud\n",
    );

    const { status, out, notes } = await svc(project, ["check", "--json"]);

    expect(status).toBe(EXIT.failed);
    expect(JSON.parse(out)).toMatchObject({
      valid: false,
      problems: [
        {
          file: "config.yaml",
          line: 2,
          key: "workers[0].name",
          message: expect.stringContaining("did you mean svc-state"),
        },
        { line: 5, key: "workers[1].config.prot", message: expect.stringContaining("did you mean port") },
        { line: 7, key: "engine.log_level", message: expect.stringContaining("one of debug, info, warn, error") },
      ],
    });
    expect(notes).toContain("config.yaml:7:14: engine.log_level: must be one of");
  });

  it("checks the manifests of the workers that the file lists", async () => {
    const project = projectWith("workers:\n  - name: mine\n    path: ./mine\n  - name: gone\n    path: ./gone\n");
    mkdirSync(join(project.dir, "mine"));
    writeFileSync(join(project.dir, "mine/svc.worker.yaml"), "name: mine\nruntime:\n  kind: cobol\n");

    const { status, notes } = await svc(project, ["check"]);

    expect(status).toBe(EXIT.failed);
    expect(notes).toMatch(/mine\/svc\.worker\.yaml:3:9: runtime\.kind: .*\(listed at config\.yaml:2\)/);
    expect(notes).toMatch(/gone: there is no such folder.*\(listed at config\.yaml:4\)/);
  });

  it("reports a missing folder together with other problems of the file", async () => {
    const project = projectWith(
      "workers:\n  - name: gone\n    path: ./gone\n    replicas: none\n  - name: lost\n    path: ./lost\nengine:\n  log_level: loud\n",
    );

    const { notes } = await svc(project, ["check"]);

    expect(notes).toContain("log_level");
    expect(notes).toMatch(/gone: there is no such folder.*\(listed at config\.yaml:2\)/);
    expect(notes).toMatch(/lost: there is no such folder.*\(listed at config\.yaml:5\)/);
    expect(notes).toContain("config.yaml has 4 problems.");
  });

  it("distinguishes warnings from problems", async () => {
    const { status, notes } = await svc(projectWith("workers:\n  - name: iii-bridge\n"), ["check"]);

    expect(status).toBe(EXIT.done);
    expect(notes).toContain("warning:");
  });

  it("accepts the file with --config, but not two different files", async () => {
    const project = projectWith(GOOD);
    writeFileSync(join(project.dir, "bad.yaml"), "engine:\n  log_level: loud\n  token: []\n");

    const [checked, twice, explained, unknown] = [
      await svc(project, ["check", "-c", "bad.yaml"]),
      await svc(project, ["check", "config.yaml", "--config", "bad.yaml"]),
      await svc(project, ["explain", "engine", "--config", "bad.yaml"]),
      await svc(project, ["explain", "nothing.such", "--config", "bad.yaml"]),
    ];

    expect(checked).toMatchObject({ status: EXIT.failed, notes: expect.stringContaining("bad.yaml has 2 problems.") });
    expect(twice).toMatchObject({ status: EXIT.usage, notes: expect.stringContaining("give only one") });
    expect(explained.notes).toContain("see svc config check --config bad.yaml");
    expect(unknown.notes).toContain("All keys: svc config explain --config bad.yaml");
  });

  it("reports a missing file", async () => {
    expect(await svc(projectWith(GOOD), ["check", "other.yaml"])).toMatchObject({
      status: EXIT.failed,
      notes: expect.stringContaining("there is no such file"),
    });
  });
});

describe("svc config explain", () => {
  it("shows the value in effect and its source: the file, a variable or the default", async () => {
    const project = projectWith(GOOD);

    expect(await explained(project, "engine.log_level")).toMatchObject({
      value: "warn",
      source: "file",
      where: "config.yaml:9",
    });
    expect(await explained(project, "engine.log_level", { SVC_LOG_LEVEL: "debug" })).toMatchObject({
      value: "debug",
      source: "env",
      variable: "SVC_LOG_LEVEL",
    });
    expect(await explained(project, "engine.drain_ms")).toMatchObject({
      value: 10_000,
      source: "default",
      where: null,
    });
    expect(await explained(project, "svc-http.port", { PORT: "4444" })).toMatchObject({
      value: 4444,
      where: "config.yaml:7",
      written: `\${PORT:3333}`,
    });
    expect(await explained(project, "svc-state.max_value_bytes")).toMatchObject({
      value: 8_388_608,
      source: "default",
    });
  });

  it("masks secrets, including the default of their variable", async () => {
    const { out } = await svc(projectWith(GOOD), ["explain", "--json"]);

    expect(out).not.toContain("hunter2");
    expect(out).not.toContain("a-default-token-of-mine");
    expect(await explained(projectWith(GOOD), "engine.token")).toMatchObject({
      value: "***",
      source: "file",
      where: "config.yaml:10",
    });
  });

  it("shows one key in full", async () => {
    const { out } = await svc(projectWith(GOOD), ["explain", "svc-http.port"]);

    expect(out).toContain("Port of the engine's HTTP listener");
    expect(out).toMatch(/type +integer from 0 to 65535/);
    expect(out).toMatch(/value +3333 +\(config\.yaml:7, written \$\{PORT:3333\}\)/);
    expect(out).toMatch(/variable +SVC_HTTP_PORT/);
  });

  it("wraps and indents the description of one key", async () => {
    const shell = recordedShell({ cwd: projectWith(GOOD).dir, outColumns: 60 });
    await run(["config", "explain", "svc-http.trust_traceparent"], shell);

    const lines = shell.written.out.split("\n");
    const meaning = lines.slice(1, lines.indexOf(""));
    expect(meaning.length).toBeGreaterThan(1);
    for (const line of meaning) expect(line).toMatch(/^ {2}\S.{0,57}$/);
  });

  it("shows descriptions below the keys if the terminal is too narrow", async () => {
    const shell = recordedShell({ cwd: projectWith(GOOD).dir, outColumns: 100 });
    await run(["config", "explain", "svc-http"], shell);

    const lines = shell.written.out.split("\n");
    expect(lines.filter((line) => line.length > 100)).toEqual([]);
    expect(lines[lines.findIndex((line) => line.startsWith("svc-http.port ")) + 1]).toMatch(
      /^ {4}Port of the engine's HTTP listener/,
    );
  });

  it("suggests the nearest key for an unknown one", async () => {
    expect(await svc(projectWith(GOOD), ["explain", "engine.brigde.port"])).toMatchObject({
      status: EXIT.usage,
      notes: expect.stringContaining("did you mean engine.bridge.port?"),
    });
  });

  it("explains keys with defaults only if the file is invalid", async () => {
    const { status, out, notes } = await svc(projectWith("engine:\n  log_level: loud\n"), ["explain", "engine"]);

    expect(status).toBe(EXIT.done);
    expect(notes).toContain("only defaults");
    expect(out).toContain("engine.log_level");
  });

  it("shows values that come from flags of the running engine", async () => {
    const project = projectWith("workers: []\n");
    const engine = await startTestEngine(project);
    try {
      expect(await explained(project, "engine.bridge.port")).toMatchObject({ value: 0, source: "flag" });
    } finally {
      await engine.stop();
    }
  });
});
