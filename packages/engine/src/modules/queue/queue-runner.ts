import { backoffMs, didYouMean, type Payload } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { ProviderOf } from "../../deliveries/function-owner.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { CallOptions } from "../../kernel/module.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { mayBeStored } from "../../store/may-be-stored.ts";
import { type Attempt, type AttemptParts, attemptJob } from "./job-attempt.ts";
import type { JobServer, NoWorkerReasonOptions } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import {
  type Completion,
  completionAfterFailure,
  deadLetterUnrun,
  type InFlightJob,
  release,
  storeCompletion,
} from "./retry-or-dead-letter.ts";
import { runRefusalOf } from "./run-refusal.ts";
import type { LeasedJob } from "./store/job.ts";
import type { QueueStore, TakeInput, TakeOutput } from "./store/queue-store.ts";
import { UnavailableFunctions } from "./unavailable-functions.ts";
import { UnrunJobsLog } from "./unrun-jobs-log.ts";

/** Maximum bytes of data of the jobs that one take (a request to the store for jobs) returns. */
const TAKE_BYTES = 16 * 1024 * 1024;

/**
 * Maximum delay of a timer. For a job that is due later, a new timer is set when it fires, because timers of Node.js
 * have a maximum of 24 days.
 */
const LONGEST_TIMER_MS = 3_600_000;

export interface RunnerParts {
  readonly name: string;
  readonly settings: QueueSettings;
  readonly store: QueueStore;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the number of a new take, which is unique within this run of the engine. */
  readonly nextTake: () => number;
  readonly directory: Pick<Directory, "functionById" | "functions" | "isProvidedHere" | "workerById">;
  readonly telemetry: Pick<Telemetry, "startSpan">;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<Payload>;
  /** Returns whether the config still has the role. Jobs whose maker has a removed role do not run. */
  readonly isRoleInForce: (role: string) => boolean;
  readonly providerOf: ProviderOf;
  readonly isPaused: boolean;
  /** Called when the success of a job was stored. */
  readonly onDone: () => void;
  /** Called when a take failed but may be stored nevertheless. Its jobs, if any, must return to the queue. */
  readonly onTakeUnclear: (take: number) => void;
  /**
   * Called when a job ends after this runner stopped fetching, because the queue's new runner may have jobs to take.
   */
  readonly onRetiredJobEnded: () => void;
}

/** A take that is sent in the same write as the jobs to add. Slots for the jobs are reserved already. */
export interface TakeOfAdded {
  readonly input: TakeInput;
  follow(answer: Promise<TakeOutput>): void;
}

