// The published packages, installed as in deploy/Dockerfile, and the whole quickstart with them, without files of the
// repository.
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, sep } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { samplesOf } from "./guides/samples.ts";
import { startBrowser } from "./support/browser.ts";
import { type CliResult, type EngineProcess, type Ports, startEngine, svc } from "./support/cli.ts";
import { runToEnd } from "./support/commands.ts";
import { type Instruction, readStages } from "./support/dockerfile.ts";
import { follow } from "./support/live-updates.ts";
import { commandOf, eventually, isRunning, processesIn } from "./support/processes.ts";
import { uncomment } from "./support/uncomment.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Maximum size of all unpacked packages: 1 MB more than they had on 2026-11-28, less than tests or by-products of a build take. */
const MAX_PUBLISHED_BYTES = 17_000_000;

// Folder of the installed packages. No parent folder is the repository.
const parent = realpathSync(mkdtempSync(join(tmpdir(), "svc-packages-")));
const packed = join(parent, "packed");
const prefix = join(parent, "prefix");
const work = join(parent, "work");
const program = join(prefix, "bin/svc");
/** Environment of a user without the repository. */
const env = {
  PATH: [
    join(prefix, "bin"),
    ...(process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.startsWith(root)),
  ].join(delimiter),
  npm_config_prefer_offline: "true",
};
const packages = [
  "@svc-runtime/protocol",
  "@svc-runtime/sdk",
  "@svc-runtime/engine",
  "@svc-runtime/observability",
  "@svc-runtime/console",
  "svc-runtime",
];
const folderOf = (name: string): string => join(prefix, "lib/node_modules", name);
const [installStage = [], imageStage = []] = readStages(join(root, "deploy/Dockerfile"));

/** Environment without registries. */
const OFFLINE = { npm_config_registry: "http://127.0.0.1:1", npm_config_offline: "true", PIP_NO_INDEX: "1" };

let tarballs: string[];
/** Output of `svc create`, by template. */
const created = new Map<string, string>();

/** Returns the folder of a template's project; creates it first. */
async function projectOf(template: string): Promise<string> {
  const folder = join(work, template);
  if (created.has(template)) return folder;
  const { code, stderr } = await svc(["create", "--template", template, "--directory", folder], {
    program,
    env,
    cwd: work,
  });
  expect(code, stderr).toBe(0);
  created.set(template, stderr);
  return folder;
}

beforeAll(async () => {
  mkdirSync(work);
  await runToEnd(process.execPath, [join(root, "scripts/pack.mjs"), packed], { cwd: root });
  tarballs = readdirSync(packed).filter((name) => name.endsWith(".tgz"));
  // The build's context is the folder of the packages.
  const folder = join(parent, "image");
  mkdirSync(folder);
  for (const { word, rest } of installStage) {
    if (word === "COPY")
      for (const file of matching(rest.split(" ")[0] ?? "")) cpSync(join(packed, file), join(folder, file));
    if (word === "RUN") await runToEnd("sh", ["-c", rest], { cwd: folder, env: { ...env, PREFIX: prefix } });
  }
});

afterAll(async () => {
  await eventually("the project's processes are gone", () => processesIn(work).length === 0);
  rmSync(parent, { recursive: true, force: true });
});

/** Returns the files of the packed folder that match a pattern; fails if there is none. */
function matching(pattern: string): string[] {
  const found = readdirSync(packed).filter((name) =>
    new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(name),
  );
  expect(found).not.toEqual([]);
  return found;
}

interface Manifest {
  readonly license?: string;
  readonly version?: string;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: unknown;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
}
const manifestOf = (name: string): Manifest =>
  JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8")) as Manifest;

/** Paths that package.json names. */
function named(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(named) : [];
}

