import { backoffMs, CallError, type Payload } from "@svc-runtime/protocol";
import { UNAVAILABLE_BACKOFF } from "../../deliveries/call-failure.ts";
import { restrictedProviderOf } from "../../deliveries/function-owner.ts";
import { every } from "../../kernel/clock.ts";
import { IntervalClock } from "../../kernel/interval-clock.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { AppliedWrite } from "../../kernel/store-contract.ts";
import { DoneSweep } from "./done-sweep.ts";
import { ExpiryTimer } from "./expiry-timer.ts";
import { inBatches } from "./in-batches.ts";
import { newJobOf, refuseTooLarge } from "./new-job.ts";
import type {
  JobRequest,
  JobServer,
  NoWorkerReasonOptions,
  Progress,
  ProgressReport,
  QueueCore,
  RedriveOptions,
} from "./queue-core.ts";
import { QueueRunner, type TakeOfAdded } from "./queue-runner.ts";
import { defaultQueueSettings, type QueueSettings } from "./queue-settings.ts";
import { NO_TRACE, type Trace } from "./spans.ts";
import type { AddedJob, NewJob, QueueCounts } from "./store/job.ts";
import type { AddAndTakeInput, AddAndTakeOutput, JobProcedures, QueueStore } from "./store/queue-store.ts";
import { subscriptionOfQueue } from "./topics/queue-name.ts";

/** Delay before the next try to release the jobs that were leased by runs that are gone, in milliseconds. */
const RELEASE_AGAIN_MS = 1_000;

/** Mark of a call of `add`. `takes` is the number of the last take that was requested before the call. */
interface AddMark {
  readonly takes: number;
}

/** How often the core checks whether the clock was set. */
const CLOCK_CHECK_MS = 10_000;

/**
 * Time that handlers get to finish when the module stops while the engine runs. The engine gives the module twice this
 * time to stop.
 */
const STOP_GRACE_MS = 5_000;

type CoreContext = Pick<
  ModuleContext<unknown>,
  "call" | "clock" | "log" | "directory" | "draining" | "telemetry" | "isRoleInForce" | "providerOf"
>;

/** Releases the jobs that earlier runs of the engine have leased. Then returns a core that accepts queues. */
export async function startQueueCore(context: CoreContext, store: QueueStore): Promise<QueueCore> {
  const core = new Core(context, store);
  await core.start();
  return core;
}

class Core implements QueueCore {
  readonly store: QueueStore;
  readonly #context: CoreContext;
  readonly clock: IntervalClock;
  readonly #runners = new Map<string, QueueRunner>();
  /** Runners of removed declarations that still have jobs in flight. */
  readonly #retiring = new Set<QueueRunner>();
  readonly #paused = new Set<string>();
  readonly #expiry: ExpiryTimer;
  readonly #doneSweep: DoneSweep;
  #takes = 0;
  /** Functions that cancel the next try to undo a take, by number of the take. */
  readonly #undoing = new Map<number, () => void>();
  #unlisten: Undo = () => {};

