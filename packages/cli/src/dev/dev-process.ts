import { setTimeout as pause } from "node:timers/promises";
import { RestartPolicy } from "@svc-runtime/engine/local-workers";
import type { CommandFailure } from "../exit-codes.ts";

/** A process of `svc dev`. `Up`: what it reports when it is up. */
export interface DevProcess<Up> {
  /** Undefined until it is known. */
  readonly pid: number | undefined;
  /** Resolves when it works. Never settles if it ends before. */
  readonly up: Promise<Up>;
  /** How it ended, e.g. "exit code 1". */
  readonly ended: Promise<string>;
  /** Returns why it ended before it was up. */
  startFailure(how: string): CommandFailure;
  /** Asks it to stop, kills it after a grace period, and resolves when it has ended. */
  stop(): Promise<void>;
  kill(): void;
}

/** A process that can be started again. Starts the first one at once. */
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

  /** The present one, or the last one. */
  get process(): DevProcess<Up> {
    return this.#process;
  }

  /** Starts it again each time that it ends, after a pause, until it is stopped. */
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
