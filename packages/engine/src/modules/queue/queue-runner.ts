import { backoffMs, type Payload } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import type { Directory } from "../../kernel/directory.ts";
import type { CallOptions } from "../../kernel/module.ts";
import { mayBeStored } from "../../store/may-be-stored.ts";
import { InFlightJobs, type InFlightParts } from "./in-flight-jobs.ts";
import type { JobServer, NoWorkerReasonOptions } from "./queue-core.ts";
import type { QueueSettings } from "./queue-settings.ts";
import type { InFlightJob } from "./retry-or-dead-letter.ts";
import { RunnableFunctions } from "./runnable-functions.ts";
import type { LeasedJob } from "./store/job.ts";
import type { TakeInput, TakeOutput } from "./store/queue-store.ts";

/** Maximum bytes of data of the jobs that one take (a request to the store for jobs) returns. */
const TAKE_BYTES = 16 * 1024 * 1024;

/**
 * Maximum delay of a timer. For a job that is due later, a new timer is set when it fires, because timers of Node.js
 * have a maximum of 24 days.
 */
const LONGEST_TIMER_MS = 3_600_000;

export interface RunnerParts extends InFlightParts {
  /** Returns the number of a new take, which is unique within this run of the engine. */
  readonly nextTake: () => number;
  readonly directory: Pick<Directory, "functionById" | "functions" | "isProvidedHere" | "workerById">;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<Payload>;
  readonly isPaused: boolean;
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

/**
 * Takes the jobs of one queue from the store, up to its concurrency, and passes them to `InFlightJobs`, which runs them.
 * It reacts to events and never polls.
 */
export class QueueRunner {
  readonly #parts: RunnerParts;
  readonly #functions: RunnableFunctions;
  readonly #inFlight: InFlightJobs;
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
    this.#functions = new RunnableFunctions({ ...parts, onResumed: () => this.wake() });
    this.#inFlight = new InFlightJobs(parts, this.#functions, {
      // Schedule the next take before the outcome is sent, so that the store handles both in one batch. The store
      // completes this job before it runs the take.
      onSlotFreed: (job) => {
        if (this.#mayHave || job.group !== undefined || this.#freesHeldBack(job)) this.wake();
      },
      onEnded: (job) => {
        // The slot is free only now if storing the outcome took several tries.
        if (this.#mayHave || this.#freesHeldBack(job)) this.wake();
        if (this.#stopped) parts.onRetiredJobEnded();
      },
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
    return this.#inFlight.seqs;
  }

  /** True if the runner currently takes no jobs that call this function. Undefined means jobs that name no function. */
  isAway(functionId: string | undefined): boolean {
    return this.#paused || this.#stopped || this.#functions.isAway(functionId);
  }

  /** Returns why no worker can run jobs that call this function; undefined if a worker can. */
  noWorkerReason(functionId: string | undefined, options: NoWorkerReasonOptions): string | undefined {
    return this.#functions.noWorkerReason(functionId, options);
  }

  inFlight(seq: number): InFlightJob | undefined {
    return this.#inFlight.get(seq);
  }

  inFlightById(jobId: string): InFlightJob | undefined {
    return this.#inFlight.getById(jobId);
  }

  serve(server: JobServer): () => void {
    const undo = this.#functions.serve(server);
    this.wake();
    return undo;
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
    this.#functions.serverChanged();
    this.wake();
  }

  functionChanged(id: string): void {
    this.#functions.functionChanged(id);
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
  cancel(seq: number): Promise<boolean> {
    return this.#inFlight.cancel(seq);
  }

  stopFetching(): void {
    this.#stopped = true;
    this.#cancelDue?.();
    this.#cancelPause?.();
    this.#functions.close();
    this.#inFlight.stopStarting();
  }

  /** Aborts all jobs in flight. They are released with their attempts unchanged. */
  abortAll(): void {
    this.#inFlight.abortAll();
  }

  /** Resolves when no job is in flight. */
  async idle(): Promise<void> {
    for (;;) {
      const { ends } = this.#inFlight;
      if (ends.length === 0 && this.#takes.size === 0) return;
      await Promise.all([...ends, ...this.#takes]);
    }
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
    return this.#parts.settings.concurrency - this.#inFlight.running - this.#reserved;
  }

  /**
   * Number of free slots for jobs of restricted principals. If the queue has several slots, one is reserved for jobs of
   * trusted callers, so that hanging jobs of restricted principals cannot use all slots.
   */
  get #freeRestrictedSlots(): number {
    return Math.max(1, this.#parts.settings.concurrency - 1) - this.#inFlight.runningRestricted;
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
      ...this.#functions.takeFilter(),
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
    for (const job of jobs) this.#inFlight.start(job);
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

  #freesHeldBack(job: LeasedJob): boolean {
    return this.#isHeldBack && job.maker !== undefined;
  }
}
