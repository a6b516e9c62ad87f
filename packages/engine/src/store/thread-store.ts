import { randomUUID } from "node:crypto";
import { statSync } from "node:fs";
import { CallError } from "@svc-runtime/protocol";
import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import type { Undo } from "../kernel/scope.ts";
import type {
  AppliedWrite,
  CallStoreOptions,
  InputOf,
  OutputOf,
  ProcedureTable,
  Store,
  StoreDurability,
} from "../kernel/store-contract.ts";
import { AppliedListeners } from "./applied-listeners.ts";
import { type DriverName, defaultDriver } from "./driver.ts";
import { damageText } from "./integrity-check.ts";
import { LogClock } from "./log-clock.ts";
import { STORE_TIME } from "./open-module.ts";
import { integrityProblem } from "./query-thread.ts";
import { startThread, type Thread } from "./store-thread.ts";
import type { Answer, Request } from "./thread-messages.ts";

export interface ThreadStoreOptions {
  /** See `StoreOptions` for the members without a comment here. */
  readonly file: string;
  readonly procedures: URL;
  readonly durability?: StoreDurability | undefined;
  readonly isBackground?: boolean | undefined;
  readonly onClosed?: () => void;
  readonly log: Logger;
  readonly clock?: Clock;
  readonly timeoutClock?: Clock;
  /** Maximum number of pending requests. Default 10,000. */
  readonly maxRequests?: number;
  /** Maximum total size of pending requests, in bytes (`bytes` of `call`). Default 64 MiB. */
  readonly maxBytes?: number;
  /** Timeout of each request, in milliseconds. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** Timeout of opening, including the check after an unclean stop, in milliseconds. Default 300,000. */
  readonly openTimeoutMs?: number;
  /** Default: `defaultDriver()`. */
  readonly driver?: DriverName;
}

/**
 * Maximum size of a database whose content is checked after an unclean stop, in bytes. The size is limited because
 * stopping the engine waits for the check.
 */
const MAX_CHECKED_BYTES = 512 * 1024 * 1024;
/** Memory that is counted for each request in addition to its data, in bytes. */
const REQUEST_OVERHEAD_BYTES = 256;
/** Minimum pause after a failed restart of the thread, in milliseconds. */
const RESTART_DELAY_MS = 1_000;
/** How long a write with `mayWait` waits for other requests, in milliseconds. */
const GATHER_MS = 1;

interface Pending {
  readonly request: Request;
  readonly mark: unknown;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: CallError) => void;
  /** True after the request was rejected because of its timeout. */
  expired: boolean;
}

type State =
  | { readonly name: "ready"; readonly thread: Thread }
  | { readonly name: "starting" }
  /** The thread failed to start. The first request after `retryAt` (monotonic) tries again. */
  | { readonly name: "down"; readonly reason: string; readonly retryAt: number }
  | { readonly name: "closed" };

/** Opens a database in its own thread. Rejects like `OpenStore`. */
export async function openThreadStore<Procedures extends ProcedureTable>(
  options: ThreadStoreOptions,
): Promise<Store<Procedures>> {
  const store = new ThreadStore<Procedures>(options);
  await store.open();
  return store;
}

class ThreadStore<Procedures extends ProcedureTable> implements Store<Procedures> {
  readonly run = randomUUID();
  readonly isShared = false;
  readonly #options: ThreadStoreOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  readonly #requestTimeoutMs: number;
  readonly #listeners: AppliedListeners<Procedures>;
  #time: LogClock;
  /** Names of the procedures that write. */
  #writes: ReadonlySet<string> = new Set();

