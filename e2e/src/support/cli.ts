import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { addEvidence } from "./evidence.ts";

const svcBin = fileURLToPath(new URL("../../../packages/cli/bin/svc.js", import.meta.url));
/** Worker installs use npm's cache and skip what no test checks. */
export const INSTALL_ENV = {
  npm_config_prefer_offline: "true",
  npm_config_audit: "false",
  npm_config_fund: "false",
  npm_config_update_notifier: "false",
  PIP_DISABLE_PIP_VERSION_CHECK: "1",
};

export interface CliResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly cwd: string;
  readonly url?: string;
  readonly timeoutMs?: number;
  /** Path of another `svc` than the repository's. */
  readonly program?: string;
  readonly env?: Readonly<Record<string, string>>;
}

/** Runs `svc` as a user does. Killed after `timeoutMs`. */
export async function svc(args: readonly string[], options: RunOptions): Promise<CliResult> {
  const env = {
    ...process.env,
    ...INSTALL_ENV,
    NO_COLOR: "1",
    ...(options.url === undefined ? {} : { SVC_URL: options.url }),
    ...options.env,
  };
  const child = spawn(process.execPath, [options.program ?? svcBin, ...args], {
    cwd: options.cwd,
    env,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let stdout = "";
  let stderr = "";
  child.stdout.on("data", (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr.on("data", (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const limit = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? 180_000);
  const [code] = (await once(child, "close")) as [number | null];
  clearTimeout(limit);
  return { code, stdout, stderr };
}

export interface EngineProcess {
  readonly child: ChildProcess;
  readonly pid: number;
  /** Its log so far, JSON lines. */
  output(): string;
  /** Resolves when a log line contains `text`. Rejects if the engine exits first. */
  logged(text: string): Promise<void>;
  readonly exited: Promise<number | string | null>;
}

/** Starts `svc --config FILE` and resolves when it is up. */
export async function startEngine(options: {
  readonly cwd: string;
  readonly ports: Ports;
  readonly config?: string;
  /** Path of another `svc` than the repository's. */
  readonly program?: string;
  /** Path of the Node that runs it. Default: the one that runs the test. */
  readonly node?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Command that runs it elsewhere, e.g. `ip netns exec NAME`. */
  readonly command?: readonly string[];
}): Promise<EngineProcess> {
  const { bridge, http, realtime } = options.ports;
  const flags = ["--bridge-port", String(bridge), "--http-port", String(http), "--ws-port", String(realtime)];
  const { SVC_URL: _, ...env } = process.env;
  const node = [...(options.command ?? []), options.node ?? process.execPath];
  const [program = "", ...args] = [...node, options.program ?? svcBin, "--config", options.config ?? "config.yaml"];
  const child = spawn(program, [...args, "--log", "json", ...flags], {
    cwd: options.cwd,
    env: { ...env, ...INSTALL_ENV, ...options.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  const watchers = new Set<() => void>();
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      output += chunk.toString();
      for (const watcher of watchers) watcher();
    });
  }
  const exited = once(child, "close").then(([code, signal]) => (code ?? signal) as number | string | null);
  void exited.then(addEvidence({ kind: "engine", extension: "log", read: async () => output, outlivesEnd: true }));
  const logged = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (!output.includes(text)) return;
        watchers.delete(look);
        resolve();
      };
      watchers.add(look);
      look();
      void exited.then((code) =>
        reject(new Error(`the engine ended (${code}) before it logged ${JSON.stringify(text)}:\n${output}`)),
      );
    });
  await logged("the engine is up");
  return { child, pid: child.pid as number, output: () => output, logged, exited };
}

export interface Ports {
  readonly bridge: number;
  readonly http: number;
  readonly realtime: number;
}