describe("a published package", () => {
  it("has its licence, its files and those that its package.json names; all of one version", () => {
    expect(tarballs).toHaveLength(packages.length);
    const { version } = manifestOf("svc-runtime");
    for (const name of packages) {
      const manifest = manifestOf(name);
      expect(manifest).toMatchObject({ license: "MIT", version, engines: { node: ">=20.19" } });
      expect(manifest.devDependencies).toBeUndefined();
      expect(existsSync(join(folderOf(name), "LICENSE"))).toBe(true);
      for (const path of [...named(manifest.bin), ...named(manifest.exports)])
        expect([name, path, existsSync(join(folderOf(name), path))]).toEqual([name, path, true]);
      for (const [dependency, range] of Object.entries(manifest.dependencies ?? {})) {
        if (packages.includes(dependency)) expect([dependency, range]).toEqual([dependency, version]);
      }
    }
  });

  it("has no tests, no source maps, no path of this machine, and is not larger than necessary", async () => {
    let bytes = 0;
    for (const name of packages) {
      const entries = await readdir(folderOf(name), { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((file) => !file.slice(folderOf(name).length).includes(`${sep}node_modules${sep}`));
      const own = files.filter((file) => !file.startsWith(join(folderOf("svc-runtime"), "templates")));
      expect(own.filter((file) => /\.test\.|\.map$|\.tsbuildinfo$|\.tsx$|[\\/]testing[\\/]/.test(file))).toEqual([]);
      for (const file of files) {
        const content = await readFile(file);
        bytes += content.length;
        if (content.includes(root)) throw new Error(`${file} names ${root}`);
      }
    }
    expect(bytes).toBeLessThan(MAX_PUBLISHED_BYTES);
  });
});

it("svc starts from its bundle, which names the licences of what it contains", async () => {
  const folder = folderOf("svc-runtime");
  const { bundleIsCurrent } = (await import(join(folder, "bin/current-bundle.js"))) as {
    readonly bundleIsCurrent: () => boolean;
  };
  expect(bundleIsCurrent()).toBe(true);
  expect(readFileSync(join(folder, "THIRD-PARTY-NOTICES.md"), "utf8")).toContain("\n## commander ");
  // The compiled modules are not needed.
  const compiled = join(folder, "dist/main.js");
  const content = readFileSync(compiled);
  writeFileSync(compiled, "throw new Error('not from the bundle');\n");
  try {
    expect(await svc(["--version"], { program, env, cwd: work })).toMatchObject({
      code: 0,
      stdout: `${manifestOf("svc-runtime").version}\n`,
    });
  } finally {
    writeFileSync(compiled, content);
  }
});

describe("deploy/", () => {
  it("has a Dockerfile whose image starts, is healthy then, and ends with 0 on SIGTERM", async () => {
    const prefixOf = (stage: readonly Instruction[]): string =>
      stage.find(({ word }) => word === "ARG")?.rest.replace("PREFIX=", "") ?? "";
    // Building an image requires root, which may change the owner of files.
    const isRoot = process.getuid?.() === 0;
    const project = mkdtempSync(join(parent, "run-"));
    for (const { word, rest } of imageStage) {
      if (word === "COPY") expect(rest).toBe(`--from=install ${prefixOf(installStage)} ${prefixOf(installStage)}`);
      if (word === "RUN" && isRoot) await runToEnd("sh", ["-c", rest], { cwd: project, env });
    }
    // A volume inherits the owner of the image's folder. A missing folder would belong to root.
    if (isRoot) expect([".", ".svc"].map((name) => statSync(join(project, name)).uid)).toEqual([1000, 1000]);
    expect(await runToEnd(program, ["--version"], { cwd: work, env })).toBe(`${manifestOf("svc-runtime").version}\n`);
    expect(
      imageStage
        .filter(({ word }) => ["USER", "VOLUME", "STOPSIGNAL", "ENTRYPOINT"].includes(word))
        .map(({ rest }) => rest),
    ).toEqual(["1000:1000", "/srv/svc/.svc", "SIGTERM", '["svc"]']);
    const restOf = (word: string): string => imageStage.find((instruction) => instruction.word === word)?.rest ?? "";
    await expectToLive(JSON.parse(restOf("CMD")) as string[], restOf("HEALTHCHECK"));
  });

  /**
   * Starts the image's command on a project whose workers its build installed. Its health check fails before and
   * succeeds meanwhile; the worker runs although no registry can be reached; SIGTERM ends it with 0.
   */
  async function expectToLive(command: readonly string[], check: string): Promise<void> {
    const folder = await projectOf("typescript");
    const documented = readFileSync(join(root, "docs/guide/deploy.md"), "utf8");
    const [, install = ""] = /`RUN (svc worker add [^`]+)`/.exec(documented) ?? [];
    const { bridge, http, realtime } = await freePorts();
    const ports = { SVC_BRIDGE_PORT: String(bridge), SVC_HTTP_PORT: String(http), SVC_WS_PORT: String(realtime) };
    await runToEnd("sh", ["-c", install.replace("NAME", "greeter")], { cwd: folder, env: { ...env, ...ports } });
    // A build keeps nothing that it writes below a volume.
    rmSync(join(folder, ".svc"), { recursive: true, force: true });
    const [checkProgram = "", ...args] = JSON.parse(check.slice(check.indexOf("["))) as string[];
    const isHealthy = (): Promise<boolean> =>
      runToEnd(checkProgram, args, { cwd: folder, env: { ...env, ...ports } }).then(
        () => true,
        () => false,
      );
    expect(await isHealthy()).toBe(false);
    const child = spawn(program, command, {
      cwd: folder,
      env: { ...process.env, ...env, ...ports, ...OFFLINE },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const closed = once(child, "close");
    let log = "";
    try {
      for await (const line of createInterface({ input: child.stderr })) {
        log += `${line}\n`;
        if (line.includes("the engine is up")) break;
      }
      child.stderr.on("data", (chunk: Buffer) => {
        log += chunk.toString();
      });
      child.stderr.resume();
      expect(await isHealthy()).toBe(true);
      await expect
        .poll(async () => (await fetch(`http://localhost:${http}/greetings/Ada`)).status, { timeout: 30_000 })
        .toBe(200);
      expect(log).not.toMatch(/npm install|npm ci/);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await closed, log).toEqual([0, null]);
  }

  it("has a systemd unit that systemd accepts", async () => {
    const unit = join(parent, "svc.service");
    const text = readFileSync(join(root, "deploy/svc.service"), "utf8");
    writeFileSync(unit, text.replace("/usr/local/bin/svc", program));
    expect(text).toContain("/usr/local/bin/svc --config config.yaml");
    await runToEnd("systemd-analyze", ["verify", unit], { cwd: parent });
  });
});

