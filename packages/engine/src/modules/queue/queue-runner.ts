import { backoffMs, type Payload } from "@svc/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { ProviderOf } from "../../deliveries/function-owner.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { buryUnrun, type Ending, endingAfter, type Hand, recordEnding, release } from "./hand.ts";
import { type Attempt, type AttemptParts, attemptJob } from "./job-attempt.ts";
import { Parking } from "./parking.ts";
import type { JobServer } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import { runRefusalOf } from "./run-refusal.ts";
import type { TakenJob } from "./store/job.ts";
import type { QueueStore, TakeOutput } from "./store/queue-store.ts";
import { UnrunJobsLog } from "./unrun-jobs-log.ts";

/** A job is held so long before it is given back, unless the lease goes on. */
export const LEASE_MS = 30_000;

/** Data of jobs taken in one go. */
const TAKE_BYTES = 16 * 1024 * 1024;

/** A timer for a job that is due later than this looks again then; timers of the runtime end at 24 days. */
const LONGEST_TIMER_MS = 3_600_000;

export interface RunnerParts {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** This run of the engine. */
  readonly run: string;
  readonly directory: Pick<Directory, "functionById" | "functions" | "workerById">;
  readonly telemetry: Pick<Telemetry, "startSpan">;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<unknown>;
  /** Jobs of other roles do not run any more. */
  readonly isRoleInForce: (role: string) => boolean;
  readonly providerOf: ProviderOf;
  readonly isPaused: boolean;
  /** A take may have happened although it was not answered. */
  readonly onDoubt: () => void;
  /** A job that was still in hand when fetching stopped is no longer: the queue may have something to take, for whoever runs it now. */
  readonly onLeft: () => void;
}