  #state: State = { name: "starting" };
  #waiting: Pending[] = [];
  /** The batch that the thread is running. */
  #inFlight: Pending[] = [];
  #requests = 0;
  #bytes = 0;
  #flushScheduled = false;
  #gathering: NodeJS.Timeout | undefined;
  #problem: string | undefined;
  #damage: string | undefined;
  readonly #abort = new AbortController();
  /** The running or finished check of the content, if there was one. */
  #check: Promise<void> | undefined;
  #cancelSweep: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: ThreadStoreOptions) {
    this.#options = options;
    this.#clock = options.timeoutClock ?? options.clock ?? systemClock;
    this.#time = new LogClock(options.clock ?? systemClock, undefined, () => {});
    this.#log = options.log;
    this.#listeners = new AppliedListeners(options.log);
    this.#maxRequests = options.maxRequests ?? 10_000;
    this.#maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? 30_000;
  }

  async open(): Promise<void> {
    const thread = await this.#startThread();
    this.#time = new LogClock(this.#options.clock ?? systemClock, thread.storedTime, () => this.#storeTime());
    this.#onStarted(thread);
  }

  /** Stores the time after the wall clock was set, so that it is known after a crash. */
  #storeTime(): void {
    // The cast is needed because the name is not in the module's table of procedures.
    this.call(STORE_TIME as never, null as never).catch((error: unknown) =>
      this.#log.debug("the time of a store could not be stored", { file: this.#options.file, error }),
    );
  }

  #onStarted(thread: Thread): void {
    this.#state = { name: "ready", thread };
    this.#writes = thread.writes;
    if (thread.damage !== undefined) this.#noteDamage(thread.damage);
    if (thread.wasUnclean && statSync(this.#options.file).size <= MAX_CHECKED_BYTES) this.#checkContent();
  }

  #noteDamage(damage: string): void {
    this.#damage = damage;
    this.#log.warn("store is damaged", { file: this.#options.file, damage });
  }

  /** Checks for damage that the check on opening does not find, e.g. an index that does not match its table. */
  #checkContent(): void {
    const { file, driver } = this.#options;
    this.#check = integrityProblem({ file, driver, clock: this.#clock, signal: this.#abort.signal }).then(
      (problem) => {
        if (problem !== undefined) this.#noteDamage(damageText(file, problem));
      },
      (error: Error) => {
        if (!this.#abort.signal.aborted)
          this.#log.warn("failed to check the store after an unclean stop", { file, error });
      },
    );
  }

  readLocal<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
  ): Promise<OutputOf<Procedures[Name]>> {
    return this.call(name, input);
  }

  // Not an async function: the promise must settle in the same turn of the event loop in which the answer arrives. So
  // callers get answers in order.
  call<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
    options?: CallStoreOptions,
  ): Promise<OutputOf<Procedures[Name]>> {
    const bytes = REQUEST_OVERHEAD_BYTES + (options?.bytes ?? 0);
    const refusal = this.#refusalFor(bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise<OutputOf<Procedures[Name]>>((resolve, reject) => {
      const deadline = this.#clock.monotonic() + this.#requestTimeoutMs;
      // The cast is safe, because the output is that of the named procedure, copied between the threads.
      const settle = resolve as (output: unknown) => void;
      this.#requests += 1;
      this.#bytes += bytes;
      this.#waiting.push({
        request: { procedure: name, input },
        mark: options?.mark,
        bytes,
        deadline,
        resolve: settle,
        reject,
        expired: false,
      });
      this.#cancelSweep ??= this.#clock.after(this.#requestTimeoutMs, () => this.#expire());
      if (options?.mayWait === true) this.#gather();
      else this.#scheduleFlush();
    });
  }

  onApplied(listener: (applied: AppliedWrite<Procedures>) => void): Undo {
    return this.#listeners.add(listener);
  }

  skewMs(): number {
    return this.#time.skewMs();
  }

  /** Returns only this run, because the lock of the data folder excludes other runs. */
  members(): readonly string[] {
    return [this.run];
  }

  /** Never calls the listener, because no other run can use the store at the same time. */
  onRunsGone(): Undo {
    return () => {};
  }

  problem(): string | undefined {
    return this.#state.name === "down" ? this.#state.reason : this.#problem;
  }

  damage(): string | undefined {
    return this.#damage;
  }

  close(): Promise<void> {
    this.#abort.abort();
    this.#closing ??= this.#close().finally(() => this.#options.onClosed?.());
    return this.#closing;
  }

  #refusalFor(bytes: number): CallError | undefined {
    if (this.#closing !== undefined)
      return new CallError("draining", `the store ${this.#options.file} is closing and accepts no more requests`);
    if (this.#state.name === "down" && this.#clock.monotonic() < this.#state.retryAt)
      return storageFailed(this.#state.reason, "not_written");
    if (this.#requests >= this.#maxRequests || (this.#requests > 0 && this.#bytes + bytes > this.#maxBytes)) {
      return new CallError(
        "overloaded",
        `too many pending requests to the store: ${this.#requests} requests of ${this.#bytes} bytes; try again shortly`,
        {
          details: {
            requests: this.#requests,
            bytes: this.#bytes,
            max_requests: this.#maxRequests,
            max_bytes: this.#maxBytes,
          },
        },
      );
    }
    return undefined;
  }

  /**
   * Sends after the current callback of the event loop, so that all requests of the callback are in one batch. Requests
   * of later callbacks are collected while the thread commits that batch. So a single write does not wait for others.
   */
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#inFlight.length > 0) return;
    this.#flushScheduled = true;
    process.nextTick(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  /** Sends the waiting requests after `GATHER_MS`, unless they are sent earlier together with other requests. */
  #gather(): void {
    this.#gathering ??= setTimeout(() => {
      this.#gathering = undefined;
      this.#flush();
    }, GATHER_MS);
  }

  #flush(): void {
    if (this.#inFlight.length > 0 || this.#waiting.length === 0) return;
    if (this.#state.name === "down") this.#restart();
    if (this.#state.name !== "ready") return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#inFlight = batch;
    const time = this.#time.read();
    this.#state.thread.post({ kind: "batch", requests: batch.map((pending) => pending.request), time });
  }

  #settle(answers: readonly Answer[]): void {
    const batch = this.#inFlight;
    this.#inFlight = [];
    // If the answers are large, the thread answers only some requests. Send the others again, before newer requests.
    const rest = batch.splice(Math.max(1, answers.length));
    batch.forEach((pending, index) => {
      this.#release(pending);
      const answer = answers[index];
      if (answer?.status === "done" && this.#writes.has(pending.request.procedure))
        this.#listeners.reportOwn(pending.request, answer.output, pending.mark);
      if (pending.expired) return;
      if (answer === undefined)
        pending.reject(storageFailed("the store thread gave no answer; this is a bug in the engine", "unknown"));
      else settleWith(pending, answer);
    });
    for (const pending of rest) if (pending.expired) this.#release(pending);
    if (rest.length > 0) this.#waiting = [...rest.filter(({ expired }) => !expired), ...this.#waiting];
    this.#flush();
    this.#notifyIdle();
  }

  #release(pending: Pending): void {
    this.#requests -= 1;
    this.#bytes -= pending.bytes;
  }

  /**
   * Rejects requests that timed out. Requests in the running batch count against the limits until the thread answers.
   */
  #expire(): void {
    this.#cancelSweep = undefined;
    const now = this.#clock.monotonic();
    for (const pending of this.#inFlight) this.#expireOne(pending, now, "unknown");
    const unsent = this.#waiting;
    this.#waiting = unsent.filter((pending) => pending.deadline > now);
    for (const pending of unsent) {
      if (pending.deadline <= now) this.#release(pending);
      this.#expireOne(pending, now, "not_written");
    }
    const next = this.#inFlight.find((pending) => !pending.expired) ?? this.#waiting[0];
    if (next !== undefined)
      this.#cancelSweep = this.#clock.after(Math.max(1, next.deadline - now), () => this.#expire());
    this.#notifyIdle();
  }

  #expireOne(pending: Pending, now: number, outcome: Outcome): void {
    if (pending.expired || pending.deadline > now) return;
    pending.expired = true;
    const what = outcome === "unknown" ? "a write may still be executed" : "nothing was written";
    const message = `the store did not answer within ${this.#requestTimeoutMs} ms; ${what}`;
    pending.reject(
      new CallError("call_timeout", message, { details: { timeout_ms: this.#requestTimeoutMs, outcome } }),
    );
  }

  #startThread(): Promise<Thread> {
    return startThread(
      {
        file: this.#options.file,
        procedures: this.#options.procedures,
        driver: this.#options.driver ?? defaultDriver(),
        durability: this.#options.durability ?? "durable",
        isBackground: this.#options.isBackground ?? false,
        openTimeoutMs: this.#options.openTimeoutMs ?? 300_000,
        clock: this.#clock,
      },
      {
        onAnswers: (answers) => this.#settle(answers),
        onHealth: (problem) => this.#noteHealth(problem),
        onRenewed: () => this.#renew(),
        onCrash: (reason) => this.#recover(reason),
      },
    );
  }

  #noteHealth(problem: string | undefined): void {
    if (problem === undefined) this.#log.info("store can write again", { file: this.#options.file });
    else this.#log.error("store cannot write", { file: this.#options.file, problem });
    this.#problem = problem;
  }

  /** Sends the requests that the last thread did not start to a new thread. */
  #renew(): void {
    if (this.#state.name === "closed") return;
    this.#damage = undefined;
    this.#log.info("store was written to a new file after a failed sync", { file: this.#options.file });
    const unanswered = this.#inFlight.filter(({ expired }) => !expired);
    for (const pending of this.#inFlight) if (pending.expired) this.#release(pending);
    this.#inFlight = [];
    this.#waiting = [...unanswered, ...this.#waiting];
    this.#restart();
  }

  /** Fails the requests that the crashed thread was running. Waiting requests go to a new thread. */
  #recover(reason: string): void {
    if (this.#state.name === "closed") return;
    this.#log.error("store thread ended unexpectedly; restarting it", { file: this.#options.file, reason });
    this.#failInFlight(`the store thread ended: ${reason}`);
    this.#restart();
  }

  #restart(): void {
    this.#state = { name: "starting" };
    this.#startThread().then(
      (thread) => {
        if (this.#state.name === "closed") {
          void thread.close(this.#time.read());
          return;
        }
        if (this.#problem !== undefined) this.#noteHealth(undefined);
        this.#onStarted(thread);
        this.#flush();
        this.#notifyIdle();
      },
      (error: Error) => this.#markDown(error.message),
    );
  }

  #markDown(reason: string): void {
    this.#log.error("failed to reopen the store", { file: this.#options.file, reason });
    this.#state = { name: "down", reason, retryAt: this.#clock.monotonic() + RESTART_DELAY_MS };
    this.#failWaiting(reason);
    this.#notifyIdle();
  }

  #failInFlight(reason: string): void {
    const lost = this.#inFlight;
    this.#inFlight = [];
    this.#fail(lost, reason, "unknown");
  }

  #failWaiting(reason: string): void {
    const lost = this.#waiting;
    this.#waiting = [];
    this.#fail(lost, reason, "not_written");
  }

  #fail(lost: readonly Pending[], reason: string, outcome: Outcome): void {
    for (const pending of lost) {
      this.#release(pending);
      if (!pending.expired) pending.reject(storageFailed(reason, outcome));
    }
  }

  async #close(): Promise<void> {
    if (this.#inFlight.length > 0 || this.#waiting.length > 0 || this.#state.name === "starting") {
      await new Promise<void>((resolve) => {
        // A thread that hangs on a failed disk must not prevent the engine from stopping.
        const cancel = this.#clock.after(this.#requestTimeoutMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
        this.#flush();
      });
    }
    this.#cancelSweep?.();
    clearTimeout(this.#gathering);
    const state = this.#state;
    this.#state = { name: "closed" };
    this.#failInFlight("the store was closed before the write finished");
    this.#failWaiting("the store was closed before the write finished");
    // The process must not end before the thread of the check has ended.
    await this.#check;
    if (state.name !== "ready") return;
    const problem = await state.thread.close(this.#time.read());
    if (problem !== undefined)
      this.#log.warn("store closed without a checkpoint; the next start checks the file", {
        file: this.#options.file,
        problem,
      });
  }

  #notifyIdle(): void {
    if (this.#inFlight.length > 0 || this.#waiting.length > 0 || this.#state.name === "starting") return;
    this.#onIdle?.();
  }
}

/** Outcome of a failed write. */
type Outcome = "not_written" | "unknown";

function storageFailed(reason: string, outcome: Outcome): CallError {
  return new CallError("storage_failed", reason, { details: { reason, outcome } });
}

function settleWith(pending: Pending, answer: Answer): void {
  if (answer.status === "done") pending.resolve(answer.output);
  else if (answer.status === "refused")
    pending.reject(new CallError(answer.code, answer.message, { details: answer.details }));
  else pending.reject(storageFailed(answer.message, answer.isUnclear === true ? "unknown" : "not_written"));
}