describe("the packages by themselves", () => {
  it("provide a project with the SDK and the engine's test kit, as the engine's README shows", async () => {
    const folder = join(work, "own");
    // npm installed each with its own dependencies below it.
    const modules = join(folder, "node_modules/@svc-runtime");
    mkdirSync(modules, { recursive: true });
    await runToEnd(
      "cp",
      [
        "--archive",
        "--link",
        ...["protocol", "sdk", "engine", "observability"].map((name) => folderOf(`@svc-runtime/${name}`)),
        modules,
      ],
      { cwd: work },
    );
    const readme = readFileSync(join(folderOf("@svc-runtime/engine"), "README.md"), "utf8");
    const [, sample = ""] = /```js\n(.*?)```/s.exec(readme) ?? [];
    expect(await runToEnd(process.execPath, ["--input-type=module", "--eval", sample], { cwd: folder, env })).toBe(
      "Hello Ada\n",
    );
  });

  it("provide a project with the Python SDK", async () => {
    const folder = join(work, "own-python");
    const [wheel = ""] = matching("svc_runtime-*.whl");
    // It is pure Python, so unpacking installs it. Only its dependencies come from the environment of the repository.
    await runToEnd("python3", ["-m", "zipfile", "-e", join(packed, wheel), folder], { cwd: work });
    const source = await runToEnd(join(root, ".venv/bin/python"), ["-c", "import svc; print(svc.__file__)"], {
      cwd: work,
      env: { ...env, PYTHONPATH: folder },
    });
    expect(dirname(source)).toBe(join(folder, "svc"));
  });

  it("include the Python SDK for projects, in a version that no registry accepts", () => {
    const { version } = manifestOf("svc-runtime");
    expect(existsSync(join(folderOf("svc-runtime"), `assets/svc_runtime-${version}+project-py3-none-any.whl`))).toBe(
      true,
    );
  });
});

