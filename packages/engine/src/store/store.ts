import { statSync } from "node:fs";
import { CallError } from "@svc/protocol";
import { type Clock, systemClock } from "../kernel/clock.ts";
import type { Logger } from "../kernel/logger.ts";
import { integrityProblem } from "./aside.ts";
import { damageText } from "./damage.ts";
import type { StoreDurability } from "./database-file.ts";
import { type DriverName, defaultDriver } from "./driver.ts";
import type { InputOf, OutputOf, ProcedureTable } from "./procedures.ts";
import { startThread, type Thread } from "./thread.ts";
import type { Answer, Request } from "./thread-messages.ts";

export interface StoreOptions {
  /** Absolute path of the database; its folder must exist. The caller sees to it that no other process uses it (`lockDataFolder`). */
  readonly file: string;
  /** URL of the file that exports `schema` and `openProcedures`, e.g. `new URL("./file-procedures.js", import.meta.url)`. */
  readonly procedures: URL;
  readonly log: Logger;
  readonly clock?: Clock;
  /** `relaxed`: writes are answered before they are synced, which follows within a second. Default `durable`. */
  readonly durability?: StoreDurability | undefined;
  /** Requests that may wait or be under way. Default 10,000. */
  readonly maxRequests?: number;
  /** The same in bytes, as told by `call`. Default 64 MiB. */
  readonly maxBytes?: number;
  /** Deadline of each request, in milliseconds. Default 30,000. */
  readonly requestTimeoutMs?: number;
  /** Deadline of opening, checking an uncleanly stopped file included, in milliseconds. Default 300,000. */
  readonly openTimeoutMs?: number;
  /** Default: what the runtime offers. */
  readonly driver?: DriverName;
}

/**
 * A SQLite database in a thread of its own, reached through procedures. A write is answered after it is on the disk, unless the store is `relaxed`.
 * All requests of one tick travel as one message and commit as one transaction; while that is under way the next ones gather.
 */
export interface Store<Procedures extends ProcedureTable> {
  /**
   * Runs one procedure. Requests run in the order of their calls, and their promises settle in that order.
   *
   * Rejects with CallError: a code of the procedure's own (Refusal); `storage_failed` when the disk or the thread failed;
   * `overloaded` when as much waits as may wait; `call_timeout` past the deadline; `draining` after `close`.
   * Of the first and the last but one `details.outcome` is `unknown` when a write may have been done or may still be, else `not_written`.
   */
  call<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
    options?: { readonly bytes?: number },
  ): Promise<OutputOf<Procedures[Name]>>;
  /** Why the store cannot write at present; undefined when it can. */
  problem(): string | undefined;
  /** What was lost or is damaged although the store works; undefined when nothing is known. */
  damage(): string | undefined;
  /** Finishes what was asked for, writes the log back into the file and ends the thread. */
  close(): Promise<void>;
}

/** Size of a database up to which all of its content is checked after an unclean stop: the check cannot be ended early, and the engine waits for it when it stops. */
const MAX_CHECKED_BYTES = 512 * 1024 * 1024;
/** Least weight of a request, for its objects. */
const REQUEST_OVERHEAD_BYTES = 256;
/** How long a thread that could not be started again is left alone, in milliseconds. */
const RESTART_DELAY_MS = 1_000;

interface Pending {
  readonly request: Request;
  readonly bytes: number;
  readonly deadline: number;
  readonly resolve: (output: unknown) => void;
  readonly reject: (error: CallError) => void;
  /** Its caller was already told that the deadline passed. */
  expired: boolean;
}

type State =
  | { readonly name: "ready"; readonly thread: Thread }
  | { readonly name: "starting" }
  /** Starting failed; tried again at the first request after `retryAt` (monotonic). */
  | { readonly name: "down"; readonly reason: string; readonly retryAt: number }
  | { readonly name: "closed" };

/** Opens the store. Rejects with an Error for people when the file is damaged, of a newer version, or cannot be used. */
export async function openStore<Procedures extends ProcedureTable>(options: StoreOptions): Promise<Store<Procedures>> {
  const store = new ThreadStore<Procedures>(options);
  await store.open();
  return store;
}

class ThreadStore<Procedures extends ProcedureTable> implements Store<Procedures> {
  readonly #options: StoreOptions;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  readonly #requestTimeoutMs: number;

  #state: State = { name: "starting" };
  #waiting: Pending[] = [];
  /** The batch that the thread has. */
  #underWay: Pending[] = [];
  #requests = 0;
  #bytes = 0;
  #flushScheduled = false;
  #problem: string | undefined;
  #damage: string | undefined;
  readonly #abort = new AbortController();
  #cancelSweep: (() => void) | undefined;
  #closing: Promise<void> | undefined;
  #onIdle: (() => void) | undefined;

  constructor(options: StoreOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#log = options.log;
    this.#maxRequests = options.maxRequests ?? 10_000;
    this.#maxBytes = options.maxBytes ?? 64 * 1024 * 1024;
    this.#requestTimeoutMs = options.requestTimeoutMs ?? 30_000;
  }

