import { setTimeout as pause } from "node:timers/promises";
import { RestartPolicy } from "@svc-runtime/engine/local-workers";
import type { CommandFailure } from "../exit-codes.ts";

/** A process of `svc dev`. `Up` is the type of the facts that the process reports when it is ready. */
export interface DevProcess<Up> {
  /** Process id. Undefined until it is known. */
  readonly pid: number | undefined;
  /** Resolves when the process is ready. Never settles if the process ends before that. */
  readonly up: Promise<Up>;
  /** Resolves with how the process ended, e.g. "exit code 1". */
  readonly ended: Promise<string>;
  /** Returns the reason why the process ended before it was ready. */
  startFailure(how: string): CommandFailure;
  /** Asks the process to stop, and kills it after a grace period. Resolves when it has ended. */
  stop(): Promise<void>;
  kill(): void;
}

/** A process that is started again when it ends. The first start is in the constructor. */
export class KeptProcess<Up> {
  readonly name: string;
  readonly #start: () => DevProcess<Up>;
  readonly #report: (line: string) => void;
  readonly #policy = new RestartPolicy(Math.random);
  readonly #stop = new AbortController();
  #process: DevProcess<Up>;
  #startedAtMs = 0;
  #isUp = false;

  constructor({
    name,
    start,
    report,
  }: {
    readonly name: string;
    readonly start: () => DevProcess<Up>;
    /** Called with a line for the user. */
    readonly report: (line: string) => void;
  }) {
    this.name = name;
    this.#start = start;
    this.#report = report;
    this.#process = this.#started();
  }

  /** The running process, or the last one if none runs. */
  get process(): DevProcess<Up> {
    return this.#process;
  }

  /** Starts the process again each time it ends, after a pause. Resolves when it is stopped. */
  async keep(): Promise<void> {
    const { signal } = this.#stop;
    for (;;) {
      const how = await this.#process.ended;
      if (signal.aborted) return;
      const nowMs = performance.now();
      const { delayMs } = this.#policy.exited({ nowMs, ranForMs: nowMs - this.#startedAtMs, wasReady: this.#isUp });
      const reason = this.#isUp ? `it has ended (${how})` : this.#process.startFailure(how).message;
      this.#report(`${reason}; it restarts in ${(delayMs / 1_000).toFixed(1)} s`);
      await pause(delayMs, undefined, { signal }).catch(() => {});
      if (signal.aborted) return;
      const process = this.#started();
      this.#process = process;
      void process.up.then(() => this.#report(`it runs again, as process ${process.pid}`));
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#process.stop();
  }

  kill(): void {
    this.#stop.abort();
    this.#process.kill();
  }

  #started(): DevProcess<Up> {
    this.#startedAtMs = performance.now();
    this.#isUp = false;
    const process = this.#start();
    void process.up.then(() => {
      this.#isUp = true;
    });
    return process;
  }
}