describe.each(["typescript", "python"])(
  "a project of the template %s, with svc installed globally from its packages",
  (template) => {
    it("runs with svc dev, shows its worker on the console's page, and passes its tests", async () => {
      const folder = await projectOf(template);
      const { http } = await freePorts();
      const flags = ["--bridge-port", "0", "--ws-port", "0", "--console-port", "0", "--http-port", String(http)];
      const child = spawn(process.execPath, [program, "dev", ...flags], {
        cwd: folder,
        env: { ...process.env, ...env, NO_COLOR: "1" },
        stdio: ["ignore", "pipe", "pipe"],
      });
      const closed = once(child, "close");
      const consoleUrl = new Promise<string>((resolve, reject) => {
        let said = "";
        for (const stream of [child.stdout, child.stderr]) {
          stream.on("data", (chunk: Buffer) => {
            said += chunk.toString();
            const [url] = /http:\/\/localhost:\d+\/workers/.exec(said) ?? [];
            if (url !== undefined) resolve(url);
          });
        }
        void closed.then(() => reject(new Error(said)));
      });
      const browser = await startBrowser();
      try {
        const page = await browser.newPage();
        await page.goto(await consoleUrl);
        // The first start installs the worker's dependencies.
        await expect
          .poll(async () => (await fetch(`http://localhost:${http}/greetings/Ada`)).json(), { timeout: 120_000 })
          .toMatchObject({ text: "Hello Ada" });
        await page.getByRole("row").filter({ hasText: "greeter" }).waitFor();
      } finally {
        await browser.close();
        child.kill("SIGTERM");
      }
      expect(await closed).toEqual([0, null]);
      const [tests = ""] = /cd workers\/greeter && .*/.exec(created.get(template) ?? "") ?? [];
      expect(tests).toContain("test");
      expect(
        await runToEnd("sh", ["-c", tests], { cwd: folder, env: { ...env, PY_COLORS: "0", FORCE_COLOR: "0" } }),
      ).toMatch(template === "python" ? /\b3 passed/ : /\bpass 3\b/);
      await expectFirstInstall(template, folder);
      if (template !== "python") return;
      const options = ["--dry-run", "--ignore-installed", "--no-deps", "--requirement"];
      const greeter = join(folder, "workers/greeter");
      expect(
        await runToEnd(join(greeter, ".venv/bin/pip"), ["install", ...options, join(greeter, "requirements.txt")], {
          cwd: parent,
        }),
      ).toContain(`Would install svc-runtime-${manifestOf("svc-runtime").version}+project`);
    });
  },
);

/** The command that the console shows for a first worker installs the SDK of the project's folder. */
async function expectFirstInstall(template: string, folder: string): Promise<void> {
  const guide = samplesOf(readFileSync(join(root, "docs/guide/console.md"), "utf8"));
  const { version } = manifestOf("svc-runtime");
  const command = (guide.get(`${template}-install`)?.code ?? "").replaceAll("0.1.0", version ?? "").trim();
  const path = `${join(folder, "workers/greeter/.venv/bin")}${delimiter}${env.PATH}`;
  const flags = template === "python" ? "--dry-run --ignore-installed --no-deps" : "--dry-run --no-audit";
  const output = await runToEnd("sh", ["-c", `${command} ${flags}`], { cwd: folder, env: { ...env, PATH: path } });
  expect(output).toContain(template === "python" ? `Would install svc-runtime-${version}+project` : "added ");
}

interface WorkerStatus {
  readonly name: string;
  readonly state: string;
  readonly pids: readonly number[];
}

