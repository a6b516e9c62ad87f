import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type History, readJournals } from "./journal.ts";
import { WORKERS } from "./plan.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const python = join(root, ".venv/bin/python");

export interface LoadOptions {
  /** For journals. */
  readonly folder: string;
  /** Address of the engine, e.g. `ws://localhost:49134`. */
  readonly url: string;
  readonly seed: number;
  /** Number of operations of all workers together. */
  readonly operations: number;
}

/**
 * Four workers, each in its own process: two with the TypeScript SDK, two with the Python SDK. They survive ends of the
 * engine.
 */
export class Load {
  readonly #workers: readonly WorkerProcess[];

  /** Requires the build and .venv. Resolves when all four are connected. */
  static async start(options: LoadOptions): Promise<Load> {
    mkdirSync(options.folder, { recursive: true });
    const load = new Load(Array.from({ length: WORKERS }, (_, number) => new WorkerProcess(number, options)));
    await Promise.all(load.#workers.map((worker) => worker.start()));
    return load;
  }

  private constructor(workers: readonly WorkerProcess[]) {
    this.#workers = workers;
  }

  begin(): void {
    for (const worker of this.#workers) worker.begin();
  }

  /** Resolves when this many enqueues have ended, acknowledged or not. Rejects if a worker ends unexpectedly. */
  async reached(operations: number): Promise<void> {
    const done = (): number => this.#workers.reduce((sum, worker) => sum + worker.done, 0);
    while (done() < operations) await Promise.race(this.#workers.map((worker) => worker.next()));
  }

  /** Resolves when all have ended. */
  async finished(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.said("finished")));
  }

  /** Kills one of the workers with -9, and starts it again. */
  async killAndRestart(number: number): Promise<void> {
    const worker = this.#workers[number];
    await worker?.stop();
    await worker?.start();
    worker?.begin();
  }

  history(): History {
    return readJournals(this.#workers.map(({ journal }) => journal));
  }

  async stop(): Promise<void> {
    await Promise.all(this.#workers.map((worker) => worker.stop()));
  }
}

class WorkerProcess {
  readonly journal: string;
  done = 0;
  readonly #number: number;
  readonly #options: LoadOptions;
  readonly #listeners = new Set<(problem?: Error) => void>();
  #child: ChildProcess | undefined;
  #said = new Set<string>();
  #stopping = false;
  #errors = "";

  constructor(number: number, options: LoadOptions) {
    this.#number = number;
    this.#options = options;
    this.journal = join(options.folder, `worker-${number}.jsonl`);
    writeFileSync(this.journal, "");
  }

  /** Resolves when it is connected. */
  async start(): Promise<void> {
    const { url, seed, operations } = this.#options;
    const [command, program] =
      this.#number < WORKERS / 2
        ? [process.execPath, join(root, "e2e/dist/queue-load/worker.js")]
        : [python, join(root, "e2e/src/queue-load/worker.py")];
    const child = spawn(command, [program], {
      env: {
        ...process.env,
        PYTHONPATH: join(root, "python/src"),
        SVC_URL: url,
        LOAD_WORKER: String(this.#number),
        LOAD_SEED: String(seed),
        LOAD_OPERATIONS: String(operations),
        LOAD_JOURNAL: this.journal,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child = child;
    this.#said = new Set();
    this.#stopping = false;
    let rest = "";
    child.stdout.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("done ")) this.done = Number(line.slice(5));
        else this.#said.add(line);
      }
      this.#tell();
    });
    child.stderr.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-20_000);
    });
    child.once("close", () => {
      if (!this.#stopping) this.#tell(new Error(`a worker of the load ended:\n${this.#errors}`));
    });
    await this.said("ready");
  }

  begin(): void {
    this.#child?.stdin?.write("go\n");
  }

  /** Resolves when it has printed more. Rejects if it ends unexpectedly. */
  next(): Promise<void> {
    return new Promise((resolve, reject) => {
      const listener = (problem?: Error): void => {
        this.#listeners.delete(listener);
        if (problem === undefined) resolve();
        else reject(problem);
      };
      this.#listeners.add(listener);
    });
  }

  async said(line: string): Promise<void> {
    while (!this.#said.has(line)) await this.next();
  }

  async stop(): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    this.#stopping = true;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  #tell(problem?: Error): void {
    for (const listener of [...this.#listeners]) listener(problem);
  }
}
