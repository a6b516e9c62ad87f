import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type History, readJournals } from "./journal.ts";
import { WORKERS } from "./plan.ts";

const root = fileURLToPath(new URL("../../../", import.meta.url));
const python = join(root, ".venv/bin/python");

/**
 * Four workers, each in its own process: two with the TypeScript SDK, two with the Python SDK. They survive ends of the
 * engine.
 */
export interface Load {
  /** Starts the operations. Before, they are connected and have registered their triggers. */
  begin(): void;
  /** Number of ended operations so far, acknowledged or not. */
  done(): number;
  /** Resolves when this many have ended. Rejects if a worker ends. */
  reached(operations: number): Promise<void>;
  /** Resolves when all have ended. */
  readonly finished: Promise<void>;
  history(): History;
  stop(): Promise<void>;
}

export interface LoadOptions {
  /** For journals. */
  readonly folder: string;
  /** Address of the engine, e.g. `ws://localhost:49134`. */
  readonly url: string;
  readonly seed: number;
  /** Number of operations of all workers together. */
  readonly operations: number;
  /** Per worker. */
  readonly inFlight: number;
}

/** Requires the build and .venv. Resolves when all four are connected. */
export async function startLoad(options: LoadOptions): Promise<Load> {
  mkdirSync(options.folder, { recursive: true });
  const writers = Array.from({ length: WORKERS }, (_, number) => new Writer(number, options));
  const finished = Promise.all(writers.map((writer) => writer.said("finished"))).then(() => {});
  finished.catch(() => {});
  const done = (): number => writers.reduce((sum, writer) => sum + writer.done, 0);
  await Promise.all(writers.map((writer) => writer.said("ready")));
  return {
    begin() {
      for (const writer of writers) writer.begin();
    },
    done,
    async reached(operations) {
      while (done() < operations) await Promise.race(writers.map((writer) => writer.next()));
    },
    finished,
    history: () => readJournals(writers.map(({ journal }) => journal)),
    async stop() {
      await Promise.all(writers.map((writer) => writer.stop()));
    },
  };
}

class Writer {
  readonly journal: string;
  done = 0;
  readonly #child: ChildProcess;
  readonly #said = new Set<string>();
  readonly #listeners = new Set<() => void>();
  readonly #exited: Promise<unknown>;
  #errors = "";

  constructor(number: number, { folder, url, seed, operations, inFlight }: LoadOptions) {
    this.journal = join(folder, `writer-${number}.jsonl`);
    writeFileSync(this.journal, "");
    const own = Math.floor(operations / WORKERS);
    const [command, program] =
      number < WORKERS / 2
        ? [process.execPath, join(root, "e2e/dist/state-load/writer.js")]
        : [python, join(root, "e2e/src/state-load/writer.py")];
    this.#child = spawn(command, [program], {
      env: {
        ...process.env,
        PYTHONPATH: join(root, "python/src"),
        SVC_URL: url,
        LOAD_WORKER: String(number),
        LOAD_SEED: String(seed),
        LOAD_OPERATIONS: String(own),
        LOAD_IN_FLIGHT: String(inFlight),
        LOAD_JOURNAL: this.journal,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#exited = once(this.#child, "close");
    let rest = "";
    this.#child.stdout?.on("data", (chunk: Buffer) => {
      const lines = (rest + chunk.toString()).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line.startsWith("done ")) this.done = Number(line.slice(5));
        else this.#said.add(line);
      }
      for (const look of [...this.#listeners]) look();
    });
    this.#child.stderr?.on("data", (chunk: Buffer) => {
      this.#errors = (this.#errors + chunk.toString()).slice(-20_000);
    });
  }

  begin(): void {
    this.#child.stdin?.write("go\n");
  }

  /** Resolves when it has printed more. Rejects if it ends. */
  next(): Promise<void> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        this.#listeners.delete(look);
        resolve();
      };
      this.#listeners.add(look);
      void this.#exited.then(() => reject(new Error(`a worker of the load ended:\n${this.#errors}`)));
    });
  }

  async said(line: string): Promise<void> {
    while (!this.#said.has(line)) await this.next();
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#exited;
  }
}