// In the order in which a reader follows it: each test continues where the previous one ended.
describe("the quickstart, with svc installed globally from its packages (gap 68)", () => {
  const project = join(work, "quickstart");
  let ports: Ports;
  let engine: EngineProcess;
  beforeAll(async () => {
    ports = await freePorts();
  });
  afterAll(() => {
    engine?.child.kill("SIGKILL");
  });

  const run = (...args: string[]): Promise<CliResult> =>
    svc(args, { program, env, cwd: project, url: `ws://localhost:${ports.bridge}` });
  const invoke = (functionId: string, payload: unknown): Promise<Response> =>
    fetch(`http://localhost:${ports.http}/_console/invoke`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ function_id: functionId, payload }),
    });
  const call = async (functionId: string, payload: unknown): Promise<unknown> => {
    const response = await invoke(functionId, payload);
    const answer: unknown = await response.json();
    if (!response.ok) throw new Error(`${functionId} failed: ${JSON.stringify(answer)}`);
    return answer;
  };
  const statusOf = async (name: string): Promise<WorkerStatus> =>
    (await call("worker::status", { name })) as WorkerStatus;

  /** Changes a worker's file. Resolves when a process with the new source has replaced the old one. */
  const replacedBy = async (change: () => void): Promise<void> => {
    const workers = await follow(ports.realtime, "svc.workers");
    change();
    const { id: replacement } = await workers.next(
      ({ event }) => event.type === "create",
      "a process with the new source is connected",
    );
    await workers.next(
      ({ id, event }) => event.type === "delete" && id !== replacement,
      "the process with the former source is gone",
    );
    workers.close();
  };

  it("scaffolds a project and starts an engine on it", async () => {
    expect(await projectOf("quickstart")).toBe(project);
    engine = await startEngine({ program, env, cwd: project, ports });
  });

  it("adds both workers and prints what a user expects", async () => {
    const math = await run("worker", "add", "./workers/math-worker");
    expect(math).toMatchObject({ code: 0 });
    expect(math.stderr).toMatch(/math-worker added to config\.yaml/);
    expect(math.stderr).toMatch(/auto-started/i);
    const caller = await run("worker", "add", "./workers/caller-worker");
    expect(caller).toMatchObject({ code: 0 });
    expect(readFileSync(join(project, "config.yaml"), "utf8")).toContain("path: ./workers/math-worker");
  });

  it("calls Python through the engine, and TypeScript that calls Python", async () => {
    const called = await run("trigger", "--function-id=math::add_two_numbers", '--payload={"a": 10, "b": 20}');
    expect(called).toMatchObject({ code: 0, stdout: '{"c":30}\n' });
    expect(await call("math::add", { a: 2, b: 3 })).toEqual({ c: 5 });
    const [a, b] = [Math.floor(Math.random() * 1e6), Math.floor(Math.random() * 1e6)];
    expect(await call("math::add_two_numbers", { a, b })).toEqual({ c: a + b });
  });

  it("reports a missing function by its id", async () => {
    const { code, stdout, stderr } = await run("trigger", "--function-id=math::nope", "--payload={}");
    expect([code, stdout]).toEqual([1, ""]);
    expect(JSON.parse(stderr)).toMatchObject({ code: "function_not_found", message: "Function math::nope not found" });
    const response = await invoke("math::nope", {});
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ error: { message: "Function math::nope not found" } });
  });

  it("keeps a running total once state is added and the block uncommented, without a manual restart", async () => {
    expect(await run("worker", "add", "svc-state")).toMatchObject({ code: 0 });
    await replacedBy(() =>
      uncomment(join(project, "workers/math-worker/math_worker.py"), "#", "STATE:", "END OF STATE"),
    );
    expect(await call("math::add", { a: 2, b: 3 })).toEqual({ c: 5, running_total: 5 });
    expect(await call("math::add_two_numbers", { a: 10, b: 20 })).toEqual({ c: 30, running_total: 35 });
  });

  it("answers over HTTP once svc-http is added and the block uncommented", async () => {
    expect(await run("worker", "add", "svc-http")).toMatchObject({ code: 0 });
    await replacedBy(() =>
      uncomment(join(project, "workers/caller-worker/src/worker.ts"), "//", "HTTP:", "END OF HTTP"),
    );
    const response = await fetch(`http://localhost:${ports.http}/math/add-two-numbers`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ a: 100, b: 200 }),
    });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("application/json");
    expect(await response.json()).toEqual({ c: 300, running_total: 335 });
  });

  it("survives kill -9: the total is kept, one process runs per worker, the old ones have ended", async () => {
    const before = [...(await statusOf("math-worker")).pids, ...(await statusOf("caller-worker")).pids];
    expect(before.every(isRunning)).toBe(true);
    engine.child.kill("SIGKILL");
    await engine.exited;
    engine = await startEngine({ program, env, cwd: project, ports });
    for (const name of ["math-worker", "caller-worker"]) {
      const status = (await call("worker::wait", { name })) as WorkerStatus;
      expect(status.state).toBe("ready");
      for (const pid of status.pids) expect(before).not.toContain(pid);
    }
    await eventually("the processes of the killed engine are gone", () => !before.some(isRunning));
    for (const file of ["math_worker.py", "src/worker.ts"])
      expect(processesIn(project).filter((pid) => commandOf(pid).includes(file))).toHaveLength(1);
    expect(await call("state::get", { scope: "math", key: "running_total" })).toBe(335);
    const { workers } = (await call("engine::workers::list", {})) as { workers: readonly { name: string }[] };
    expect(workers.map(({ name }) => name)).toEqual(["caller-worker", "math-worker"]);
    expect(await call("math::add_two_numbers", { a: 1, b: 2 })).toEqual({ c: 3, running_total: 338 });
  });

  it("stops on SIGTERM with exit code 0 and leaves no process", async () => {
    engine.child.kill("SIGTERM");
    expect(await engine.exited).toBe(0);
    await eventually("no process of the project is left", () => processesIn(project).length === 0);
  });
});
