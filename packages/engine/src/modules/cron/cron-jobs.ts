import { setMaxListeners } from "node:events";
import { CallError } from "@svc-runtime/protocol";
import { IntervalClock } from "../../kernel/interval-clock.ts";
import type { ClockState, ModuleContext, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import { Alarm } from "./alarm.ts";
import type { CronConfig } from "./config.ts";
import { CronJob, type JobHost } from "./cron-job.ts";
import { type Delivered, deliver, ENQUEUE } from "./delivery.ts";
import { FairSemaphore } from "./fair-semaphore.ts";
import { RunCounts } from "./run-counts.ts";
import { type CronSettings, cronSettings, jobIdOf } from "./settings.ts";
import type { CronStore } from "./store/cron-store.ts";
import type { Run } from "./store/rows.ts";

/**
 * Time that runs get to finish when the module stops, in milliseconds. The engine waits twice as long for the module.
 */
const STOP_GRACE_MS = 5_000;
/** Minimum time between two warnings about a wrong clock, in milliseconds. */
const CLOCK_WARN_MS = 60_000;
const DAY_MS = 86_400_000;
const FIRST_UPKEEP_MS = 10 * 60_000;
/** Jobs without a trigger are deleted after this time. */
const KEPT_MS = 90 * DAY_MS;

/** A trigger of type `cron`, with the job that it shares with equal triggers. */
export interface CronTrigger {
  readonly binding: TriggerBinding<CronSettings>;
  readonly job: CronJob;
}

/** The bound cron triggers and their jobs. */
export class CronJobs implements JobHost {
  readonly clock: JobHost["clock"];
  readonly log: JobHost["log"];
  readonly store: CronStore;
  readonly alarm: Alarm<CronJob>;
  readonly slots: FairSemaphore;
  readonly #context: ModuleContext<CronConfig>;
  readonly #jobs = new Map<string, CronJob>();
  readonly #triggers = new Map<string, CronTrigger>();
  readonly #pending = new Set<Promise<unknown>>();
  readonly #counts = new RunCounts();
  readonly #abort = new AbortController();
  readonly #signal: AbortSignal;
  readonly #stopping = new AbortController();
  readonly #onDraining = (): void => this.#drain();
  #isDraining = false;
  #wasClockWrong = false;
  /** When the next warning about a wrong clock may be logged, on the monotonic clock. */
  #warnClockAt = Number.NEGATIVE_INFINITY;
  #cancelUpkeep: () => void;
  #unlistenStore: Undo[] = [];

  constructor(context: ModuleContext<CronConfig>, store: CronStore) {
    const { clock, log, config } = context;
    this.#context = context;
    this.clock = new IntervalClock(clock, (byMs) => this.#clockJumped(byMs));
    this.log = log;
    this.store = store;
    this.slots = new FairSemaphore(config.max_running);
    this.alarm = new Alarm({ clock: this.clock, ring: (job) => job.update() });
    this.#signal = AbortSignal.any([context.signal, this.#abort.signal]);
    // Switches off the warning about many listeners, because each call in progress adds a listener.
    setMaxListeners(0, this.#signal);
    // Each run whose outcome is not stored yet adds a listener to this signal.
    setMaxListeners(0, this.#stopping.signal);
    this.#cancelUpkeep = clock.after(FIRST_UPKEEP_MS, () => this.#upkeep());
  }

  get stopped(): boolean {
    return this.#stopping.signal.aborted;
  }

  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  get isDraining(): boolean {
    return this.#isDraining;
  }

  get clockState(): ClockState {
    const state = (this.store.isShared ? this.#context.nodes?.clockState() : undefined) ?? "right";
    const now = this.clock.monotonic();
    if (state === "wrong" && !this.#wasClockWrong && now >= this.#warnClockAt) {
      this.log.warn("no cron ticks start at this engine: its clock differs from those of the others");
      this.#warnClockAt = now + CLOCK_WARN_MS;
    }
    this.#wasClockWrong = state === "wrong";
    return state;
  }

  start(): void {
    const { directory, provideTrigger, draining, telemetry } = this.#context;
    telemetry.provideMeasurements(() => this.#counts.measure());
    draining.addEventListener("abort", this.#onDraining);
    if (draining.aborted) this.#drain();
    this.#unlistenStore = [
      this.store.onRunsGone(() => {
        for (const job of this.#jobs.values()) job.readAgain();
      }),
      this.store.onForeign((job, change) => this.#jobs.get(job)?.changedElsewhere(change)),
    ];
    directory.onChange(({ kind, id }) => {
      const trigger = kind === "trigger" ? this.#triggers.get(id) : undefined;
      if (trigger?.job.isWaitingForWorker === true) trigger.job.update();
    });
    provideTrigger({
      type: "cron",
      summary: "Fires at the times of a cron expression",
      settings: cronSettings(() => this.clock.now()),
      bind: (binding) => this.#bind(binding),
    });
  }

  /** Triggers in the order of binding. */
  triggers(): readonly CronTrigger[] {
    return [...this.#triggers.values()];
  }

  triggerById(id: string): CronTrigger | undefined {
    return this.#triggers.get(id);
  }

  /** Starts no more runs. Resolves when all runs have ended or were cut off. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#cancelUpkeep();
    for (const unlisten of this.#unlistenStore) unlisten();
    this.#context.draining.removeEventListener("abort", this.#onDraining);
    this.#drain();
    const cancel = this.clock.after(STOP_GRACE_MS, () => this.#abort.abort());
    while (this.#pending.size > 0) await Promise.all(this.#pending);
    cancel();
  }

  #clockJumped(byMs: number): void {
    if (this.stopped) return;
    this.log.warn("clock was set; cron continues at the new time, and no tick starts twice", { byMs });
    // In a later microtask, because the caller that read the clock may be in the middle of a decision.
    queueMicrotask(() => {
      for (const job of this.#jobs.values()) job.update();
    });
  }

  #drain(): void {
    this.#isDraining = true;
    this.alarm.close();
    this.slots.close();
  }

  isAvailable(binding: TriggerBinding<CronSettings>): boolean {
    const { directory } = this.#context;
    // With a queue, the function need not be available, because the queue keeps the job until it is.
    if (binding.settings.queue !== undefined) return !binding.isAway && directory.functionById(ENQUEUE) !== undefined;
    return directory.triggerById(binding.id)?.status !== "inactive";
  }

  async deliver(jobId: string, binding: TriggerBinding<CronSettings>, run: Run): Promise<Delivered> {
    const delivered = await deliver(this.#context, { jobId, binding, run, signal: this.#signal });
    this.#counts.ended(delivered);
    return delivered;
  }

  onUnused(job: CronJob): void {
    if (this.#jobs.get(job.id) === job) this.#jobs.delete(job.id);
  }

  track(work: Promise<unknown>): void {
    const tracked = work.finally(() => this.#pending.delete(tracked));
    this.#pending.add(tracked);
  }

  #bind(binding: TriggerBinding<CronSettings>): Undo {
    const { settings, functionId } = binding;
    if (settings.queue !== undefined) {
      const refusal = binding.callRefusal(ENQUEUE);
      if (refusal !== undefined)
        throw new CallError("FORBIDDEN", `a cron trigger with a queue calls ${ENQUEUE}: ${refusal.message}`);
    }
    binding.needs(
      [settings.conditionFunctionId, settings.queue === undefined ? undefined : ENQUEUE].filter(
        (id) => id !== undefined,
      ),
    );
    const jobId = jobIdOf(functionId, settings);
    const job = this.#jobs.get(jobId) ?? new CronJob(jobId, functionId, settings, this);
    this.#jobs.set(jobId, job);
    this.#triggers.set(binding.id, { binding, job });
    job.add(binding);
    const stopListening = binding.onPrincipalChange(() => job.principalChanged(binding));
    return () => {
      stopListening();
      this.#triggers.delete(binding.id);
      job.remove(binding);
    };
  }

  #upkeep(): void {
    this.track(
      this.store.upkeep([...this.#jobs.keys()], KEPT_MS).then(
        (jobs) => jobs > 0 && this.log.info("cron schedules unused for 90 days deleted", { jobs }),
        (error: unknown) => this.log.debug("unused cron schedules cannot be deleted", { error }),
      ),
    );
    if (!this.stopped) this.#cancelUpkeep = this.clock.after(DAY_MS, () => this.#upkeep());
  }
}
