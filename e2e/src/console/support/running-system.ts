import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import { connect, silentLogger, type Worker } from "@svc-runtime/sdk";
import { type EngineProcess, type Ports, startEngine } from "../../support/cli.ts";
import { type ConsoleProcess, startConsole } from "./console-process.ts";
import { discardDocuments } from "./pages.ts";

const MODULES = ["svc-http", "svc-state", "svc-stream", "svc-cron", "svc-event", "svc-queue"];

export interface RunningSystem {
  readonly folder: string;
  readonly ports: Ports;
  readonly engine: EngineProcess;
  readonly console: ConsoleProcess;
  /** Connects a worker in the process of the test. */
  worker(name: string): Promise<Worker>;
  /** Kills the engine; `startEngine` starts it again with the same data. */
  killEngine(): Promise<void>;
  startEngine(): Promise<void>;
  stop(): Promise<void>;
}

export interface SystemOptions {
  readonly config?: string;
  readonly consoleArgs?: readonly string[];
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
  let engine = await startEngine({ cwd: folder, ports });
  const console = await startConsole({ engine: ports, args: options.consoleArgs ?? [] });
  return {
    folder,
    ports,
    get engine() {
      return engine;
    },
    console,
    async worker(name) {
      const worker = connect(`ws://localhost:${ports.bridge}`, { name, logger: silentLogger, handleSignals: false });
      workers.push(worker);
      await worker.connected();
      return worker;
    },
    async killEngine() {
      discardDocuments();
      engine.child.kill("SIGKILL");
      await engine.exited;
    },
    async startEngine() {
      engine = await startEngine({ cwd: folder, ports });
    },
    async stop() {
      await Promise.all(workers.map((worker) => worker.shutdown()));
      await console.stop();
      engine.child.kill("SIGTERM");
      await engine.exited;
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
