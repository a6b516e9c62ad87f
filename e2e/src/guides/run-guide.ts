// Runs the samples of a guide in docs/guide/ as its reader would: real engine, real SDKs, real processes.
//
// In the guide, a comment on the line before a fenced block makes it a sample:
//
//     <!-- sample: greeter -->
//     ```ts
//     import { connect } from "@svc-runtime/sdk";
//     …
//     ```
//
// Blocks of one name are one sample, so that a guide may explain a program piece by piece. By the fence's word:
//
//   ts      a program, run by Node from the built SDK. guide-types.test.ts checks the types of all of them
//   python  a program, run by the repository's .venv with python/src
//   sh      a script for bash (-eu -o pipefail) in the project's folder, where `svc` is a command
//   other   a file or an expected output: `guide.text(name)`. `openGuide(file, { config: name })` starts the engine with a yaml sample
//
// Guides name the default ports; 49134, 3111 and 3112 after a colon become the ports of this run in everything that is run.
// Programs get SVC_URL. A test per guide lies beside this file:
//
//     let guide: Guide;
//     beforeAll(async () => { guide = await openGuide("http.md", { config: "config" }); });
//     afterAll(() => guide.close());
//     it("greets", async () => {
//       const greeter = await guide.run("greeter");       // runs until it is stopped or the guide is closed
//       await greeter.printed("ready");                   // resolves when the text is in what it printed; 30 s
//       const { output } = await guide.finish("call-it"); // runs to its end; rejects when that is not exit code 0
//       expect(output).toContain("Hello");
//     });
//     it("has run every sample", () => expect(guide.notRun()).toEqual([]));
//
// Needs what `npm test` makes first: the build (`npx tsc -b`) and .venv.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, type Worker } from "@svc-runtime/sdk";
import { transformSync } from "rolldown/utils";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { programsOf, type Sample, samplesOf } from "./samples.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
/** Time limit for a sample to print something, or to end, in milliseconds. */
const PATIENCE_MS = 30_000;

/** A running sample. */
export interface RunningSample {
  /** Its output so far, stdout and stderr. */
  output(): string;
  /**
   * Resolves when its output contains `text`, counted from the start. Rejects if it ends without it, or after
   * `timeoutMs` (default 30,000).
   */
  printed(text: string, timeoutMs?: number): Promise<void>;
  /** Ends it with a signal (default SIGTERM) and resolves when it has ended. `SIGKILL` simulates a crash. */
  stop(signal?: NodeJS.Signals): Promise<void>;
  /** Exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals>;
}

export interface Guide {
  /** The folder in which the samples run. It contains `config.yaml`. */
  readonly project: string;
  readonly ports: Ports;
  readonly engine: EngineProcess;
  /** The test's own worker, for calls to the engine. */
  readonly worker: Worker;
  /** Code of a sample, with the ports of this run. */
  text(name: string): string;
  /** Starts a ts, python or sh sample. `env` is added to its environment. */
  run(name: string, options?: { readonly env?: Readonly<Record<string, string>> }): Promise<RunningSample>;
  /** Runs a sample and waits for its end. Rejects if the exit code is not 0, or after `timeoutMs` (default 30,000). */
  finish(
    name: string,
    options?: { readonly env?: Readonly<Record<string, string>>; readonly timeoutMs?: number },
  ): Promise<{ readonly output: string }>;
  /** Names of all samples. */
  samples(): string[];
  /** Names of samples that were neither run nor read with `text`. */
  notRun(): string[];
  /** Stops everything and removes the folder. */
  close(): Promise<void>;
}

export interface GuideOptions {
  /** Name of a yaml sample for `config.yaml`. */
  readonly config?: string;
  /** The text of `config.yaml` if there is no sample for it. Default: no workers. */
  readonly configText?: string;
  /** Files that are written into the project before the engine starts, by path within it. */
  readonly files?: Readonly<Record<string, string>>;
  /** Replacements for other ports in the guide's samples, e.g. `{ 9464: 20123 }`. */
  readonly morePorts?: Readonly<Record<number, number>>;
}