/** Runs the jobs of one queue: takes as many as may run, and never waits for anything by looking again and again. */
export class QueueRunner {
  readonly #parts: RunnerParts;
  readonly #parking: Parking;
  readonly #unrunJobs: UnrunJobsLog;
  readonly #hands = new Map<number, Hand>();
  #server: JobServer | undefined;
  #paused: boolean;
  #stopped = false;
  /** There may be jobs to take. */
  #mayHave = true;
  /** There are jobs of restricted principals to take, once one of theirs has ended. */
  #isHeldBack = false;
  /** The function after which the next take looks for jobs of restricted principals: one take looks at some functions only. */
  #restrictedAfter: string | undefined;
  /** Functions that were passed since the first may have jobs of restricted principals. */
  #isPassedStale = false;
  #fetching = false;
  #fetchIsDue = false;
  #failures = 0;
  #cancelPause: (() => void) | undefined;
  #cancelDue: (() => void) | undefined;
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#paused = parts.isPaused;
    this.#unrunJobs = new UnrunJobsLog({ queue: parts.name, clock: parts.clock, log: parts.log });
    this.#parking = new Parking({ clock: parts.clock, isThere: (key) => !this.#isAway(key), onFree: () => this.wake() });
  }

  get settings(): QueueSettings {
    return this.#parts.settings;
  }

  /** Jobs in hand. */
  get seqs(): readonly number[] {
    return [...this.#hands.keys()];
  }

  /** Nothing is taken for this function, or for whoever serves the queue, just now. */
  takesNone(functionId: string | undefined): boolean {
    return this.#paused || this.#stopped || this.#isAway(functionId ?? "");
  }

  serve(server: JobServer): () => void {
    this.#server = server;
    this.#parking.free("");
    this.wake();
    return () => {
      if (this.#server === server) this.#server = undefined;
    };
  }

  /** There may be something to take, or somebody to give it to. */
  wake(): void {
    this.#mayHave = true;
    this.#isPassedStale = true;
    this.#fetchSoon();
  }

  /** Whoever serves the jobs without a function may have come back. */
  serverChanged(): void {
    this.#parking.free("");
    this.wake();
  }

  functionChanged(id: string): void {
    this.#parking.free(id);
    if (this.#parking.isCrowded) this.wake();
    if (this.#server?.functionIds.includes(id) === true) this.#parking.free("");
  }

  /** A delayed job was put on the queue. */
  noteDue(at: number): void {
    if (at >= this.#dueAt || this.#stopped) return;
    const { clock } = this.#parts;
    const ms = at - clock.now();
    if (ms <= 0) {
      this.wake();
      return;
    }
    this.#cancelDue?.();
    this.#dueAt = at;
    this.#cancelDue = clock.after(Math.min(LONGEST_TIMER_MS, ms), () => this.#lookForDue());
  }

  /** The clock was set: what is due when has changed. */
  clockJumped(): void {
    this.#lookForDue();
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    if (!paused) this.wake();
  }

  /** Withdraws a job in hand; resolves when it is taken out. False when it is not in hand. */
  async cancel(seq: number): Promise<boolean> {
    const hand = this.#hands.get(seq);
    if (hand === undefined) return false;
    hand.cut ??= "cancelled";
    hand.abort.abort();
    await hand.ended;
    return true;
  }

  stopFetching(): void {
    this.#stopped = true;
    this.#cancelDue?.();
    this.#cancelPause?.();
    this.#parking.clear();
    this.#unrunJobs.flush();
  }

  /** Takes what is in hand from its handlers; it is given back with its attempts unchanged. */
  cut(): void {
    for (const hand of this.#hands.values()) {
      hand.cut ??= "stopped";
      hand.abort.abort();
    }
  }

  /** Resolves when nothing is in hand. */
  async idle(): Promise<void> {
    while (this.#hands.size > 0 || this.#fetching) {
      await Promise.all([...this.#hands.values()].map(({ ended }) => ended));
      if (this.#fetching) await this.#fetchEnded;
    }
  }

  #fetchEnded: Promise<void> = Promise.resolve();

  #lookForDue(): void {
    this.#cancelDue?.();
    this.#cancelDue = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.wake();
  }

  /** What one turn brings is taken together. */
  #fetchSoon(): void {
    if (this.#fetchIsDue) return;
    this.#fetchIsDue = true;
    setImmediate(() => {
      this.#fetchIsDue = false;
      this.#fetch();
    });
  }

  get #room(): number {
    let running = 0;
    for (const { ending } of this.#hands.values()) if (!ending) running += 1;
    return this.#parts.settings.concurrency - running;
  }

  /** One place is kept for jobs of trusted callers, where there are several: jobs of others that hang must not hold all. */
  get #restrictedRoom(): number {
    const { concurrency } = this.#parts.settings;
    let running = 0;
    for (const { ending, job } of this.#hands.values()) if (!ending && job.maker !== undefined) running += 1;
    return Math.max(1, concurrency - 1) - running;
  }

  #fetch(): void {
    if (!this.#mayHave || this.#fetching || this.#stopped || this.#paused || this.#cancelPause !== undefined || this.#room <= 0) return;
    this.#mayHave = false;
    this.#fetching = true;
    this.#fetchEnded = this.#take().finally(() => {
      this.#fetching = false;
      if (this.#mayHave) this.#fetchSoon();
    });
  }

  async #take(): Promise<void> {
    const { name, store, clock, run, log } = this.#parts;
    const leaseUntil = Math.round(clock.monotonic() + LEASE_MS);
    try {
      const now = clock.now();
      const except = this.#parking.keys();
      const only = this.#parking.isCrowded ? this.#whoIsThere() : undefined;
      const restrictedLimit = Math.max(0, this.#restrictedRoom);
      const restrictedAfter = this.#restrictedAfter;
      if (restrictedAfter === undefined) this.#isPassedStale = false;
      const wanted = { queue: name, limit: this.#room, restrictedLimit, maxBytes: TAKE_BYTES, except, only, restrictedAfter, now, run, leaseUntil };
      const { jobs, more, isHeldBack, nextDue, ...rest } = await store.call("take", wanted);
      this.#failures = 0;
      this.#noteRestricted(restrictedAfter, rest);
      if (more) this.#mayHave = true;
      if (nextDue !== undefined) this.noteDue(nextDue);
      for (const job of jobs) this.#start(job);
      this.#isHeldBack = isHeldBack;
      // One of theirs may have ended while the store looked.
      if (isHeldBack && this.#restrictedRoom > 0) this.#mayHave = true;
    } catch (error) {
      this.#mayHave = true;
      this.#failures += 1;
      this.#parts.onDoubt();
      if (this.#failures === 1) log.warn("jobs cannot be taken at present", { queue: name, error });
      this.#pauseFor(Math.min(5_000, backoffMs(UNAVAILABLE_BACKOFF, this.#failures)));
    }
  }

  /** When the search has come to the last function, it starts again at the first one if those that were passed may have jobs. */
  #noteRestricted(before: string | undefined, { restrictedAfter, foundRestricted }: Pick<TakeOutput, "restrictedAfter" | "foundRestricted">): void {
    if (foundRestricted && (before !== undefined || restrictedAfter !== undefined)) this.#isPassedStale = true;
    this.#restrictedAfter = restrictedAfter;
    if (restrictedAfter === undefined && this.#isPassedStale) this.#mayHave = true;
  }

  #pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#cancelPause?.();
    this.#cancelPause = this.#parts.clock.after(ms, () => {
      this.#cancelPause = undefined;
      this.#fetchSoon();
    });
  }

  #start(job: TakenJob): void {
    let ended = (): void => {};
    const hand: Hand = {
      job,
      abort: new AbortController(),
      cut: undefined,
      ending: false,
      ended: new Promise((resolve) => {
        ended = resolve;
      }),
    };
    this.#hands.set(job.seq, hand);
    void this.#carryOut(hand).finally(() => {
      this.#hands.delete(job.seq);
      ended();
      // A place is free, where the store could not be told before.
      if (this.#mayHave || this.#freesHeldBack(hand)) this.wake();
      if (this.#stopped) this.#parts.onLeft();
    });
  }

  #freesHeldBack({ job }: Hand): boolean {
    return this.#isHeldBack && job.maker !== undefined;
  }

  /** Never rejects. */
  async #carryOut(hand: Hand): Promise<void> {
    const { log, name } = this.#parts;
    try {
      const ending = await this.#endingOf(hand);
      await recordEnding(hand, ending, {
        ...this.#parts,
        // The next one is asked for in the same batch, for which that must be scheduled first; the store frees the place before it looks.
        beforehand: () => (this.#mayHave || hand.job.group !== undefined || this.#freesHeldBack(hand) ? this.wake() : undefined),
        onUnblocked: () => this.wake(),
      });
    } catch (error) {
      // Its lease runs out, and then it is tried again.
      this.#parts.onDoubt();
      log.error("a job went wrong in the engine", { queue: name, job: hand.job.id, error });
    }
  }

  /** Runs the job and says what is to become of it. */
  async #endingOf(hand: Hand): Promise<Ending> {
    const { store, clock, directory, settings, telemetry } = this.#parts;
    const { job, abort } = hand;
    const key = job.functionId ?? "";
    if (this.#stopped) return release(store);
    const refusal = runRefusalOf(job, this.#parts);
    if (refusal !== undefined) {
      this.#unrunJobs.note(refusal);
      return buryUnrun(job, refusal, this.#parts);
    }
    if (this.#isAway(key)) {
      this.#parking.park(key);
      return release(store);
    }
    const run = this.#runOf(job);
    const attempt = await attemptJob({ job, run, timeoutMs: settings.timeoutMs, signal: abort.signal, now: () => clock.now(), directory, telemetry });
    if (attempt === undefined) {
      this.#parking.served(key);
      return ({ seq }) => store.call("done", { seq });
    }
    if (hand.cut === "cancelled") return ({ seq }) => store.call("drop", { seq });
    return this.#endingAfter(attempt, hand, key);
  }

  #endingAfter(attempt: Attempt, hand: Hand, key: string): Ending {
    const { kind } = attempt;
    if (kind !== "missing" && kind !== "unavailable") this.#parking.served(key);
    else if (!this.#stopped) this.#parking.park(key);
    return endingAfter(attempt, { ...this.#parts, hand, isStopping: this.#stopped, noteDue: (at) => this.noteDue(at) });
  }

  #whoIsThere(): string[] {
    return ["", ...this.#parts.directory.functions().map(({ function_id: id }) => id)].filter((key) => !this.#isAway(key));
  }

  #isAway(key: string): boolean {
    if (key === "") return this.#server === undefined || this.#server.isAway();
    return this.#parts.directory.functionById(key) === undefined;
  }

  #runOf(job: TakenJob): AttemptParts["run"] {
    const { functionId } = job;
    if (functionId !== undefined) return (payload, options, attempt) => this.#parts.call(functionId, payload, attempt.callOptions(options));
    const server = this.#server;
    if (server === undefined) throw new TypeError("nobody serves this queue");
    return (payload, options, attempt) => server.run(payload, options, attempt);
  }
}
