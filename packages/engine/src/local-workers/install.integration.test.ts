import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { findDependencySources } from "./dependency-files.ts";
import { InstallError, installWorker, isInstalled } from "./install.ts";
import { readManifest, type WorkerManifest } from "./manifest.ts";
import { listProcesses, membersOf } from "./process-table.ts";

const run = promisify(execFile);
let project: string;
let folder: string;

beforeEach(async () => {
  project = await mkdtemp(join(tmpdir(), "svc-install-"));
  folder = join(project, "workers", "w");
  await mkdir(folder, { recursive: true });
});

afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(project, { recursive: true, force: true });
});

async function write(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

/** A worker whose install command counts its runs in `runs`. */
async function counting(files: Readonly<Record<string, string>> = {}, more = ""): Promise<WorkerManifest> {
  await write({
    "svc.worker.yaml": `name: w\nruntime: {kind: javascript}\nscripts:\n  install: |\n    echo run >> ../../runs\n    ${more}\n  start: "true"\n`,
    ...files,
  });
  return readManifest(folder);
}

async function runs(): Promise<number> {
  return (await readFile(join(project, "runs"), "utf8")).trim().split("\n").length;
}

describe("an install", () => {
  it("runs the command with the worker's own programs first and tells its lines", async () => {
    const manifest = await counting({}, 'echo "$PATH"; echo oops >&2');
    const lines: string[] = [];
    const result = await installWorker({ manifest, projectDir: project, onProgress: (line) => lines.push(line) });
    expect(result.status).toBe("installed");
    expect(result.durationMs).toBeGreaterThanOrEqual(0);
    expect(lines.find((line) => line.startsWith(join(folder, "node_modules", ".bin")))).toBeDefined();
    expect(lines).toContain("oops");
  });

  it("has pnpm's variables with pnpm only, because npm warns of them", async () => {
    const isSet = async (packageManager: string): Promise<boolean> => {
      const runtime = `{kind: javascript, package_manager: ${packageManager}}`;
      await write({ "svc.worker.yaml": `name: w\nruntime: ${runtime}\nscripts: {install: env, start: "true"}\n` });
      const lines: string[] = [];
      const manifest = await readManifest(folder);
      await installWorker({ manifest, projectDir: project, onProgress: (line) => lines.push(line) });
      return lines.some((line) => line.startsWith("npm_config_confirm_modules_purge="));
    };
    expect([await isSet("npm"), await isSet("pnpm")]).toEqual([false, true]);
  });

  it("is skipped while nothing changed, and done again with force", async () => {
    const manifest = await counting({ "package.json": "{}" });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
    await installWorker({ manifest, projectDir: project });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(true);
    expect((await installWorker({ manifest, projectDir: project })).status).toBe("cached");
    expect((await installWorker({ manifest, projectDir: project, force: true })).status).toBe("installed");
    expect(await runs()).toBe(2);
  });

  it("is remembered beside what it installed, so that it need not be done again where the project's .svc is new", async () => {
    const manifest = await counting({ "package.json": "{}" });
    await installWorker({ manifest, projectDir: project });
    await rm(join(project, ".svc"), { recursive: true });
    expect((await installWorker({ manifest, projectDir: project })).status).toBe("cached");
  });

  it("is remembered in the project if the worker's folder is read-only", async () => {
    const manifest = await counting();
    // A dangling link stops root too, who may write to any folder.
    await symlink("missing", join(folder, ".svc"));
    await expect(installWorker({ manifest, projectDir: project })).resolves.toMatchObject({ status: "installed" });
    expect((await installWorker({ manifest, projectDir: project })).status).toBe("cached");
  });

  it("of one folder says nothing about another of the same name", async () => {
    const manifest = await counting();
    await installWorker({ manifest, projectDir: project });
    const twin = {
      ...manifest,
      folder: join(project, "workers", "twin"),
      file: join(project, "workers", "twin", "svc.worker.yaml"),
    };
    await mkdir(twin.folder);
    await writeFile(twin.file, await readFile(manifest.file));
    expect(await isInstalled({ manifest: twin, projectDir: project })).toBe(false);
  });

  it.each([
    ["package.json", '{"dependencies":{"a":"1"}}'],
    ["requirements-dev.txt", "x"],
    [
      "svc.worker.yaml",
      'name: w\nruntime: {kind: javascript}\nscripts: {install: "echo run >> ../../runs", start: "false"}\n',
    ],
  ])("is done again after %s changed", async (file, text) => {
    const manifest = await counting({ "package.json": "{}" });
    await installWorker({ manifest, projectDir: project });
    await write({ [file]: text });
    expect((await installWorker({ manifest: await readManifest(folder), projectDir: project })).status).toBe(
      "installed",
    );
  });

  it("is done again after the content of a local dependency changed, however deep", async () => {
    const manifest = await counting({
      "package.json": JSON.stringify({ dependencies: { a: "file:../../vendor/a" } }),
      "../../vendor/a/package.json": JSON.stringify({ name: "a", dependencies: { b: "file:../b" } }),
      "../../vendor/b/package.json": "{}",
      "../../vendor/b/dist/index.js": "1",
    });
    await installWorker({ manifest, projectDir: project });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(true);
    await write({ "../../vendor/b/dist/index.js": "2" });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("knows that a lock file which it wrote itself is no change", async () => {
    const manifest = await counting({ "package.json": "{}" }, "echo {} > package-lock.json");
    await installWorker({ manifest, projectDir: project });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(true);
    await write({ "package-lock.json": '{"other":1}' });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("does not count what changed while it ran as installed", async () => {
    const manifest = await counting({ "package.json": "{}" }, 'echo \'{"name":"edited"}\' > package.json');
    await installWorker({ manifest, projectDir: project });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("is done again when node_modules is gone", async () => {
    const manifest = await counting({ "package.json": "{}" }, "mkdir -p node_modules");
    await installWorker({ manifest, projectDir: project });
    await rm(join(folder, "node_modules"), { recursive: true });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("that fails says the command, its end and its last lines, and counts as not done", async () => {
    const manifest = await counting({}, "echo 'no such package' >&2; exit 3");
    const error = await installWorker({ manifest, projectDir: project }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InstallError);
    expect(error).toMatchObject({ reason: "failed", lastLines: ["no such package"] });
    expect((error as Error).message).toContain(
      "ended with exit code 3; node_modules may be incomplete; its last output",
    );
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("ends with its whole process group when it is called off", async () => {
    const manifest = await counting({}, "sleep 60 & echo group $(ps -o pgid= -p $$); wait");
    const controller = new AbortController();
    const lines: string[] = [];
    const done = installWorker({
      manifest,
      projectDir: project,
      signal: controller.signal,
      onProgress: (line) => lines.push(line),
    });
    const told = await vi.waitUntil(() => lines.find((line) => line.startsWith("group")), { timeout: 20_000 });
    const id = Number(told.slice(5));
    expect(membersOf(id, await listProcesses()).length).toBeGreaterThan(1);
    controller.abort();
    await expect(done).rejects.toMatchObject({ reason: "aborted" });
    expect(membersOf(id, await listProcesses())).toEqual([]);
  });

  it("ends at its deadline", async () => {
    const manifest = await counting({}, "echo still here; sleep 60");
    await expect(installWorker({ manifest, projectDir: project, timeoutMs: 500 })).rejects.toMatchObject({
      reason: "timeout",
    });
  });

  it("of one worker runs once at a time; the second finds it done", async () => {
    const manifest = await counting({}, "sleep 0.3");
    const lines: string[] = [];
    const results = await Promise.all(
      [1, 2].map(() => installWorker({ manifest, projectDir: project, onProgress: (line) => lines.push(line) })),
    );
    expect(results.map(({ status }) => status).sort()).toEqual(["cached", "installed"]);
    expect(lines.some((line) => line.startsWith("waiting for another install of w"))).toBe(true);
    expect(await runs()).toBe(1);
  });
});

describe("an install of another kind", () => {
  async function fakeTool(name: string, script: string): Promise<void> {
    await write({ [`../../bin/${name}`]: `#!/bin/sh\n${script}\n` });
    await chmod(join(project, "bin", name), 0o755);
    vi.stubEnv("PATH", `${join(project, "bin")}:${process.env.PATH}`);
  }

  it.each([
    [
      "uv",
      "kind: python, entry: w.py",
      { "w.py": "", "uv.lock": "", "pyproject.toml": "" },
      "`uv` was not found or does not run; install it with `pipx install uv`",
    ],
    [
      "pnpm",
      "kind: javascript, entry: w.js",
      { "w.js": "", "pnpm-lock.yaml": "", "package.json": "{}" },
      "`pnpm` was not found or does not run; install it with",
    ],
    [
      "bun",
      "kind: bun, entry: w.ts",
      { "w.ts": "" },
      "`bun` was not found or does not run; install it with `npm install --global bun`",
    ],
    ["go", "kind: go", { "go.mod": "" }, "`go` was not found or does not run; install it as https://go.dev"],
  ])("says how to get %s where it is missing", async (program, runtime, files, message) => {
    await fakeTool(program, "exit 127");
    await write({ "svc.worker.yaml": `name: w\nruntime: {${runtime}}\n`, ...files });
    await expect(installWorker({ manifest: await readManifest(folder), projectDir: project })).rejects.toMatchObject({
      reason: "runtime_missing",
      message: expect.stringContaining(message) as string,
    });
  });

  it("does not ask for a package manager that the worker's own commands do not use", async () => {
    await fakeTool("pnpm", "exit 127");
    await write({
      "svc.worker.yaml": 'name: w\nruntime: {kind: javascript}\nscripts: {install: "true", start: node w.js}\n',
      "pnpm-lock.yaml": "",
      "package.json": "{}",
    });
    expect((await installWorker({ manifest: await readManifest(folder), projectDir: project })).status).toBe(
      "installed",
    );
  });

  it("builds a compiled worker again when a source changed, and not when the build wrote its lock", async () => {
    await fakeTool(
      "go",
      '[ "$1" = version ] && echo go version go1 && exit\necho run >> ../../runs; mkdir -p .svc; touch .svc/worker go.sum',
    );
    await write({ "svc.worker.yaml": "name: w\nruntime: {kind: go}\n", "go.mod": "module w", "main.go": "1" });
    const manifest = await readManifest(folder);
    await installWorker({ manifest, projectDir: project });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(true);
    await write({ "inner/deep.go": "2" });
    expect((await installWorker({ manifest, projectDir: project })).status).toBe("installed");
    await rm(join(folder, ".svc"), { recursive: true });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
    expect(await runs()).toBe(2);
  });

  it.each([
    ["go.mod", "other => ../../vendor/a\n"],
    ["Cargo.toml", '[dependencies]\na = { path = "../../vendor/a" }\n'],
    ["pyproject.toml", '[tool.uv.sources]\na = { path = "../../vendor/a", editable = true }\n'],
  ])("follows the paths in %s", async (file, text) => {
    await write({ [file]: text, "../../vendor/a/x": "" });
    expect((await findDependencySources(folder)).local).toEqual([join(project, "vendor/a")]);
  });
});

describe("a Python install", () => {
  const PYTHON = { "svc.worker.yaml": "name: w\nruntime: {kind: python, entry: w.py}\n", "w.py": "" };

  it("makes the worker's own environment and installs local packages into it", async () => {
    await write({
      ...PYTHON,
      "requirements.txt": "--no-index\n-r more.txt\n",
      "more.txt": "# nothing yet\n",
    });
    const manifest = await readManifest(folder);
    await installWorker({ manifest, projectDir: project });
    const { stdout } = await run(join(folder, ".venv", "bin", "python"), ["-c", "import sys; print(sys.prefix)"]);
    expect(stdout.trim()).toBe(join(folder, ".venv"));
    expect(await isInstalled({ manifest, projectDir: project })).toBe(true);
    await write({ "more.txt": "# changed\n" });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
    await write({ "more.txt": "# nothing yet\n" });
    await rm(join(folder, ".venv"), { recursive: true });
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
  });

  it("names the Debian package when Python cannot make environments", async () => {
    await write({
      ...PYTHON,
      "../../shadow/ensurepip/__init__.py": "raise ModuleNotFoundError('ensurepip')",
      "../../shadow/virtualenv.py": "raise ModuleNotFoundError('virtualenv')",
    });
    vi.stubEnv("PYTHONPATH", join(project, "shadow"));
    await expect(installWorker({ manifest: await readManifest(folder), projectDir: project })).rejects.toMatchObject({
      reason: "runtime_missing",
      message: expect.stringContaining("python3-venv") as string,
    });
  });

  /** Slowly creates a fake environment. */
  const QUICK_VIRTUALENV = {
    "../../shadow/ensurepip/__init__.py": "raise ModuleNotFoundError('ensurepip')",
    "../../shadow/virtualenv.py":
      "import os, sys\nif __name__ == '__main__':\n  os.makedirs(sys.argv[1] + '/bin'); os.symlink(sys.executable, sys.argv[1] + '/bin/python')\n  print('virtualenv made', sys.argv[1])\n",
  };

  it("falls back to virtualenv where ensurepip is missing", async () => {
    await write({ ...PYTHON, ...QUICK_VIRTUALENV });
    vi.stubEnv("PYTHONPATH", join(project, "shadow"));
    const lines: string[] = [];
    await installWorker({
      manifest: await readManifest(folder),
      projectDir: project,
      onProgress: (line) => lines.push(line),
    });
    expect(lines).toContain("virtualenv made .venv");
  });

  it("leaves the environment as it was when it cannot be made anew, also when it was killed", {
    timeout: 60_000,
  }, async () => {
    await write({ ...PYTHON, ...QUICK_VIRTUALENV });
    vi.stubEnv("PYTHONPATH", join(project, "shadow"));
    await write({
      "svc.worker.yaml": "name: w\nruntime: {kind: python}\nscripts: {install: test ! -e broken, start: 'true'}\n",
    });
    const manifest = await readManifest(folder);
    await installWorker({ manifest, projectDir: project });
    await write({ ".venv/installed-before": "", broken: "" });
    await expect(installWorker({ manifest, projectDir: project, force: true })).rejects.toMatchObject({
      reason: "failed",
    });
    expect(await readdir(join(folder, ".venv"))).toContain("installed-before");
    expect(await readdir(folder)).not.toContain(".svc");
    expect(await isInstalled({ manifest, projectDir: project })).toBe(false);
    await mkdir(join(folder, ".svc"), { recursive: true });
    await rename(join(folder, ".venv"), join(folder, ".svc", "former-venv"));
    await write({ ".venv/half-made": "" });
    await expect(installWorker({ manifest, projectDir: project, force: true })).rejects.toMatchObject({
      reason: "failed",
    });
    expect(await readdir(join(folder, ".venv"))).toEqual(["bin", "installed-before"]);
    await rm(join(folder, "broken"));
    await installWorker({ manifest, projectDir: project, force: true });
    expect(await readdir(join(folder, ".venv"))).toEqual(["bin"]);
    expect(await readdir(join(folder, ".svc"))).toEqual(["installed.json"]);
  });
});

describe("dependency sources", () => {
  it("follow every way of pointing to this machine", async () => {
    await write({
      "requirements.txt": [
        "-r base/requirements.txt",
        "--constraint=limits.txt",
        "--find-links ../wheels",
        "-e ./editable[extra]",
        "named @ file:../named.whl",
        "../plain.tar.gz ; python_version > '3'",
        "requests==2 # file:./no",
        "",
      ].join("\n"),
      "base/requirements.txt": "./inner\n",
      "limits.txt": "",
      "editable/setup.py": "",
      "base/inner/pyproject.toml": 'dependencies = ["x @ file:../../deep"]',
      "deep/x.py": "",
      "../named.whl": "",
      "../wheels/svc.whl": "",
      "../plain.tar.gz": "",
    });
    const { files, local } = await findDependencySources(folder);
    expect(files).toEqual(
      ["requirements.txt", "base/requirements.txt", "limits.txt", "editable/setup.py", "base/inner/pyproject.toml"]
        .map((name) => join(folder, name))
        .sort(),
    );
    expect(local).toEqual(
      ["editable", "../named.whl", "../wheels", "../plain.tar.gz", "base/inner", "deep"]
        .map((name) => join(folder, name))
        .sort(),
    );
  });
});