  constructor(context: CoreContext, store: QueueStore) {
    this.#context = context;
    this.store = store;
    this.clock = new IntervalClock(context.clock, (byMs) => this.#clockJumped(byMs));
    this.#doneSweep = new DoneSweep({ store, clock: this.clock, log: context.log });
    this.#expiry = new ExpiryTimer({ store, clock: this.clock, log: context.log });
  }

  async start(): Promise<void> {
    const { draining, directory, log } = this.#context;
    // Listen before `recover`, so that this engine notices each run that ends from now on.
    const unlistenRuns = this.store.onRunsGone((runs) => this.#releaseRuns(runs));
    const found = await this.store.call("recover", { members: this.store.members() });
    if (found > 0) log.info("jobs of an earlier run returned to the queue", { jobs: found });
    for (const { queue, paused } of await this.store.call("counts", null)) if (paused) this.#paused.add(queue);
    await this.#expiry.start();
    const unlistenStore = this.store.onApplied((applied) => this.#applied(applied));
    const unlistenDirectory = directory.onChange(({ kind, id }) => {
      if (kind === "function") for (const runner of this.#runners.values()) runner.functionChanged(id);
    });
    const onDraining = (): void => this.#stopFetching();
    draining.addEventListener("abort", onDraining);
    // Each call of `now` checks whether the wall clock was set.
    const cancelCheck = every(this.#context.clock, CLOCK_CHECK_MS, () => this.clock.now());
    this.#unlisten = () => {
      cancelCheck();
      unlistenStore();
      unlistenRuns();
      unlistenDirectory();
      draining.removeEventListener("abort", onDraining);
    };
    this.#doneSweep.start();
  }

  /** Releases the jobs that were leased by runs that are gone. Every engine tries; only the first finds the jobs. */
  #releaseRuns(runs: readonly string[]): void {
    this.store.call("releaseRuns", { runs }).then(
      (jobs) => {
        if (jobs > 0) this.#context.log.info("jobs of other engines that are gone returned to the queue", { jobs });
      },
      (error: unknown) => {
        const { clock, log } = this.#context;
        // `draining`: the store is closed. `run_expelled`: this run may not write any more, so other engines do this.
        if (CallError.is(error) && (error.code === "draining" || error.code === "run_expelled")) return;
        log.warn("jobs of other engines that are gone could not be returned to the queue; trying again", { error });
        clock.after(RELEASE_AGAIN_MS, () => this.#releaseRuns(runs));
      },
    );
  }

  declare(name: string, settings: QueueSettings): Undo {
    if (this.#runners.has(name)) throw new TypeError(`the queue ${name} is already declared`);
    const { directory, log, telemetry } = this.#context;
    const runner = new QueueRunner({
      name,
      settings,
      store: this.store,
      clock: this.clock,
      log,
      nextTake: () => ++this.#takes,
      directory,
      telemetry,
      call: (functionId, payload, options) => this.#context.call(functionId, payload, options),
      isRoleInForce: (role) => this.#context.isRoleInForce(role),
      providerOf: this.#context.providerOf,
      isPaused: this.#paused.has(name),
      onTakeUnclear: (take) => this.#undoTake(name, take, 1),
      onDone: () => this.#doneSweep.noteDone(),
      // Either the job was released, or the next job of its group may run. The queue may have a new runner by now.
      onRetiredJobEnded: () => this.#runners.get(name)?.wake(),
    });
    this.#runners.set(name, runner);
    runner.wake();
    return () => {
      if (this.#runners.get(name) !== runner) return;
      this.#runners.delete(name);
      runner.stopFetching();
      this.#retiring.add(runner);
      void runner.idle().then(() => this.#retiring.delete(runner));
    };
  }

  settingsOf(name: string): QueueSettings | undefined {
    return this.#runners.get(name)?.settings;
  }

  names(): readonly string[] {
    return [...this.#runners.keys()];
  }

  serve(queue: string, server: JobServer): Undo {
    return this.#runnerOf(queue).serve(server);
  }

  async add(requests: readonly JobRequest[], trace: Trace = NO_TRACE): Promise<readonly AddedJob[]> {
    const jobs = requests.map((request) => {
      const provider =
        request.maker && request.functionId && restrictedProviderOf(request.functionId, this.#context.providerOf);
      return newJobOf(request, this.#runnerOf(request.queue).settings, trace, provider);
    });
    const bytes = jobs.reduce((sum, job) => sum + job.bytes, 0);
    const take = this.#takeOfAdded(jobs);
    if (take === undefined)
      return this.store.call("add", { jobs }, { bytes, mark: { takes: this.#takes } satisfies AddMark });
    const answer = this.store.call("addAndTake", { jobs, take: take.input }, { bytes });
    take.follow(answer.then(({ taken }) => taken));
    return (await answer).added;
  }

  /**
   * Returns a take for the write that adds the jobs, if all of them can run at once. Jobs of restricted principals are
   * left to ordinary takes, which limit how many of these jobs run.
   */
  #takeOfAdded(jobs: readonly NewJob[]): TakeOfAdded | undefined {
    const [first] = jobs;
    const isPlain = jobs.every(
      ({ queue, maker, delayMs = 0, runAt }) =>
        queue === first?.queue && maker === undefined && delayMs === 0 && runAt === undefined,
    );
    if (first === undefined || !isPlain) return undefined;
    return this.#runners.get(first.queue)?.takeOfAdded(jobs.map(({ functionId }) => functionId));
  }

  wake(queue: string): void {
    this.#runners.get(queue)?.serverChanged();
  }

  async pause(queue: string): Promise<void> {
    this.#runnerOf(queue);
    await this.store.call("setPaused", { queue, paused: true });
  }

  async resume(queue: string): Promise<void> {
    this.#runnerOf(queue);
    await this.store.call("setPaused", { queue, paused: false });
  }

  purge(queue: string): Promise<number> {
    return inBatches((limit) => this.store.call("purge", { queue, limit }));
  }

  async cancel(jobId: string): Promise<void> {
    const found = await this.store.call("cancel", { id: jobId });
    if (found === undefined)
      throw new CallError("job_not_found", `there is no job ${jobId}`, { details: { job_id: jobId } });
    if (found.state === "dead") {
      throw new CallError(
        "job_not_found",
        `job ${jobId} is a dead letter of queue ${found.queue}; discard or redrive it`,
        { details: { job_id: jobId } },
      );
    }
    if (found.state === "done")
      throw new CallError("job_not_found", `job ${jobId} has already succeeded`, { details: { job_id: jobId } });
    if (found.state !== "active") return;
    const isEnded = (await this.#cancelInFlight(found.seq)) || (await this.#drop(found.seq));
    // The handler may have failed before it was cancelled. The job then waits for a retry, so cancel it again.
    const left = await this.store.call("cancel", { id: jobId });
    if (!isEnded && left?.state === "active")
      throw new CallError("lease_lost", `job ${jobId} is running on another engine; cancel it there`, {
        details: { job_id: jobId },
      });
  }

  /** Deletes a job that this run has leased but does not run. Returns false if this run does not have the lease. */
  async #drop(seq: number): Promise<boolean> {
    try {
      await this.store.call("drop", { seq, run: this.store.run });
      return true;
    } catch (error) {
      if (CallError.is(error) && error.code === "lease_lost") return false;
      throw error;
    }
  }

  async redrive(queue: string, { ids, data, maker, mayRun }: RedriveOptions = {}): Promise<number> {
    const payload = data === undefined ? undefined : this.#replacementPayload(queue, data);
    const { limits } = this.settingsOf(queue) ?? defaultQueueSettings;
    const functions: { readonly functionId: string; readonly provider: string | undefined }[] = [];
    const step = async (limit: number): Promise<number> => {
      for (;;) {
        const answer = await this.store.call("redrive", {
          queue,
          ids,
          payload,
          functions: mayRun && functions,
          maker,
          limits,
          limit,
        });
        if (typeof answer === "number") return answer;
        const target = answer.functionId === "" ? subscriptionOfQueue(queue)?.functionId : answer.functionId;
        mayRun?.(target);
        functions.push({
          functionId: answer.functionId,
          provider: target && restrictedProviderOf(target, this.#context.providerOf),
        });
      }
    };
    return ids === undefined ? inBatches(step) : step(ids.length);
  }

  /** Returns the new data of dead letters in the form that the store needs. Throws CallError `payload_too_large`. */
  #replacementPayload(
    queue: string,
    data: Payload,
  ): { readonly data: string; readonly bytes: number; readonly maxBytes: number } {
    const { maxJobBytes, limits } = this.settingsOf(queue) ?? defaultQueueSettings;
    const bytes = data.byteLength;
    refuseTooLarge(queue, bytes, maxJobBytes);
    return { data: data.text(), bytes, maxBytes: limits.maxBytes };
  }

  discard(queue: string, ids?: readonly string[]): Promise<number> {
    if (ids !== undefined) return this.store.call("discard", { queue, ids, limit: ids.length });
    return inBatches((limit) => this.store.call("discard", { queue, limit }));
  }

  async counts(queue: string): Promise<QueueCounts> {
    const none = {
      waiting: 0,
      delayed: 0,
      active: 0,
      dead: 0,
      bytes: 0,
      paused: false,
      added: 0,
      done: 0,
      died: 0,
      expired: 0,
      cancelled: 0,
      kept: 0,
    };
    return (await this.store.call("countsOf", queue)) ?? { queue, ...none };
  }

  isAway(queue: string, functionId: string | undefined): boolean {
    return this.#runners.get(queue)?.isAway(functionId) ?? true;
  }

  noWorkerReason(queue: string, functionId: string | undefined, options: NoWorkerReasonOptions): string | undefined {
    const runner = this.#runners.get(queue);
    if (runner === undefined) return `the config declares no queue ${queue}`;
    return runner.noWorkerReason(functionId, options);
  }

  progressOf(queue: string, seq: number): Progress | undefined {
    return this.#runnersOf(queue)
      .map((runner) => runner.inFlight(seq)?.progress)
      .find((progress) => progress !== undefined);
  }

  reportProgress({ queue, jobId, attempt, value, note }: ProgressReport, workerId: string | undefined): void {
    const inFlight = this.#runnersOf(queue)
      .map((runner) => runner.inFlightById(jobId))
      .find((found) => found !== undefined);
    const isRunning = inFlight !== undefined && inFlight.job.attempts + 1 === attempt && !inFlight.isCompleting;
    if (!isRunning || (workerId !== undefined && inFlight.workerId !== workerId)) {
      throw new CallError("job_not_found", `attempt ${attempt} of job ${jobId} does not run on this worker`, {
        details: { queue, job_id: jobId },
      });
    }
    inFlight.progress = { value, note, at: this.clock.now() };
  }

  async stop(): Promise<void> {
    this.#unlisten();
    this.#stopFetching();
    const runners = this.#allRunners();
    const idle = Promise.all(runners.map((runner) => runner.idle()));
    // During a shutdown, the engine has already waited for the handlers.
    if (!this.#context.draining.aborted) await this.#within(STOP_GRACE_MS, idle);
    for (const runner of runners) runner.abortAll();
    await idle;
    for (const cancel of this.#undoing.values()) cancel();
    this.#undoing.clear();
    await this.store.close();
  }

  #stopFetching(): void {
    this.#expiry.stop();
    this.#doneSweep.stop();
    for (const runner of this.#allRunners()) runner.stopFetching();
  }

  /** Returns the runner of the queue, and the runners of its earlier declarations that still have jobs in flight. */
  #runnersOf(queue: string): QueueRunner[] {
    return this.#allRunners().filter(({ name }) => name === queue);
  }

  #allRunners(): QueueRunner[] {
    return [...this.#runners.values(), ...this.#retiring];
  }

  #runnerOf(queue: string): QueueRunner {
    const runner = this.#runners.get(queue);
    if (runner === undefined)
      throw new CallError("queue_not_found", `Queue '${queue}' not found`, { details: { queue } });
    return runner;
  }

  async #cancelInFlight(seq: number): Promise<boolean> {
    for (const runner of this.#allRunners()) if (await runner.cancel(seq)) return true;
    return false;
  }

  #wakeAll(): void {
    for (const runner of this.#runners.values()) runner.wake();
  }

  /** Wakes the runners that may have jobs to take after a write of this run or of another run. */
  #applied(applied: AppliedWrite<JobProcedures>): void {
    switch (applied.procedure) {
      case "add":
        for (const job of applied.input.jobs)
          this.#added(job, (applied.mark as AddMark | undefined)?.takes ?? Number.POSITIVE_INFINITY);
        break;
      case "addAndTake":
        for (const { expiresInMs } of applied.input.jobs) if (expiresInMs !== undefined) this.#expiry.note(expiresInMs);
        this.#wakeForRest(applied);
        break;
      case "done":
      case "drop":
      case "deadLetter":
        if (applied.output.unblocked) this.#runners.get(applied.output.queue)?.wake();
        break;
      case "retry":
        this.#runners.get(applied.output.queue)?.noteDue(applied.input.delayMs);
        break;
      case "release":
        // If this run released the job, it cannot run the job now. A job that another run released may run here.
        if (!applied.isOwn) this.#runners.get(applied.output.queue)?.wake();
        break;
      case "cancel":
        if (applied.output?.unblocked === true) this.#runners.get(applied.output.queue)?.wake();
        break;
      case "redrive":
        this.#runners.get(applied.input.queue)?.wake();
        break;
      case "subscribe":
        if (applied.output > 0) this.wake(applied.input.job.queue);
        break;
      case "setPaused":
        this.#setPaused(applied.input);
        break;
      case "expire":
        if (applied.output.expired > 0) this.#wakeAll();
        break;
      case "recover":
      case "releaseRuns":
      case "undoTake":
        if (applied.output > 0) this.#wakeAll();
        break;
    }
  }

  /** Wakes the runner if the take did not get all jobs that were added with it. */
  #wakeForRest({ input, output }: { readonly input: AddAndTakeInput; readonly output: AddAndTakeOutput }): void {
    const taken = new Set(output.taken.jobs.map(({ id }) => id));
    if (input.jobs.some(({ id }) => !taken.has(id))) this.#runners.get(input.take.queue)?.wake();
  }

  /** `takes`: number of the last take that was requested before the job was added. */
  #added({ queue, runAt, delayMs = 0, expiresInMs }: NewJob, takes: number): void {
    if (expiresInMs !== undefined) this.#expiry.note(expiresInMs);
    const runner = this.#runners.get(queue);
    if (runner === undefined) return;
    // A take that was sent after the job was added finds the job.
    if (delayMs === 0 && runAt === undefined && runner.lastTake > takes) return;
    runner.noteDue(runAt === undefined ? delayMs : runAt - this.clock.now());
  }

  #setPaused({ queue, paused }: { readonly queue: string; readonly paused: boolean }): void {
    if (paused) this.#paused.add(queue);
    else this.#paused.delete(queue);
    this.#runners.get(queue)?.setPaused(paused);
  }

  /**
   * Returns the jobs of a take to the queue if the take was stored although its call failed. Retries until the store
   * has done it, because no runner has these jobs. If the engine stops before, the next start returns them.
   */
  #undoTake(queue: string, take: number, attempt: number): void {
    this.#undoing.set(take, () => {});
    this.store.call("undoTake", { run: this.store.run, take }).then(
      (jobs) => {
        this.#undoing.delete(take);
        if (jobs === 0) return;
        this.#context.log.warn("orphaned jobs returned to the queue", { queue, jobs });
      },
      () => {
        if (!this.#undoing.has(take)) return;
        const pauseMs = Math.min(5_000, backoffMs(UNAVAILABLE_BACKOFF, attempt));
        this.#undoing.set(
          take,
          this.#context.clock.after(pauseMs, () => this.#undoTake(queue, take, attempt + 1)),
        );
      },
    );
  }

  /**
   * Delays keep their length, because the store measures them by its own time. But jobs with a `runAt` may be due now.
   */
  #clockJumped(byMs: number): void {
    this.#context.log.warn("clock was set; delays of jobs keep their length", { byMs });
    for (const runner of this.#runners.values()) runner.clockJumped();
  }

  /** Resolves when `work` is done, after `ms` milliseconds at the latest. */
  #within(ms: number, work: Promise<unknown>): Promise<void> {
    return new Promise((resolve) => {
      const cancel = this.#context.clock.after(ms, resolve);
      void work.then(() => {
        cancel();
        resolve();
      });
    });
  }
}
