import { type ChildProcess, spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { LineSplitter } from "@svc-runtime/engine/local-workers";

const svcBin = fileURLToPath(new URL("../../bin/svc.js", import.meta.url));
/**
 * Time between SIGTERM and SIGKILL, in milliseconds. It is long because the engine finishes its calls within 10 s, and
 * then stops its workers within another 10 s.
 */
const STOP_GRACE_MS = 25_000;

export interface SvcChildOptions {
  readonly args: readonly string[];
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly onLine: (line: string) => void;
}

/** A child process that runs `svc`. It also stops when this process ends, because its standard input is closed then. */
export class SvcChild {
  /** Resolves with how the process ended, e.g. "exit code 1". */
  readonly ended: Promise<string>;
  readonly #process: ChildProcess;
  #isOver = false;
  #stopping: Promise<void> | undefined;

  constructor({ args, cwd, env, onLine }: SvcChildOptions) {
    // The child runs in its own process group, so that Ctrl-C on the terminal does not reach it directly.
    this.#process = spawn(process.execPath, [svcBin, ...args, "--stop-with-stdin"], {
      cwd,
      env,
      detached: true,
      stdio: ["pipe", "pipe", "pipe"],
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      const lines = new LineSplitter(onLine);
      stream?.on("data", (chunk: Buffer) => lines.push(chunk)).on("end", () => lines.end());
    }
    // Write errors are ignored, because the child may exit before it reads its input.
    this.#process.stdin?.on("error", () => {});
    this.ended = new Promise((settle) => {
      this.#process.once("error", (error) => settle(error.message));
      this.#process.once("close", (code, signal) => settle(signal === null ? `exit code ${code}` : signal));
    });
    void this.ended.then(() => {
      this.#isOver = true;
    });
  }

  /** Process id. Undefined if the process could not be started. */
  get pid(): number | undefined {
    return this.#process.pid;
  }

  /** Asks the process to stop, kills it after a grace period, and resolves when it has exited. */
  stop(): Promise<void> {
    this.#stopping ??= this.#end();
    return this.#stopping;
  }

  kill(): void {
    this.#signal("SIGKILL");
  }

  async #end(): Promise<void> {
    this.#process.stdin?.end();
    this.#signal("SIGTERM");
    const timer = setTimeout(() => this.kill(), STOP_GRACE_MS);
    await this.ended;
    clearTimeout(timer);
  }

  #signal(signal: "SIGTERM" | "SIGKILL"): void {
    if (!this.#isOver) this.#process.kill(signal);
  }
}
