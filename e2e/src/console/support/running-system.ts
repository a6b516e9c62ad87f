import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLogger, jsonLine, startEngine } from "@svc-runtime/engine";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { INSTALL_ENV, type Ports, startEngine as spawnEngine } from "../../support/cli.ts";
import { addEvidence } from "../../support/evidence.ts";
import { type Console, startConsole } from "./console-process.ts";
import { discardDocuments } from "./pages.ts";

const MODULES = ["svc-http", "svc-state", "svc-stream", "svc-cron", "svc-event", "svc-queue"];

export interface RunningSystem {
  readonly folder: string;
  readonly ports: Ports;
  readonly console: Console;
  /** Connects a worker in the process of the test. */
  worker(name: string): Promise<Worker>;
  /** Kills the engine, which has to be `killable`; `startEngine` starts it again with the same data. */
  killEngine(): Promise<void>;
  startEngine(): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  readonly config?: string;
  readonly consoleArgs?: readonly string[];
  /** True for an engine in a process of its own, for `killEngine`. Default false: it runs in this process, which takes a third of the processor time. */
  readonly killable?: boolean;
}

interface StartedEngine {
  /** Rejects if the engine is not `killable`. */
  kill(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts an engine with every module and a console, on free ports, in their own folder. */
export async function startSystem(options: SystemOptions = {}): Promise<RunningSystem> {
  const folder = mkdtempSync(join(tmpdir(), "svc-console-"));
  writeFileSync(
    join(folder, "config.yaml"),
    options.config ?? `workers:\n${MODULES.map((name) => `  - name: ${name}\n`).join("")}`,
  );
  const ports = await freePorts();
  const workers: Worker[] = [];
  const start = options.killable === true ? startProcess : startHere;
  let engine = await start(folder, ports);
  const console = await startConsole({ engine: ports, args: options.consoleArgs ?? [] });
  return {
    folder,
    ports,
    console,
    async worker(name) {
      const worker = connect(`ws://localhost:${ports.bridge}`, { name, logger: silentLogger, handleSignals: false });
      workers.push(worker);
      await worker.connected();
      return worker;
    },
    async killEngine() {
      discardDocuments();
      await engine.kill();
    },
    async startEngine() {
      engine = await start(folder, ports);
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.shutdown()));
      await console.stop();
      await engine.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function startProcess(folder: string, ports: Ports): Promise<StartedEngine> {
  const { child, exited } = await spawnEngine({ cwd: folder, ports });
  const end = async (signal: NodeJS.Signals): Promise<void> => {
    child.kill(signal);
    await exited;
  };
  return { kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

async function startHere(folder: string, ports: Ports): Promise<StartedEngine> {
  let output = "";
  const endEvidence = addEvidence({ kind: "engine", extension: "log", read: async () => output, outlivesEnd: true });
  const { SVC_URL: _, ...env } = process.env;
  const engine = await startEngine({
    configFile: join(folder, "config.yaml"),
    overrides: { bridgePort: ports.bridge, httpPort: ports.http, realtimePort: ports.realtime },
    env: { ...env, ...INSTALL_ENV, NO_COLOR: "1" },
    logger: createLogger({
      level: "info",
      now: Date.now,
      write: (record) => {
        output += `${jsonLine(record)}\n`;
      },
    }),
  });
  return {
    kill: () => Promise.reject(new Error("this engine is not killable")),
    async stop() {
      await engine.stop();
      endEvidence();
    },
  };
}