/** Opens `docs/guide/{file}`: reads its samples and starts an engine for them. */
export async function openGuide(file: string, options: GuideOptions = {}): Promise<Guide> {
  const samples = samplesOf(readFileSync(join(root, "docs/guide", file), "utf8"));
  const project = mkdtempSync(join(tmpdir(), "svc-guide-"));
  const ports = await freePorts();
  const used = new Set<string>();
  const inThisRun = (code: string): string =>
    Object.entries(options.morePorts ?? {}).reduce(
      (text, [port, now]) => text.replaceAll(new RegExp(`\\b${port}\\b`, "g"), String(now)),
      withPorts(code, ports),
    );
  const running = new Set<RunningSample>();

  const sampleOf = (name: string): Sample => {
    const sample = samples.get(name);
    if (sample === undefined)
      throw new Error(`${file} has no sample named ${name}; it has ${[...samples.keys()].join(", ")}`);
    used.add(name);
    return { ...sample, code: inThisRun(sample.code) };
  };

  let engine: EngineProcess | undefined;
  try {
    for (const [path, text] of Object.entries(options.files ?? {})) writeFileSync(join(project, path), text);
    writeFileSync(
      join(project, "config.yaml"),
      options.config === undefined ? (options.configText ?? "workers: []\n") : sampleOf(options.config).code,
    );
    symlinkSync(join(root, "node_modules"), join(project, "node_modules"), "dir");
    installSvcCommand(project);
    for (const { name, code } of programsOf(samples))
      writeFileSync(join(project, `${name}.mjs`), transformSync(`${name}.mts`, inThisRun(code)).code);
    engine = await startEngine({ cwd: project, ports });
  } catch (error) {
    engine?.child.kill("SIGKILL");
    rmSync(project, { recursive: true, force: true });
    throw error;
  }
  const started = engine;
  const url = `ws://localhost:${ports.bridge}`;
  const worker = connect(url, { name: "guide-test", handleSignals: false });

  async function run(
    name: string,
    { env = {} }: { readonly env?: Readonly<Record<string, string>> } = {},
  ): Promise<RunningSample> {
    const [command, args] = commandOf(sampleOf(name), project);
    const child = spawn(command, args, {
      cwd: project,
      env: {
        ...process.env,
        NO_COLOR: "1",
        PYTHONUNBUFFERED: "1",
        PYTHONPATH: join(root, "python/src"),
        PATH: `${join(project, "bin")}${delimiter}${process.env.PATH ?? ""}`,
        SVC_URL: url,
        ...env,
      },
      // Its own process group, so that child processes of a script end with it.
      detached: true,
      stdio: ["ignore", "pipe", "pipe"],
    });
    const sample = watch(child, `${file}, sample ${name}`);
    running.add(sample);
    void sample.exited.then(() => running.delete(sample));
    return sample;
  }

  return {
    project,
    ports,
    engine: started,
    worker,
    text: (name) => sampleOf(name).code,
    run,
    async finish(name, { timeoutMs = PATIENCE_MS, ...runOptions } = {}) {
      const sample = await run(name, runOptions);
      const limit = setTimeout(() => void sample.stop("SIGKILL"), timeoutMs);
      const code = await sample.exited;
      clearTimeout(limit);
      if (code !== 0) throw new Error(`${file}, sample ${name} ended with ${code}:\n${sample.output()}`);
      return { output: sample.output() };
    },
    samples: () => [...samples.keys()],
    notRun: () => [...samples.keys()].filter((name) => !used.has(name)),
    async close() {
      await Promise.all([...running].map((sample) => sample.stop("SIGKILL")));
      await worker.shutdown({ timeoutMs: 1_000 });
      started.child.kill("SIGKILL");
      await started.exited;
      rmSync(project, { recursive: true, force: true });
    },
  };
}

function withPorts(code: string, { bridge, http, realtime }: Ports): string {
  return code
    .replaceAll(/:49134\b/g, `:${bridge}`)
    .replaceAll(/:3111\b/g, `:${http}`)
    .replaceAll(/:3112\b/g, `:${realtime}`);
}

/** `svc` as a command for scripts. */
function installSvcCommand(project: string): void {
  const file = join(project, "bin/svc");
  mkdirSync(join(project, "bin"));
  writeFileSync(file, `#!/bin/sh\nexec "${process.execPath}" "${join(root, "packages/cli/bin/svc.js")}" "$@"\n`);
  chmodSync(file, 0o755);
}

function commandOf({ name, language, code }: Sample, project: string): [command: string, args: string[]] {
  if (language === "ts") return [process.execPath, [join(project, `${name}.mjs`)]];
  if (language === "python") {
    writeFileSync(join(project, `${name}.py`), code);
    return [join(root, ".venv/bin/python"), [`${name}.py`]];
  }
  if (language === "sh") return ["bash", ["-eu", "-o", "pipefail", "-c", code]];
  throw new Error(`the sample ${name} is in ${language}, which cannot be run`);
}

function watch(child: ChildProcess, what: string): RunningSample {
  let output = "";
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      for (const watcher of watchers) watcher();
    });
  }
  const failedToStart = once(child, "error").then(([error]) => {
    output += String(error);
    return 127;
  });
  const ended = once(child, "close").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals);
  const exited = Promise.race([ended, failedToStart]);
  return {
    exited,
    output: () => output,
    printed: (text, timeoutMs = PATIENCE_MS) =>
      new Promise((resolve, reject) => {
        const fail = (why: string): void => {
          settle();
          reject(new Error(`${what} ${why} ${JSON.stringify(text)}; it printed:\n${output}`));
        };
        const limit = setTimeout(() => fail(`did not print within ${timeoutMs} ms`), timeoutMs);
        const settle = (): void => {
          clearTimeout(limit);
          watchers.delete(look);
        };
        const look = (): void => {
          if (!output.includes(text)) return;
          settle();
          resolve();
        };
        watchers.add(look);
        look();
        void exited.then((code) => fail(`ended with ${code} and did not print`));
      }),
    async stop(signal = "SIGTERM") {
      try {
        if (child.pid !== undefined) process.kill(-child.pid, signal);
      } catch {
        // It has ended already.
      }
      await exited;
    },
  };
}