  async open(): Promise<void> {
    this.#begin(await this.#startThread());
  }

  #begin(thread: Thread): void {
    this.#state = { name: "ready", thread };
    if (thread.damage !== undefined) this.#noteDamage(thread.damage);
    if (thread.wasUnclean && statSync(this.#options.file).size <= MAX_CHECKED_BYTES) this.#checkContent();
  }

  #noteDamage(damage: string): void {
    this.#damage = damage;
    this.#log.warn("store is damaged", { file: this.#options.file, damage });
  }

  /** Looks for damage that the check at the opening does not find, such as an index that does not fit its table. */
  #checkContent(): void {
    const { file, driver } = this.#options;
    integrityProblem({ file, driver, clock: this.#clock, signal: this.#abort.signal }).then(
      (problem) => {
        if (problem !== undefined) this.#noteDamage(damageText(file, problem));
      },
      (error: Error) => {
        if (!this.#abort.signal.aborted) this.#log.warn("store was not checked after an unclean stop", { file, error });
      },
    );
  }

  // Not an async function: its promise must settle in the same turn as the answer arrives, which is what keeps the order of answers.
  call<Name extends keyof Procedures & string>(
    name: Name,
    input: InputOf<Procedures[Name]>,
    options?: { readonly bytes?: number },
  ): Promise<OutputOf<Procedures[Name]>> {
    const bytes = REQUEST_OVERHEAD_BYTES + (options?.bytes ?? 0);
    const refusal = this.#refusalFor(bytes);
    if (refusal !== undefined) return Promise.reject(refusal);
    return new Promise<OutputOf<Procedures[Name]>>((resolve, reject) => {
      const deadline = this.#clock.monotonic() + this.#requestTimeoutMs;
      // The output is what the procedure of that name returned, copied between the threads.
      const settle = resolve as (output: unknown) => void;
      this.#requests += 1;
      this.#bytes += bytes;
      this.#waiting.push({ request: { procedure: name, input }, bytes, deadline, resolve: settle, reject, expired: false });
      this.#cancelSweep ??= this.#clock.after(this.#requestTimeoutMs, () => this.#expire());
      this.#scheduleFlush();
    });
  }

  problem(): string | undefined {
    return this.#state.name === "down" ? this.#state.reason : this.#problem;
  }

  damage(): string | undefined {
    return this.#damage;
  }

  close(): Promise<void> {
    this.#abort.abort();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #refusalFor(bytes: number): CallError | undefined {
    if (this.#closing !== undefined) return new CallError("draining", `the store ${this.#options.file} is closing and takes no more requests`);
    if (this.#state.name === "down" && this.#clock.monotonic() < this.#state.retryAt) return storageFailed(this.#state.reason, "not_written");
    if (this.#requests >= this.#maxRequests || (this.#requests > 0 && this.#bytes + bytes > this.#maxBytes)) {
      return new CallError("overloaded", `the store has ${this.#requests} requests of ${this.#bytes} bytes under way and takes no more; try again shortly`, {
        details: { requests: this.#requests, bytes: this.#bytes, max_requests: this.#maxRequests, max_bytes: this.#maxBytes },
      });
    }
    return undefined;
  }

  /** Sends at the end of this tick, so that all that it brings travels together. */
  #scheduleFlush(): void {
    if (this.#flushScheduled || this.#underWay.length > 0) return;
    this.#flushScheduled = true;
    setImmediate(() => {
      this.#flushScheduled = false;
      this.#flush();
    });
  }

  #flush(): void {
    if (this.#underWay.length > 0 || this.#waiting.length === 0) return;
    if (this.#state.name === "down") this.#restart();
    if (this.#state.name !== "ready") return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#underWay = batch;
    this.#state.thread.post({ kind: "batch", requests: batch.map((pending) => pending.request) });
  }

  #settle(answers: readonly Answer[]): void {
    const batch = this.#underWay;
    this.#underWay = [];
    // Large answers come in parts: the thread has not begun the rest, which goes to it again before what came since.
    const rest = batch.splice(Math.max(1, answers.length));
    batch.forEach((pending, index) => {
      this.#forget(pending);
      const answer = answers[index];
      if (pending.expired) return;
      if (answer === undefined) pending.reject(storageFailed("the store thread gave no answer; this is a defect of the engine", "unknown"));
      else settleWith(pending, answer);
    });
    for (const pending of rest) if (pending.expired) this.#forget(pending);
    if (rest.length > 0) this.#waiting = [...rest.filter(({ expired }) => !expired), ...this.#waiting];
    this.#flush();
    this.#sayIdle();
  }

  #forget(pending: Pending): void {
    this.#requests -= 1;
    this.#bytes -= pending.bytes;
  }

  /** Fails what is past its deadline. What the thread holds keeps counting against the bounds until it answers: it is still there. */
  #expire(): void {
    this.#cancelSweep = undefined;
    const now = this.#clock.monotonic();
    for (const pending of this.#underWay) this.#expireOne(pending, now, "unknown");
    const unsent = this.#waiting;
    this.#waiting = unsent.filter((pending) => pending.deadline > now);
    for (const pending of unsent) {
      if (pending.deadline <= now) this.#forget(pending);
      this.#expireOne(pending, now, "not_written");
    }
    const next = this.#underWay.find((pending) => !pending.expired) ?? this.#waiting[0];
    if (next !== undefined) this.#cancelSweep = this.#clock.after(Math.max(1, next.deadline - now), () => this.#expire());
    this.#sayIdle();
  }

  #expireOne(pending: Pending, now: number, outcome: Outcome): void {
    if (pending.expired || pending.deadline > now) return;
    pending.expired = true;
    const what = outcome === "unknown" ? "a write may still happen" : "nothing was written";
    const message = `the store did not answer within ${this.#requestTimeoutMs} ms; ${what}`;
    pending.reject(new CallError("call_timeout", message, { details: { timeout_ms: this.#requestTimeoutMs, outcome } }));
  }

  #startThread(): Promise<Thread> {
    return startThread(
      {
        file: this.#options.file,
        procedures: this.#options.procedures,
        driver: this.#options.driver ?? defaultDriver(),
        durability: this.#options.durability ?? "durable",
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
    if (problem === undefined) this.#log.info("store writes again", { file: this.#options.file });
    else this.#log.error("store cannot write", { file: this.#options.file, problem });
    this.#problem = problem;
  }

  /** What the last thread did not begin goes to the next one. */
  #renew(): void {
    if (this.#state.name === "closed") return;
    this.#damage = undefined;
    this.#log.info("store was written to a new file after a failed sync", { file: this.#options.file });
    const unanswered = this.#underWay.filter(({ expired }) => !expired);
    for (const pending of this.#underWay) if (pending.expired) this.#forget(pending);
    this.#underWay = [];
    this.#waiting = [...unanswered, ...this.#waiting];
    this.#restart();
  }

  /** The thread is gone: whatever it held fails, what waits goes to the next thread. */
  #recover(reason: string): void {
    if (this.#state.name === "closed") return;
    this.#log.error("store thread ended unexpectedly; starting it again", { file: this.#options.file, reason });
    this.#failUnderWay(`the store thread ended: ${reason}`);
    this.#restart();
  }

  #restart(): void {
    this.#state = { name: "starting" };
    this.#startThread().then(
      (thread) => {
        if (this.#state.name === "closed") {
          void thread.close();
          return;
        }
        if (this.#problem !== undefined) this.#noteHealth(undefined);
        this.#begin(thread);
        this.#flush();
        this.#sayIdle();
      },
      (error: Error) => this.#giveUp(error.message),
    );
  }

  #giveUp(reason: string): void {
    this.#log.error("store cannot be opened again", { file: this.#options.file, reason });
    this.#state = { name: "down", reason, retryAt: this.#clock.monotonic() + RESTART_DELAY_MS };
    this.#failWaiting(reason);
    this.#sayIdle();
  }

  #failUnderWay(reason: string): void {
    const lost = this.#underWay;
    this.#underWay = [];
    this.#fail(lost, reason, "unknown");
  }

  #failWaiting(reason: string): void {
    const lost = this.#waiting;
    this.#waiting = [];
    this.#fail(lost, reason, "not_written");
  }

  #fail(lost: readonly Pending[], reason: string, outcome: Outcome): void {
    for (const pending of lost) {
      this.#forget(pending);
      if (!pending.expired) pending.reject(storageFailed(reason, outcome));
    }
  }

  async #close(): Promise<void> {
    if (this.#underWay.length > 0 || this.#waiting.length > 0 || this.#state.name === "starting") {
      await new Promise<void>((resolve) => {
        // A thread that hangs on a dead disk must not keep the engine from stopping.
        const cancel = this.#clock.after(this.#requestTimeoutMs, resolve);
        this.#onIdle = () => {
          cancel();
          resolve();
        };
        this.#flush();
      });
    }
    this.#cancelSweep?.();
    const state = this.#state;
    this.#state = { name: "closed" };
    this.#failUnderWay("the store was closed before the disk answered");
    this.#failWaiting("the store was closed before the disk answered");
    if (state.name !== "ready") return;
    const problem = await state.thread.close();
    if (problem !== undefined)
      this.#log.warn("store closed without writing its log back; the next start checks the file", { file: this.#options.file, problem });
  }

  #sayIdle(): void {
    if (this.#underWay.length > 0 || this.#waiting.length > 0 || this.#state.name === "starting") return;
    this.#onIdle?.();
  }
}

/** Of a write that failed. */
type Outcome = "not_written" | "unknown";

function storageFailed(reason: string, outcome: Outcome): CallError {
  return new CallError("storage_failed", reason, { details: { reason, outcome } });
}

function settleWith(pending: Pending, answer: Answer): void {
  if (answer.status === "done") pending.resolve(answer.output);
  else if (answer.status === "refused") pending.reject(new CallError(answer.code, answer.message, { details: answer.details }));
  else pending.reject(storageFailed(answer.message, answer.isUnclear === true ? "unknown" : "not_written"));
}
