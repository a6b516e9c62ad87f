// Workers of every kind whose toolchain npm, PyPI or Debian provides: installed, started, called and stopped by svc.
// scripts/toolchains.mjs provides them.
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type EngineProcess, type Ports, startEngine, svc } from "./support/cli.ts";
import { connectCaller } from "./support/connect-caller.ts";
import { eventually, processesIn } from "./support/processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const fixtures = join(root, "e2e/src/worker-kinds");
const project = mkdtempSync(join(tmpdir(), "svc-kinds-"));
const tools = ["npm/node_modules/.bin", "python/bin"].map((folder) => join(root, ".cache/toolchains", folder));
const env = { PATH: [...tools, process.env.PATH ?? ""].join(delimiter) };
const sdk = readdirSync(join(root, "packages/cli/assets"));
const tarball = `../sdk/${sdk.find((name) => name.startsWith("svc-runtime-sdk-"))}`;
const wheel = `../sdk/${sdk.find((name) => name.endsWith(".whl"))}`;

let ports: Ports;
let engine: EngineProcess;
const url = (): string => `ws://localhost:${ports.bridge}`;

const manifest = (kind: string, packageManager: string, entry: string): Record<string, string> => ({
  "svc.worker.yaml": `name: ${packageManager}\nruntime: {kind: ${kind}, package_manager: ${packageManager}, entry: ${entry}}\n`,
});
const nodePackage = (dependencies: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  "package.json": JSON.stringify({
    name: "w",
    private: true,
    type: "module",
    dependencies: { "@svc-runtime/sdk": `file:${tarball}`, ...dependencies },
  }),
});
const onNode = nodePackage({ tsx: "4.23.15" });

/** Name of the worker, the folder of its sources, additional files, and its answer. */
const workers: Readonly<
  Record<string, { readonly from: string; readonly files: Readonly<Record<string, string>>; readonly answer: object }>
> = {
  pip: {
    from: "pip",
    files: { ...manifest("python", "pip", "worker.py"), "requirements.txt": `${wheel}\n` },
    answer: { runtime: "python", own: true },
  },
  uv: {
    from: "uv",
    files: {
      ...manifest("python", "uv", "main.py"),
      "pyproject.toml": `[project]\nname = "w"\nversion = "1"\nrequires-python = ">=3.10"\ndependencies = ["svc-runtime"]\n[tool.uv.sources]\nsvc-runtime = {path = "${wheel}"}\n`,
    },
    answer: { runtime: "python", own: true },
  },
  npm: {
    from: "typescript",
    files: { ...manifest("typescript", "npm", "worker.ts"), ...onNode },
    answer: { runtime: "node" },
  },
  pnpm: {
    from: "typescript",
    // It rejects packages with install scripts unless they are allowed here. esbuild, which tsx needs, has one.
    files: {
      ...manifest("typescript", "pnpm", "worker.ts"),
      ...onNode,
      "pnpm-workspace.yaml": "allowBuilds:\n  esbuild: true\n",
    },
    answer: { runtime: "node" },
  },
  yarn: {
    from: "typescript",
    files: { ...manifest("typescript", "yarn", "worker.ts"), ...onNode },
    answer: { runtime: "node" },
  },
  bun: {
    from: "typescript",
    files: { ...manifest("bun", "bun", "worker.ts"), ...nodePackage() },
    answer: { runtime: "bun" },
  },
  deno: {
    from: "typescript",
    files: { ...nodePackage(), "svc.worker.yaml": "name: deno\nruntime: {kind: deno, entry: worker.ts}\n" },
    answer: { runtime: "deno" },
  },
  go: { from: "go", files: { "svc.worker.yaml": "name: go\nruntime: {kind: go}\n" }, answer: { runtime: "go" } },
  rust: {
    from: "rust",
    files: { "svc.worker.yaml": "name: rust\nruntime: {kind: rust}\n" },
    answer: { runtime: "rust" },
  },
  other: { from: "other", files: {}, answer: { runtime: "perl" } },
};

beforeAll(async () => {
  mkdirSync(join(project, "sdk"));
  cpSync(join(root, "packages/cli/assets"), join(project, "sdk"), { recursive: true });
  for (const [name, { from, files }] of Object.entries(workers)) {
    cpSync(join(fixtures, from), join(project, name), { recursive: true });
    for (const [file, content] of Object.entries(files)) writeFileSync(join(project, name, file), content);
  }
  writeFileSync(join(project, "config.yaml"), "workers: []\n");
  ports = await freePorts();
  engine = await startEngine({ cwd: project, ports, env });
});

afterAll(async () => {
  engine.child.kill("SIGKILL");
  await eventually("the project's processes are gone", () => processesIn(project).length === 0);
  rmSync(project, { recursive: true, force: true });
});

it("a worker of each kind is installed, is ready and answers (gap 61)", async () => {
  const names = Object.keys(workers);
  const added = await svc(["worker", "add", "--json", ...names.map((name) => `./${name}`)], {
    cwd: project,
    url: url(),
    env,
  });
  expect(added.code, added.stderr).toBe(0);
  const caller = connectCaller(url());
  try {
    for (const [name, { answer }] of Object.entries(workers)) {
      expect([name, await caller.call({ function_id: `${name}::double`, payload: { n: 21 } })]).toEqual([
        name,
        { n: 42, ...answer },
      ]);
    }
  } finally {
    await caller.shutdown();
  }
});

it("files that an install and a build write into a worker's folder restart no worker (gap 63)", async () => {
  const { stdout } = await svc(["worker", "list", "--json"], { cwd: project, url: url(), env });
  const { workers: listed } = JSON.parse(stdout) as {
    workers: readonly { name: string; state: string; restarts: number }[];
  };
  const own = listed.filter(({ name }) => name in workers).map(({ name, state, restarts }) => [name, state, restarts]);
  expect(own).toEqual(
    Object.keys(workers)
      .toSorted()
      .map((name) => [name, "ready", 0]),
  );
  expect(engine.output()).not.toContain("because its files changed");
});