/** Runs the jobs of one queue, up to its concurrency. It reacts to events and never polls. */
export class QueueRunner {
  readonly #parts: RunnerParts;
  readonly #unavailable: UnavailableFunctions;
  readonly #unrunJobs: UnrunJobsLog;
  readonly #inFlight = new Map<number, InFlightJob>();
  #server: JobServer | undefined;
  #paused: boolean;
  #stopped = false;
  /** The queue may have jobs to take. */
  #mayHave = true;
  /** True: ready jobs of restricted principals wait, because all slots for such jobs are in use. */
  #isHeldBack = false;
  /**
   * The function after which the next take continues the search for jobs of restricted principals. One take checks a
   * limited number of functions.
   */
  #restrictedAfter: string | undefined;
  /** Functions before `#restrictedAfter` may have got jobs of restricted principals since the search passed them. */
  #mayHavePassedJobs = false;
  #lastTake = 0;
  #fetching = false;
  #fetchIsDue = false;
  /** Number of slots that are reserved for jobs that are being added. */
  #reserved = 0;
  readonly #takes = new Set<Promise<void>>();
  #failures = 0;
  #cancelPause: (() => void) | undefined;
  #cancelDue: (() => void) | undefined;
  /** Monotonic time of the next delayed job. */
  #dueAt = Number.POSITIVE_INFINITY;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
    this.#paused = parts.isPaused;
    this.#unrunJobs = new UnrunJobsLog({ queue: parts.name, clock: parts.clock, log: parts.log });
    this.#unavailable = new UnavailableFunctions({
      clock: parts.clock,
      isAvailable: (key) => !this.#isFunctionAway(key),
      onResumed: () => this.wake(),
    });
  }

  get name(): string {
    return this.#parts.name;
  }

  get settings(): QueueSettings {
    return this.#parts.settings;
  }

  /** Numbers that the jobs in flight have in the store. */
  get seqs(): readonly number[] {
    return [...this.#inFlight.keys()];
  }

  /** True if the runner currently takes no jobs that call this function. Undefined means jobs that name no function. */
  isAway(functionId: string | undefined): boolean {
    return this.#paused || this.#stopped || this.#isFunctionAway(functionId ?? "");
  }

  /** Returns why no worker can run jobs that call this function; undefined if a worker can. */
  noWorkerReason(
    functionId: string | undefined,
    { mayNameOthers, withSuggestion }: NoWorkerReasonOptions,
  ): string | undefined {
    if (!this.#isFunctionAway(functionId ?? "")) return undefined;
    if (functionId === undefined && !mayNameOthers)
      return `no trigger of queue ${this.#parts.name} can run jobs that name no function now`;
    const needed = functionId === undefined ? (this.#server?.functionIds ?? []) : [functionId];
    if (needed.length === 0) return `no trigger of queue ${this.#parts.name} runs jobs that name no function`;
    const { directory } = this.#parts;
    const missing = needed.filter((id) => directory.functionById(id) === undefined);
    if (missing.length === 0) return `no worker can run ${needed.join(" or ")} now`;
    const [first = "", ...others] = missing;
    const known =
      mayNameOthers && withSuggestion && others.length === 0
        ? directory.functions().map(({ function_id: id }) => id)
        : [];
    return `no connected worker provides the function ${missing.join(" or ")}${didYouMean(first, known)}`;
  }

  inFlight(seq: number): InFlightJob | undefined {
    return this.#inFlight.get(seq);
  }

  inFlightById(jobId: string): InFlightJob | undefined {
    for (const inFlight of this.#inFlight.values()) if (inFlight.job.id === jobId) return inFlight;
    return undefined;
  }

  serve(server: JobServer): () => void {
    this.#server = server;
    this.#unavailable.resume("");
    this.wake();
    return () => {
      if (this.#server === server) this.#server = undefined;
    };
  }

  /** Call when the queue may have jobs to take, or a function may be available. */
  wake(): void {
    this.#mayHave = true;
    this.#mayHavePassedJobs = true;
    this.#fetchSoon();
  }

  /** Number of the last take that was sent to the store; 0 before the first. */
  get lastTake(): number {
    return this.#lastTake;
  }

  /**
   * Returns a take to send in the same write that adds jobs for these functions. Returns undefined if this runner
   * cannot take such jobs now. The caller must send the take at once and call `follow` with its result.
   */
  takeOfAdded(functionIds: readonly (string | undefined)[]): TakeOfAdded | undefined {
    // Leave the jobs to an ordinary take if other jobs may be waiting already, because these come first. Do the same
    // while a take is under way, because its jobs may need all free slots.
    if (this.#fetching || this.#mayHave || this.#isHeldBack || this.#cancelPause !== undefined) return undefined;
    const limit = Math.min(functionIds.length, this.#freeSlots);
    if (limit <= 0 || functionIds.some((id) => this.isAway(id))) return undefined;
    const requestedAt = this.#parts.clock.monotonic();
    // The limit is 0, because only ordinary takes look for jobs of restricted principals.
    const input = this.#takeInput({ limit, restrictedLimit: 0 });
    this.#reserved += limit;
    return {
      input,
      follow: (answer) =>
        this.#noteTake(
          answer
            .then((taken) => this.#startTaken(taken, requestedAt))
            .catch((error: unknown) => {
              if (!mayBeStored(error)) return;
              this.#mayHave = true;
              this.#parts.onTakeUnclear(input.take);
            })
            .finally(() => {
              this.#reserved -= limit;
              if (this.#mayHave) this.#fetchSoon();
            }),
        ),
    };
  }

  /** Call when the queue's server may be available again. */
  serverChanged(): void {
    this.#unavailable.resume("");
    this.wake();
  }

  functionChanged(id: string): void {
    this.#unavailable.resume(id);
    if (this.#unavailable.isFull) this.wake();
    if (this.#server?.functionIds.includes(id) === true) this.#unavailable.resume("");
  }

  /** Notes that a delayed job is due `ms` milliseconds after the monotonic time `since`, by default now. */
  noteDue(ms: number, since = this.#parts.clock.monotonic()): void {
    const { clock } = this.#parts;
    const at = since + ms;
    const remainingMs = at - clock.monotonic();
    if (remainingMs <= 0) {
      this.wake();
      return;
    }
    if (at >= this.#dueAt || this.#stopped) return;
    this.#cancelDue?.();
    this.#dueAt = at;
    this.#cancelDue = clock.after(Math.min(LONGEST_TIMER_MS, remainingMs), () => this.#wakeForDue());
  }

  /** Call when the wall clock was set, because jobs with a `runAt` may be due now. */
  clockJumped(): void {
    this.#wakeForDue();
  }

  setPaused(paused: boolean): void {
    this.#paused = paused;
    if (!paused) this.wake();
  }

  /** Cancels a job in flight and resolves when it is completed. Returns false if the job is not in flight. */
  async cancel(seq: number): Promise<boolean> {
    const inFlight = this.#inFlight.get(seq);
    if (inFlight === undefined) return false;
    inFlight.abortReason ??= "cancelled";
    inFlight.abort.abort();
    await inFlight.ended;
    return true;
  }

  stopFetching(): void {
    this.#stopped = true;
    this.#cancelDue?.();
    this.#cancelPause?.();
    this.#unavailable.clear();
    this.#unrunJobs.flush();
  }

  /** Aborts all jobs in flight. They are released with their attempts unchanged. */
  abortAll(): void {
    for (const inFlight of this.#inFlight.values()) {
      inFlight.abortReason ??= "stopped";
      inFlight.abort.abort();
    }
  }

  /** Resolves when no job is in flight. */
  async idle(): Promise<void> {
    while (this.#inFlight.size > 0 || this.#takes.size > 0)
      await Promise.all([...[...this.#inFlight.values()].map(({ ended }) => ended), ...this.#takes]);
  }

  /** `take` never rejects. */
  #noteTake(take: Promise<void>): void {
    this.#takes.add(take);
    void take.then(() => this.#takes.delete(take));
  }

  #wakeForDue(): void {
    this.#cancelDue?.();
    this.#cancelDue = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.wake();
  }

  /**
   * Fetches after the current turn of the event loop, so that one take gets all jobs that are added during the turn.
   */
  #fetchSoon(): void {
    if (this.#fetchIsDue) return;
    this.#fetchIsDue = true;
    setImmediate(() => {
      this.#fetchIsDue = false;
      this.#fetch();
    });
  }

  get #freeSlots(): number {
    let running = 0;
    for (const { isCompleting } of this.#inFlight.values()) if (!isCompleting) running += 1;
    return this.#parts.settings.concurrency - running - this.#reserved;
  }

  /**
   * Number of free slots for jobs of restricted principals. If the queue has several slots, one is reserved for jobs of
   * trusted callers, so that hanging jobs of restricted principals cannot use all slots.
   */
  get #freeRestrictedSlots(): number {
    const { concurrency } = this.#parts.settings;
    let running = 0;
    for (const { isCompleting, job } of this.#inFlight.values())
      if (!isCompleting && job.maker !== undefined) running += 1;
    return Math.max(1, concurrency - 1) - running;
  }

  #fetch(): void {
    if (
      !this.#mayHave ||
      this.#fetching ||
      this.#stopped ||
      this.#paused ||
      this.#cancelPause !== undefined ||
      this.#freeSlots <= 0
    )
      return;
    this.#mayHave = false;
    this.#fetching = true;
    this.#noteTake(
      this.#take().finally(() => {
        this.#fetching = false;
        if (this.#mayHave) this.#fetchSoon();
      }),
    );
  }

  #takeInput(more: Pick<TakeInput, "limit" | "restrictedLimit" | "restrictedAfter">): TakeInput {
    const { name, store } = this.#parts;
    return {
      queue: name,
      maxBytes: TAKE_BYTES,
      except: this.#unavailable.keys(),
      only: this.#unavailable.isFull ? this.#availableFunctions() : undefined,
      run: store.run,
      take: this.#parts.nextTake(),
      ...more,
    };
  }

  async #take(): Promise<void> {
    const { name, store, log, clock } = this.#parts;
    // The store may respond late, so `nextDueMs` of its response is added to the time of the request.
    const requestedAt = clock.monotonic();
    const restrictedAfter = this.#restrictedAfter;
    const wanted = this.#takeInput({
      limit: this.#freeSlots,
      restrictedLimit: Math.max(0, this.#freeRestrictedSlots),
      restrictedAfter,
    });
    try {
      if (restrictedAfter === undefined) this.#mayHavePassedJobs = false;
      if (store.isShared) {
        // In a cluster, each take is an entry of the shared log. So send no take while this engine's replica has no job
        // to take. Each write that brings a job wakes this runner.
        const seen = await store.readLocal("hasJobs", wanted);
        if (!seen.hasJobs) {
          this.#failures = 0;
          this.#isHeldBack = false;
          if (seen.nextDueMs !== undefined) this.noteDue(seen.nextDueMs, requestedAt);
          return;
        }
      }
      // Set the number only when the take is sent. A job does not wake this runner if a take with a higher number was
      // sent after it was added, because that take finds the job.
      this.#lastTake = wanted.take;
      const taken = await store.call("take", wanted);
      this.#failures = 0;
      this.#noteRestricted(restrictedAfter, taken);
      this.#startTaken(taken, requestedAt);
    } catch (error) {
      this.#mayHave = true;
      this.#failures += 1;
      if (mayBeStored(error)) this.#parts.onTakeUnclear(wanted.take);
      if (this.#failures === 1) log.warn("jobs cannot be taken", { queue: name, error });
      this.#pauseFor(Math.min(5_000, backoffMs(UNAVAILABLE_BACKOFF, this.#failures)));
    }
  }

  #startTaken({ jobs, more, isHeldBack, nextDueMs }: TakeOutput, requestedAt: number): void {
    if (more) this.#mayHave = true;
    if (nextDueMs !== undefined) this.noteDue(nextDueMs, requestedAt);
    for (const job of jobs) this.#start(job);
    this.#isHeldBack = isHeldBack;
    // A job of a restricted principal may have ended during the call, so a slot for such jobs may be free again.
    if (isHeldBack && this.#freeRestrictedSlots > 0) this.#mayHave = true;
  }

  /**
   * When the search has reached the last function, it starts again at the first if functions before may have got jobs.
   */
  #noteRestricted(
    before: string | undefined,
    { restrictedAfter, foundRestricted }: Pick<TakeOutput, "restrictedAfter" | "foundRestricted">,
  ): void {
    if (foundRestricted && (before !== undefined || restrictedAfter !== undefined)) this.#mayHavePassedJobs = true;
    this.#restrictedAfter = restrictedAfter;
    if (restrictedAfter === undefined && this.#mayHavePassedJobs) this.#mayHave = true;
  }

  #pauseFor(ms: number): void {
    if (this.#stopped) return;
    this.#cancelPause?.();
    this.#cancelPause = this.#parts.clock.after(ms, () => {
      this.#cancelPause = undefined;
      this.#fetchSoon();
    });
  }

  #start(job: LeasedJob): void {
    let ended = (): void => {};
    const inFlight: InFlightJob = {
      job,
      abort: new AbortController(),
      abortReason: undefined,
      isCompleting: false,
      workerId: undefined,
      progress: undefined,
      ended: new Promise((resolve) => {
        ended = resolve;
      }),
    };
    this.#inFlight.set(job.seq, inFlight);
    void this.#runAndComplete(inFlight).finally(() => {
      this.#inFlight.delete(job.seq);
      ended();
      // The slot is free only now if storing the outcome took several tries.
      if (this.#mayHave || this.#freesHeldBack(inFlight)) this.wake();
      if (this.#stopped) this.#parts.onRetiredJobEnded();
    });
  }

  #freesHeldBack({ job }: InFlightJob): boolean {
    return this.#isHeldBack && job.maker !== undefined;
  }

  /** Never rejects. */
  async #runAndComplete(inFlight: InFlightJob): Promise<void> {
    const completion = await this.#completionOf(inFlight).catch((error: unknown) => {
      const { log, name, store } = this.#parts;
      log.error("job failed in the engine", { queue: name, job: inFlight.job.id, error });
      this.#unavailable.start(inFlight.job.functionId ?? "");
      return release(store);
    });
    await storeCompletion(inFlight, completion, {
      ...this.#parts,
      // Schedule the next take before the outcome is sent, so that the store handles both in one batch. The store
      // completes this job before it runs the take.
      onSlotFreed: () =>
        this.#mayHave || inFlight.job.group !== undefined || this.#freesHeldBack(inFlight) ? this.wake() : undefined,
    });
  }

  /** Runs the job and returns how to complete it. */
  async #completionOf(inFlight: InFlightJob): Promise<Completion> {
    const { store, clock, directory, settings, telemetry } = this.#parts;
    const { job, abort } = inFlight;
    const key = job.functionId ?? "";
    if (this.#stopped) return release(store);
    const refusal = runRefusalOf(job, this.#parts);
    if (refusal !== undefined) {
      this.#unrunJobs.note(refusal);
      return deadLetterUnrun(job, refusal, this.#parts);
    }
    if (this.#isFunctionAway(key)) {
      this.#unavailable.start(key);
      return release(store);
    }
    const run = this.#runOf(job);
    const ended = await attemptJob({
      job,
      run,
      timeoutMs: settings.timeoutMs,
      signal: abort.signal,
      clock,
      onWorker: (workerId) => {
        inFlight.workerId = workerId;
      },
      directory,
      telemetry,
    });
    if ("outcome" in ended) {
      this.#unavailable.reset(key);
      const input = { ...ended.outcome, seq: job.seq, run: store.run, keep: settings.keepDone };
      return async () => {
        const output = await store.call("done", input, {
          bytes: input.result?.length ?? 0,
          mayWait: job.group === undefined,
        });
        this.#parts.onDone();
        return output;
      };
    }
    if (inFlight.abortReason === "cancelled") return ({ seq }) => store.call("drop", { seq, run: store.run });
    return this.#completionAfterFailure(ended.failed, inFlight, key);
  }

  #completionAfterFailure(attempt: Attempt, inFlight: InFlightJob, key: string): Completion {
    const { kind } = attempt;
    if (kind !== "missing" && kind !== "unavailable") this.#unavailable.reset(key);
    else if (!this.#stopped) this.#unavailable.start(key);
    return completionAfterFailure(attempt, {
      ...this.#parts,
      inFlight,
      isStopping: this.#stopped,
    });
  }

  #availableFunctions(): string[] {
    return ["", ...this.#parts.directory.functions().map(({ function_id: id }) => id)].filter(
      (key) => !this.#isFunctionAway(key),
    );
  }

  #isFunctionAway(key: string): boolean {
    if (key === "") return this.#server === undefined || this.#server.isAway();
    // An engine of a cluster takes only jobs that its own workers can run, so that it need not pass them to other
    // engines.
    return !this.#parts.directory.isProvidedHere(key);
  }

  #runOf(job: LeasedJob): AttemptParts["run"] {
    const { functionId } = job;
    if (functionId !== undefined)
      return (payload, options, attempt) => this.#parts.call(functionId, payload, attempt.callOptions(options));
    const server = this.#server;
    if (server === undefined) throw new TypeError("the queue has no server");
    return (payload, options, attempt) => server.run(payload, options, attempt);
  }
}
