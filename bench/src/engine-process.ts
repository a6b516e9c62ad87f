import { spawn } from "node:child_process";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { accepts, freePorts, pause } from "./ports.ts";
import { adopt, pidOf, type Server, startServer, stopProcess } from "./processes.ts";

const CLI = fileURLToPath(new URL("../../packages/cli/bin/svc.js", import.meta.url));
const LISTEN_TIMEOUT_MS = 20_000;
/** Interval at which the port of a starting engine is tried, in milliseconds. So start times have this error. */
const PROBE_MS = 2;
const MAX_OUTPUT_CHARS = 8192;

export interface EngineProcess extends Server {
  /** Port of the HTTP listener. 0 for the baseline, which has none. */
  readonly httpPort: number;
  /** Port of the real-time listener. 0 for the baseline. */
  readonly realtimePort: number;
  /** Milliseconds from the start of the process until its worker socket accepted a connection. */
  readonly listeningAfterMs: number;
}

export interface ModuleEntry {
  readonly name: "svc-state" | "svc-stream" | "svc-event" | "svc-cron" | "svc-queue" | "svc-observability";
  readonly config?: object;
}

export interface ClusterNode {
  readonly name: string;
  readonly node: string;
  readonly nats: { readonly servers: readonly string[] };
}

export interface EngineOptions {
  readonly kind: "svc" | "naive";
  /** Folder for this engine's config, data and logs. Created by the function. */
  readonly folder: string;
  /** Modules to load in addition to `svc-http`. */
  readonly modules?: readonly ModuleEntry[];
  /** Commands of `svc-exec`, which the engine keeps running. */
  readonly commands?: readonly { readonly name: string; readonly command: string }[];
  /** Path of `svc`, if another checkout is used. Default: `svc` of this checkout. */
  readonly cli?: string;
  /** Makes the engine a node of a cluster. */
  readonly cluster?: ClusterNode | undefined;
  /** Folder for a CPU profile, written when the engine stops. */
  readonly profileFolder?: string | undefined;
}

/** Starts the engine as a user does, with `svc --config`, and waits until workers can connect. */
export async function startEngine(options: EngineOptions): Promise<EngineProcess> {
  if (options.kind === "naive")
    return { ...(await startServer("naive-engine")), httpPort: 0, realtimePort: 0, listeningAfterMs: 0 };
  const { cli = CLI } = options;
  if (!existsSync(cli)) throw new Error(`${cli} is missing; build its repository first (npm run build)`);
  mkdirSync(options.folder, { recursive: true });
  const [bridgePort, httpPort, realtimePort] = (await freePorts(3)) as [number, number, number];
  const config = join(options.folder, "config.yaml");
  writeFileSync(
    config,
    configText({
      bridgePort,
      httpPort,
      modules: options.modules ?? [],
      commands: options.commands ?? [],
      cluster: options.cluster,
    }),
  );
  const profiling =
    options.profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${options.profileFolder}`];
  const startedMs = performance.now();
  const child = spawn(
    process.execPath,
    [...profiling, cli, "--config", config, "--ws-port", String(realtimePort), "--stop-with-stdin"],
    {
      cwd: options.folder,
      stdio: ["pipe", "pipe", "pipe"],
    },
  );
  adopt(child);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-MAX_OUTPUT_CHARS);
    });
  }
  const giveUpMs = startedMs + LISTEN_TIMEOUT_MS;
  while (!(await accepts(bridgePort))) {
    if (child.exitCode !== null || child.signalCode !== null)
      throw new Error(`the engine ended with ${child.signalCode ?? `code ${child.exitCode}`}:\n${output}`);
    if (performance.now() > giveUpMs) {
      await stopProcess(child);
      throw new Error(`the engine did not listen within ${LISTEN_TIMEOUT_MS} ms:\n${output}`);
    }
    await pause(PROBE_MS);
  }
  const listeningAfterMs = performance.now() - startedMs;
  return {
    pid: pidOf(child),
    port: bridgePort,
    httpPort,
    realtimePort,
    listeningAfterMs,
    stop: () => stopProcess(child),
  };
}

interface ConfigValues {
  readonly bridgePort: number;
  readonly httpPort: number;
  readonly modules: readonly ModuleEntry[];
  readonly commands: NonNullable<EngineOptions["commands"]>;
  readonly cluster: ClusterNode | undefined;
}

function configText({ bridgePort, httpPort, modules, commands, cluster }: ConfigValues): string {
  return [
    "engine:",
    "  bridge:",
    "    host: 127.0.0.1",
    `    port: ${bridgePort}`,
    ...(cluster === undefined ? [] : [`  cluster: ${JSON.stringify(cluster)}`]),
    "workers:",
    "  - name: svc-http",
    `    config: { host: 127.0.0.1, port: ${httpPort} }`,
    ...modules.flatMap(({ name, config }) => [`  - name: ${name}`, `    config: ${JSON.stringify(config ?? {})}`]),
    ...(commands.length === 0 ? [] : ["  - name: svc-exec", `    config: ${JSON.stringify({ commands })}`]),
    "",
  ].join("\n");
}
