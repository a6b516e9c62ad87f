import { spawn } from "node:child_process";
import { once } from "node:events";
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliResult, type EngineProcess, startEngine, svc } from "./support/cli.ts";
import { runToEnd } from "./support/commands.ts";
import { type Instruction, readStages } from "./support/dockerfile.ts";
import { freePorts } from "./support/ports.ts";
import { eventually, processesIn } from "./support/processes.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** Of all packages together, unpacked; a test or a build by-product that slips in is bigger than what is left. */
const MAX_PUBLISHED_BYTES = 16_000_000;

// Whatever is installed lies here, and nothing above it is the repository.
const parent = realpathSync(mkdtempSync(join(tmpdir(), "svc-packages-")));
const packed = join(parent, "packed");
const prefix = join(parent, "prefix");
const work = join(parent, "work");
const program = join(prefix, "bin/svc");
/** As a user's who has never seen the repository. */
const env = {
  PATH: [join(prefix, "bin"), ...(process.env.PATH ?? "").split(delimiter).filter((folder) => !folder.startsWith(root))].join(delimiter),
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_prefer_offline: "true",
};
const packages = ["@svc/protocol", "@svc/sdk", "@svc/engine", "svc-console", "svc"];
const folderOf = (name: string): string => join(prefix, "lib/node_modules", name);

let tarballs: string[];
let engine: EngineProcess | undefined;

beforeAll(async () => {
  mkdirSync(work);
  await runToEnd(process.execPath, [join(root, "scripts/pack.mjs"), packed], { cwd: root });
  tarballs = (await readdir(packed)).filter((name) => name.endsWith(".tgz")).map((name) => join(packed, name));
  await runToEnd("npm", ["install", "--global", "--prefix", prefix, ...tarballs], { cwd: work, env });
});

afterAll(async () => {
  engine?.child.kill("SIGKILL");
  await eventually("the project's processes are gone", () => processesIn(work).length === 0);
  rmSync(parent, { recursive: true, force: true });
});

interface Manifest {
  readonly license?: string;
  readonly version?: string;
  readonly engines?: { readonly node?: string };
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: unknown;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, unknown>>;
}
const manifestOf = (name: string): Manifest => JSON.parse(readFileSync(join(folderOf(name), "package.json"), "utf8")) as Manifest;

/** Paths that package.json names. */
function named(value: unknown): string[] {
  if (typeof value === "string") return [value];
  return typeof value === "object" && value !== null ? Object.values(value).flatMap(named) : [];
}

describe("a published package", () => {
  it("has its licence, its files and those that its package.json names; all of one version", () => {
    expect(tarballs).toHaveLength(packages.length);
    const { version } = manifestOf("svc");
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

  it("has no tests, no source maps, no path of this machine, and is no bigger than need be", async () => {
    let bytes = 0;
    for (const name of packages) {
      const entries = await readdir(folderOf(name), { recursive: true, withFileTypes: true });
      const files = entries
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .filter((file) => !file.slice(folderOf(name).length).includes(`${sep}node_modules${sep}`));
      expect(files.filter((file) => /\.test\.|\.map$|\.tsbuildinfo$|\.tsx$|[\\/]testing[\\/]/.test(file))).toEqual([]);
      for (const file of files) {
        const content = await readFile(file);
        bytes += content.length;
        if (content.includes(root)) throw new Error(`${file} names ${root}`);
      }
    }
    expect(bytes).toBeLessThan(MAX_PUBLISHED_BYTES);
  });
});

describe("svc, installed globally from its packages", () => {
  const project = join(work, "quickstart");

  it("does the quickstart without the repository (gap 68)", async () => {
    const ports = await freePorts();
    const run = (...args: string[]): Promise<CliResult> => svc(args, { program, env, cwd: project, url: `ws://localhost:${ports.bridge}` });
    expect(await svc(["create", "--template", "quickstart", "--directory", project], { program, env, cwd: work })).toMatchObject({ code: 0 });
    engine = await startEngine({ program, env, cwd: project, ports });
    expect(await run("worker", "add", "./workers/math-worker", "./workers/caller-worker", "svc-state")).toMatchObject({ code: 0 });
    const called = await run("trigger", "--function-id=math::add_two_numbers", '--payload={"a": 10, "b": 20}');
    expect(JSON.parse(called.stdout)).toEqual({ c: 30 });
    expect(await run("trigger", "--function-id=state::set", '--payload={"scope": "s", "key": "k", "value": 1}')).toMatchObject({ code: 0 });
  });

  it("serves the console's page, which reaches the engine", async () => {
    const port = (await freePorts()).http;
    const child = spawn(process.execPath, [program, "console", "--no-open", "--port", String(port)], { cwd: project, env: { ...process.env, ...env } });
    try {
      await new Promise<void>((resolve, reject) => {
        let said = "";
        child.stderr.on("data", (chunk: Buffer) => {
          said += chunk.toString();
          if (said.includes("The console is at")) resolve();
        });
        child.once("close", () => reject(new Error(said)));
      });
      const page = await (await fetch(`http://localhost:${port}/workers`)).text();
      expect(page).toContain("<title>");
      const script = /src="(\/assets\/[^"]+\.js)"/.exec(page)?.[1];
      expect((await fetch(`http://localhost:${port}${script}`)).status).toBe(200);
    } finally {
      child.kill("SIGTERM");
      await once(child, "close");
    }
  });

  it("ends on SIGTERM and leaves no process", async () => {
    engine?.child.kill("SIGTERM");
    expect(await engine?.exited).toBe(0);
    await eventually("no process of the project is left", () => processesIn(work).length === 0, 10_000);
  });
});

