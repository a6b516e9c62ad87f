import { Worker } from "node:worker_threads";
import type { Clock } from "../kernel/clock.ts";
import type { StoreDurability } from "../kernel/store-contract.ts";
import type { DriverName } from "./driver.ts";
import type { BatchTime } from "./log-time.ts";
import type { Answer, FromThread, ThreadStart, ToThread } from "./thread-messages.ts";

export interface ThreadOptions {
  readonly file: string;
  readonly procedures: URL;
  readonly driver: DriverName;
  readonly durability: StoreDurability;
  readonly isBackground: boolean;
  readonly openTimeoutMs: number;
  readonly clock: Clock;
}

export interface ThreadEvents {
  onAnswers(answers: readonly Answer[]): void;
  onHealth(problem: string | undefined): void;
  /**
   * Called at most once: when the thread has ended because it wrote the database to a new file. Requests without an
   * answer were not started.
   */
  onRenewed(): void;
  /** Called at most once: when the thread has ended unexpectedly after `startThread` resolved. */
  onCrash(reason: string): void;
}

/** A store thread with an open database. */
export interface Thread {
  /** True if the last stop was not clean. */
  readonly wasUnclean: boolean;
  /** User message about lost data that was detected on opening; undefined otherwise. */
  readonly damage: string | undefined;
  /** Names of the procedures that write. */
  readonly writes: ReadonlySet<string>;
  /** The stored log time; undefined if there was none. */
  readonly storedTime: BatchTime | undefined;
  post(message: ToThread): void;
  /** Closes the database. Resolves when the thread has ended, or after a timeout, with a problem or undefined. */
  close(time: BatchTime): Promise<string | undefined>;
}

/**
 * Timeout of closing, in milliseconds. After it, `close` no longer waits for the thread. Nothing is lost, but the next
 * start checks the file.
 */
const CLOSE_TIMEOUT_MS = 10_000;

/** Starts a thread and waits until its database is open. Rejects with an Error that says why it cannot be used. */
export async function startThread(options: ThreadOptions, events: ThreadEvents): Promise<Thread> {
  const thread = await openThread(options, events);
  // The first thread may have ended after it wrote the database to a new file. Then a second thread opens the new file.
  return (
    thread ??
    (await openThread(options, events)) ??
    Promise.reject(new Error(`the database ${options.file} was written to a new file twice`))
  );
}

/** Resolves with undefined if the thread ended after it wrote the database to a new file. */
async function openThread(options: ThreadOptions, events: ThreadEvents): Promise<Thread | undefined> {
  const { file, driver, durability, isBackground } = options;
  const workerData: ThreadStart = { file, procedures: options.procedures.href, driver, durability, isBackground };
  const worker = new Worker(new URL("./store-thread-entry.js", import.meta.url), { workerData, name: "svc-store" });
  const thread = new WorkerThread(worker, options, events);
  return (await thread.opened) === "open" ? thread : undefined;
}

/**
 * A store thread. It is never terminated, because libsql aborts the process when its thread is terminated during a
 * statement.
 */
class WorkerThread implements Thread {
  readonly opened: Promise<"open" | "renewed">;
  readonly #worker: Worker;
  readonly #clock: Clock;
  readonly #exited: Promise<void>;
  #closeProblem: string | undefined;
  #state: "opening" | "open" | "renewed" | "closing" | "ended" = "opening";
  wasUnclean = false;
  damage: string | undefined;
  writes: ReadonlySet<string> = new Set();
  storedTime: BatchTime | undefined;

  constructor(worker: Worker, options: ThreadOptions, events: ThreadEvents) {
    this.#worker = worker;
    this.#clock = options.clock;
    let lastError = "it ended without an error message";
    worker.on("error", (error) => {
      lastError = error instanceof Error ? error.message : String(error);
    });
    this.#exited = new Promise((resolve) => {
      worker.once("exit", (code) => {
        const before = this.#state;
        this.#state = "ended";
        resolve();
        if (before === "renewed") events.onRenewed();
        if (before === "open") events.onCrash(`${lastError} (exit code ${code})`);
      });
    });
    this.opened = this.#untilOpen(options, () => lastError);
    worker.on("message", (message: FromThread) => {
      if (message.kind === "answers") events.onAnswers(message.answers);
      else if (message.kind === "health") events.onHealth(message.problem);
      else if (message.kind === "renewed" && this.#state === "open") this.#state = "renewed";
      else if (message.kind === "closed") this.#closeProblem = message.problem;
    });
  }

  post(message: ToThread): void {
    this.#worker.postMessage(message);
  }

  async close(time: BatchTime): Promise<string | undefined> {
    if (this.#state !== "open") {
      if (this.#state === "renewed") await this.#exited;
      return undefined;
    }
    this.#state = "closing";
    this.#closeProblem = "the thread ended before it closed the file";
    this.post({ kind: "close", time });
    await new Promise<void>((resolve) => {
      const cancel = this.#clock.after(CLOSE_TIMEOUT_MS, () => {
        this.#closeProblem = `closing took longer than ${CLOSE_TIMEOUT_MS} ms`;
        this.#worker.unref();
        resolve();
      });
      void this.#exited.then(() => {
        cancel();
        resolve();
      });
    });
    return this.#closeProblem;
  }

  #untilOpen(options: ThreadOptions, lastError: () => string): Promise<"open" | "renewed"> {
    return new Promise((resolve, reject) => {
      let isRenewed = false;
      let isLate = false;
      const cancel = options.clock.after(options.openTimeoutMs, () => {
        isLate = true;
        reject(new Error(`the database ${options.file} was not open after ${options.openTimeoutMs} ms`));
        this.#worker.unref();
      });
      this.#worker.on("message", (message: FromThread) => {
        if (message.kind === "open" && isLate) {
          const now = options.clock.now();
          this.post({ kind: "close", time: message.time ?? { now, wall: now } });
        } else if (message.kind === "open") {
          this.#state = "open";
          this.wasUnclean = message.wasUnclean;
          this.damage = message.damage;
          this.writes = new Set(message.writes);
          this.storedTime = message.time;
          cancel();
          resolve("open");
        } else if (message.kind === "renewed") {
          isRenewed = true;
        } else if (message.kind === "refused") {
          cancel();
          reject(new Error(message.message));
        }
      });
      void this.#exited.then(() => {
        cancel();
        if (isRenewed) resolve("renewed");
        reject(new Error(`the store thread for ${options.file} ended while it opened: ${lastError()}`));
      });
    });
  }
}
