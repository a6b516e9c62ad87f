import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePorts } from "@svc-runtime/protocol/testing";
import type { Worker } from "@svc-runtime/sdk";
import { problemsOf } from "../state-load/check-history.ts";
import { type Load, startLoad } from "../state-load/load.ts";
import { seeded } from "../state-load/plan.ts";
import { finalItems, settled, summaryOf, watchersAreBound } from "../state-load/read-results.ts";
import { type EngineProcess, type Ports, startEngine } from "../support/cli.ts";
import { connectCaller } from "../support/connect-caller.ts";
import { say } from "../support/say.ts";
import { figure } from "./runs.ts";

/** An engine whose data is on a disk that will fail, and the load of four workers. */
export class Scene {
  readonly random: () => number;
  readonly load: Load;
  readonly caller: Worker;
  engine: EngineProcess;
  readonly #project: string;
  readonly #ports: Ports;
  readonly #env: Readonly<Record<string, string>>;
  readonly #node: string | undefined;

  private constructor(parts: {
    readonly random: () => number;
    readonly load: Load;
    readonly caller: Worker;
    readonly engine: EngineProcess;
    readonly project: string;
    readonly ports: Ports;
    readonly env: Readonly<Record<string, string>>;
    readonly node: string | undefined;
  }) {
    this.random = parts.random;
    this.load = parts.load;
    this.caller = parts.caller;
    this.engine = parts.engine;
    this.#project = parts.project;
    this.#ports = parts.ports;
    this.#env = parts.env;
    this.#node = parts.node;
  }

  /** `folder` is for journals. `env` is added to the engine's environment. The load has not started. */
  static async open(options: {
    readonly name: string;
    readonly folder: string;
    readonly dataDir: string;
    readonly operations: number;
    readonly env?: Readonly<Record<string, string>>;
    /** Path of the Node that runs the engine. */
    readonly node?: string;
  }): Promise<Scene> {
    const { folder, dataDir, operations, node, env = {} } = options;
    const { seed, random } = seeded();
    say(`${options.name}: seed ${seed}; SVC_SEED=${seed} repeats the operations and the moments`);
    const project = join(folder, "project");
    mkdirSync(project);
    writeFileSync(join(project, "config.yaml"), `engine:\n  data_dir: ${dataDir}\nworkers:\n  - name: svc-state\n`);
    const ports = await freePorts();
    const engine = await startEngine({ cwd: project, ports, env, ...(node === undefined ? {} : { node }) });
    const url = `ws://localhost:${ports.bridge}`;
    const load = await startLoad({ folder: join(folder, "journals"), url, seed, operations, inFlight: 8 });
    const caller = connectCaller(url);
    await watchersAreBound(caller);
    return new Scene({ random, load, caller, engine, project, ports, env, node });
  }

  async kill(): Promise<void> {
    this.engine.child.kill("SIGKILL");
    await this.engine.exited;
  }

  async startAgain(): Promise<void> {
    const node = this.#node;
    this.engine = await startEngine({
      cwd: this.#project,
      ports: this.#ports,
      env: this.#env,
      ...(node === undefined ? {} : { node }),
    });
  }

  /** Waits until everything is written and reported, records the result, and returns the problems; see `problemsOf`. */
  async problems(name: string): Promise<string[]> {
    await this.load.finished;
    await settled(this.load, this.caller);
    const history = this.load.history();
    const problems = problemsOf(history, await finalItems(this.caller));
    figure(name, `${summaryOf(history)}; ${problems.length} violations`);
    return problems;
  }

  async close(): Promise<void> {
    await this.caller.shutdown({ timeoutMs: 1_000 });
    await this.load.stop();
    this.engine.child.kill("SIGCONT");
    await this.kill();
  }
}

/** This many points between the first and the last operations, in order. */
export function moments(count: number, operations: number, random: () => number): number[] {
  return Array.from({ length: count }, () => Math.floor(random() * operations * 0.9 + operations * 0.02)).sort(
    (a, b) => a - b,
  );
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