describe("deploy/", () => {
  const dockerfile = join(root, "deploy/Dockerfile");

  it("has a Dockerfile whose sources are there and whose commands do, each in an empty folder", async () => {
    const [install = [], image = []] = readStages(dockerfile);
    const folder = join(parent, "image");
    const installed = join(folder, "svc");
    mkdirSync(installed, { recursive: true });
    for (const instruction of install) await carryOut(instruction, { folder, installed });
    const prefixOf = (stage: readonly Instruction[]): string => stage.find(({ word }) => word === "ARG")?.rest.replace("PREFIX=", "") ?? "";
    // Giving files away takes root, which builders of images are.
    const isRoot = process.getuid?.() === 0;
    const project = mkdtempSync(join(parent, "run-"));
    for (const { word, rest } of image) {
      if (word === "COPY") expect(rest).toBe(`--from=install ${prefixOf(install)} ${prefixOf(install)}`);
      if (word === "RUN" && isRoot) await runToEnd("sh", ["-c", rest], { cwd: project, env });
    }
    // The volume takes over whose it is; a folder that the image lacks would be root's.
    if (isRoot) expect([".", ".svc"].map((name) => statSync(join(project, name)).uid)).toEqual([1000, 1000]);
    const started = image.find(({ word }) => word === "CMD")?.rest ?? "";
    expect(await runToEnd(join(installed, "bin/svc"), ["--version"], { cwd: folder, env })).toBe(`${manifestOf("svc").version}\n`);
    expect(image.filter(({ word }) => ["USER", "VOLUME", "STOPSIGNAL", "ENTRYPOINT"].includes(word)).map(({ rest }) => rest)).toEqual([
      "1000:1000",
      "/srv/svc/.svc",
      "SIGTERM",
      '["svc"]',
    ]);
    await lives(installed, JSON.parse(started) as string[], image.find(({ word }) => word === "HEALTHCHECK")?.rest ?? "");
  });

  /** The context of the build is the folder of the packages. */
  async function carryOut({ word, rest }: Instruction, { folder, installed }: { readonly folder: string; readonly installed: string }): Promise<void> {
    if (word === "COPY") for (const file of matching(rest.split(" ")[0] ?? "")) cpSync(join(packed, file), join(folder, file));
    if (word === "RUN") await runToEnd("sh", ["-c", rest], { cwd: folder, env: { ...env, PREFIX: installed } });
  }

  /** Files of the packed folder; fails where there is none. */
  function matching(pattern: string): string[] {
    const found = readdirSync(packed).filter((name) => new RegExp(`^${pattern.replaceAll(".", "\\.").replaceAll("*", ".*")}$`).test(name));
    expect(found).not.toEqual([]);
    return found;
  }

  /** Starts the image's command on an empty project: its health check fails before, succeeds meanwhile, and SIGTERM ends it with 0. */
  async function lives(installed: string, command: readonly string[], check: string): Promise<void> {
    const folder = mkdtempSync(join(work, "srv-"));
    writeFileSync(join(folder, "config.yaml"), "workers: []\n");
    const { bridge, http, realtime } = await freePorts();
    const ports = { SVC_BRIDGE_PORT: String(bridge), SVC_HTTP_PORT: String(http), SVC_WS_PORT: String(realtime) };
    const [program = "", ...args] = JSON.parse(check.slice(check.indexOf("["))) as string[];
    const isHealthy = (): Promise<boolean> =>
      runToEnd(program, args, { cwd: folder, env: { ...env, ...ports } }).then(
        () => true,
        () => false,
      );
    expect(await isHealthy()).toBe(false);
    const child = spawn(join(installed, "bin/svc"), command, { cwd: folder, env: { ...process.env, ...env, ...ports }, stdio: "ignore" });
    try {
      await eventually("the image's command is healthy", isHealthy, 30_000);
    } finally {
      child.kill("SIGTERM");
      expect(await once(child, "close")).toEqual([0, null]);
    }
  }

  it("has a systemd unit that systemd takes", async () => {
    const unit = join(parent, "svc.service");
    const text = readFileSync(join(root, "deploy/svc.service"), "utf8");
    writeFileSync(unit, text.replace("/usr/local/bin/svc", program));
    expect(text).toContain("/usr/local/bin/svc --config config.yaml");
    await runToEnd("systemd-analyze", ["verify", unit], { cwd: parent });
  });
});

describe("the packages by themselves", () => {
  it("give a project of its own the SDK, the engine's test kit and the Python SDK", async () => {
    const folder = join(work, "own");
    mkdirSync(folder);
    const used = tarballs.filter((file) => /svc-(?:protocol|sdk|engine)-/.test(file));
    await runToEnd("npm", ["install", "--no-save", ...used], { cwd: folder, env });
    const script = `
      import { connect, silentLogger } from "@svc/sdk";
      import { startTestEngine } from "@svc/engine/test-kit";
      const engine = await startTestEngine();
      const worker = connect(engine.url, { handleSignals: false, logger: silentLogger });
      worker.registerFunction("greet", ({ name }) => "hello " + name);
      console.log(await worker.call({ function_id: "greet", payload: { name: "you" } }));
      await worker.shutdown();
      await engine.stop();`;
    expect(await runToEnd(process.execPath, ["--input-type=module", "--eval", script], { cwd: folder, env })).toBe("hello you\n");
    const wheel = (await readdir(packed)).find((name) => name.endsWith(".whl")) ?? "";
    await runToEnd("python3", ["-m", "pip", "install", "--quiet", "--target", "py", join(packed, wheel)], { cwd: folder, env });
    const source = await runToEnd("python3", ["-c", "import svc; print(svc.__file__)"], { cwd: folder, env: { ...env, PYTHONPATH: join(folder, "py") } });
    expect(dirname(source)).toBe(join(folder, "py/svc"));
  });
});
