import { join } from "node:path";
import type { SupervisedEntry } from "../../config/types.ts";
import type { Logger } from "../../kernel/logger.ts";
import { concernsInstall } from "../../local-workers/dependency-files.ts";
import { kindRules, type RuntimeKind } from "../../local-workers/runtime-kinds.ts";
import { LogFile } from "./logs/log-file.ts";
import type { ReplicaParts } from "./replica.ts";
import { type RunPlan, type UnitPreparation, UnitPreparationError } from "./unit-preparation.ts";
import { UnitProcesses } from "./unit-processes.ts";
import { isManifest, UnitFiles } from "./watch/unit-files.ts";
import type { Candidate } from "./worker-connections.ts";
import {
  type LastExit,
  type ProcessKind,
  READY_TIMEOUT_MS,
  STOP_GRACE_MS,
  type WorkerProcess,
} from "./worker-process.ts";
import { type ProcessStatus, worstStatusOf } from "./worker-state.ts";

export interface UnitParts extends ReplicaParts {
  readonly logsDir: string;
  readonly preparation: UnitPreparation;
  /** Default: a worker. */
  readonly kind?: ProcessKind;
  /** True if a new process may start while the previous process serves calls. */
  readonly overlap: boolean;
  /** Returns the dependencies that are not ready. Called repeatedly. */
  readonly waitsFor: () => readonly { readonly name: string; readonly how: string }[];
  /** Resolves when `waitsFor` returns an empty list. Rejects when the signal aborts. */
  readonly othersReady: (signal: AbortSignal) => Promise<void>;
  /** Limits that are not enforced on this operating system, as a sentence. */
  readonly unenforced: string | undefined;
  /** True if the unit was stopped by a call, so it does not start by itself. */
  readonly isHeld: boolean;
  /** Resolves when no process of an earlier engine runs any more. */
  readonly leftoversEnded: Promise<void>;
  /** Called when a process of the unit has registered everything. */
  readonly onReady: () => void;
  /** Called when the status of the unit, or of one of its processes, may have changed. */
  readonly onChange: () => void;
}

type Phase =
  | {
      readonly name: "waiting" | "waiting for others" | "installing" | "running" | "replacing" | "stopping" | "stopped";
    }
  | { readonly name: "failed"; readonly reason: string };

interface StartOptions {
  /** Stops the processes before reading the manifest. */
  readonly stopsFirst?: boolean;
  /** Stops the processes before an install. */
  readonly stopsToInstall?: boolean;
  /** Installs even if nothing changed. */
  readonly reinstall?: boolean;
}

/**
 * A worker or command that the engine keeps running: its preparation, dependencies, processes, log and watched files.
 */
export class Unit {
  readonly entry: SupervisedEntry;
  readonly output: LogFile;
  readonly #parts: UnitParts;
  readonly #log: Logger;
  readonly #addedAtMs: number;
  readonly #processes: UnitProcesses;
  readonly #files: UnitFiles;
  #phase: Phase = { name: "waiting" };
  /** Why a change is not used, while the previous processes keep running. */
  #problem: string | undefined;
  /** Monotonic time when the failed replacement started. Undefined if `#problem` is another one. */
  #triedAtMs: number | undefined;
  #plan: RunPlan | undefined;
  /** Runtime in the manifest that was read last. Processes may still run by an earlier manifest. */
  #runtime: RuntimeKind | undefined;
  #wasReady = false;
  /** True if a new process could not listen on its port because the previous process still ran. */
  #needsPortAlone = false;
  #isHeld: boolean;
  #work: Promise<void> = Promise.resolve();
  #startController = new AbortController();
  #begun = false;
  #ended = false;

  constructor(entry: SupervisedEntry, parts: UnitParts) {
    this.entry = entry;
    this.#parts = parts;
    this.#log = parts.log.with({ worker: entry.name });
    this.#addedAtMs = parts.clock.monotonic();
    this.#isHeld = parts.isHeld;
    if (parts.isHeld) this.#phase = { name: "stopped" };
    this.output = new LogFile({
      file: join(parts.logsDir, `${entry.name}.log`),
      clock: parts.clock,
      onProblem: (error) => this.#log.warn("worker output cannot be written to its log file", { error }),
    });
    this.#processes = new UnitProcesses({
      entry,
      kind: parts.kind,
      parts: { ...parts, log: this.#log },
      output: this.output,
      onReady: () => {
        this.#wasReady = true;
        parts.onReady();
      },
      onChange: () => parts.onChange(),
    });
    this.#files = new UnitFiles(entry, {
      clock: parts.clock,
      envFiles: parts.preparation.envFiles,
      onChange: (paths) => this.#filesChanged(paths),
      onProblem: (problem) => this.#log.warn("some files of a worker cannot be watched", { problem }),
    });
  }

  get kind(): "local" | "command" {
    return this.#parts.kind === undefined ? "local" : "command";
  }

  get preparation(): UnitPreparation {
    return this.#parts.preparation;
  }

  /** Starts the unit for the first time, unless `isHeld` is true. Further calls do nothing. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (!this.#isHeld) this.#begin();
  }

  get status(): ProcessStatus {
    const phase = this.#phase;
    if (phase.name === "running") {
      const { state, reason } = worstStatusOf(this.#processes.current.map((process) => process.status));
      const { problem } = this;
      if (problem === undefined) return { state, reason: reason ?? this.#parts.unenforced };
      return { state, reason: `${problem}\n${reason ?? "The previous processes keep running."}` };
    }
    if (phase.name === "replacing") return { state: "replacing", reason: this.#processes.progress };
    if (phase.name === "failed") return { state: "failed", reason: phase.reason };
    if (phase.name === "stopped" && this.#isHeld)
      return { state: "stopped", reason: `it was stopped; start it with \`svc worker start ${this.entry.name}\`` };
    if (phase.name === "waiting for others") {
      const others = this.#parts.waitsFor().map(({ name, how }) => `${name}, which ${how}`);
      return { state: "starting", reason: others.length === 0 ? undefined : `waiting for ${others.join("; ")}` };
    }
    return { state: phase.name === "waiting" ? "starting" : phase.name, reason: undefined };
  }

  /** Why its last change or install is not used, while the previous processes keep running. */
  get problem(): string | undefined {
    if (this.#phase.name !== "running") return undefined;
    const triedAtMs = this.#triedAtMs ?? Number.POSITIVE_INFINITY;
    // A process that started after the failed replacement, e.g. after a crash, runs the changed files. If all processes
    // did, the problem is over.
    return this.#processes.current.some(({ spawnedAtMs }) => spawnedAtMs < triedAtMs) ? this.#problem : undefined;
  }

  /** Names of the dependencies that it waits for. */
  get waitsFor(): readonly string[] {
    return this.#phase.name === "waiting for others" ? this.#parts.waitsFor().map(({ name }) => name) : [];
  }

  /** True if its dependents may start: it is ready, or has finished successfully if it is a one-time command. */
  get isReadyForDependents(): boolean {
    const { current } = this.#processes;
    if (current.every(({ isFinished }) => isFinished)) return true;
    const serves = this.#phase.name === "running" || this.#phase.name === "replacing";
    return serves && current.every(({ status }) => status.state === "ready") && this.#parts.kind?.restart !== "never";
  }

  /** All processes with the index of their replica. During a replacement, a replica has two. */
  get replicas(): readonly { readonly index: number; readonly process: WorkerProcess }[] {
    return this.#processes.all;
  }

  get processes(): readonly WorkerProcess[] {
    return this.replicas.map(({ process }) => process);
  }

  get candidates(): readonly Candidate[] {
    return this.processes.map((process) => ({ name: this.entry.name, process, token: this.entry.env.SVC_TOKEN }));
  }

  get restarts(): number {
    return this.#processes.current.reduce((sum, process) => sum + process.restarts, 0);
  }

  /** The last crash of one of its processes. */
  get lastExit(): LastExit | undefined {
    return this.#processes.current
      .flatMap(({ lastExit }) => lastExit ?? [])
      .reduce<LastExit | undefined>((a, b) => (a === undefined || b.atMs > a.atMs ? b : a), undefined);
  }

  /** Wall-clock time of the next restart of a crashed process, in milliseconds. */
  get nextStartAtMs(): number | undefined {
    const starts = this.processes.flatMap(({ nextStartAtMs }) => nextStartAtMs ?? []);
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  /** Ids of the connections of its ready processes. */
  get readyConnections(): ReadonlySet<string> {
    return new Set(
      this.processes.flatMap((process) => (process.status.state === "ready" ? [...process.connections] : [])),
    );
  }

  /** Wall-clock time when it became ready, in milliseconds. Undefined if it is not ready. */
  get readyAtMs(): number | undefined {
    if (this.status.state !== "ready") return undefined;
    return Math.max(...this.#processes.current.flatMap(({ readyAtMs }) => readyAtMs ?? []));
  }

  /** True until the unit is ready for the first time, but at most for `READY_TIMEOUT_MS`. */
  get isAwaited(): boolean {
    return (
      !this.#wasReady &&
      !this.isReadyForDependents &&
      !this.#isHeld &&
      this.#parts.clock.monotonic() - this.#addedAtMs < READY_TIMEOUT_MS
    );
  }

  /** True if the unit was stopped by a call and has not been started since. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  async pids(): Promise<readonly number[]> {
    return (await Promise.all(this.processes.map((process) => process.pids()))).flat();
  }

  /** Starts the unit if it does not run. If it waits for a restart after a failure, starts it at once. */
  start(): void {
    const { state } = this.status;
    if (
      this.#isHeld ||
      state === "stopped" ||
      state === "failed" ||
      state === "backing_off" ||
      state === "crash_looping"
    )
      this.#stopAndStart("start requested");
  }

  /**
   * Reads the manifest again, installs changed dependencies, and replaces all processes. If processes cannot be
   * replaced while they run, stops them first. `reinstall`: installs even if nothing changed.
   */
  restart(options: { readonly reinstall?: boolean } = {}): void {
    if (options.reinstall === true)
      this.#stopAndStart("update requested", { reinstall: true, keepsRunning: !this.#isHeld });
    else if (this.#canReplace) this.#startReplacement("restart requested");
    else this.#stopAndStart("restart requested");
  }

  /** Stops its processes until the next start. */
  stop(): void {
    if (this.#ended || this.#isHeld) return;
    this.#isHeld = true;
    this.output.line("svc", "stop requested");
    this.#startController.abort();
    this.#enter({ name: "stopping" });
    // Stop the processes at once. The cancelled start may still be in progress and start processes, so stop the
    // processes again when it has ended.
    this.#work = Promise.all([this.#processes.stop({ graceMs: STOP_GRACE_MS }), this.#work])
      .then(() => this.#processes.stop({ graceMs: STOP_GRACE_MS }))
      .then(() => {
        if (!this.#isHeld) return;
        this.#enter({ name: "stopped" });
        this.output.line("svc", "stopped");
        this.#log.info("worker stopped", { log: this.output.file });
      })
      .catch((error: unknown) => this.#log.error("worker could not be stopped", { error }));
  }

  /** Stops its processes and closes its files permanently. Resolves when no process is left. */
  async close(options: { readonly graceMs: number }): Promise<void> {
    const ran = !this.#isHeld;
    this.#ended = true;
    this.#startController.abort();
    this.#enter({ name: "stopping" });
    await Promise.all([this.#processes.stop(options), this.#work]);
    await this.#processes.stop(options);
    await this.#files.close();
    this.#enter({ name: "stopped" });
    if (ran) {
      this.output.line("svc", "stopped");
      this.#log.info("worker stopped", { log: this.output.file });
    }
    await this.output.close();
  }

  kill(): void {
    this.#processes.kill();
  }

  #stopAndStart(why: string, options: { readonly reinstall?: boolean; readonly keepsRunning?: boolean } = {}): void {
    if (this.#ended) return;
    this.#isHeld = false;
    this.output.line("svc", why);
    // Set the state now, so that a later call of `worker::wait` does not see the old state.
    if (options.keepsRunning === true) {
      this.#enter({ name: "installing" });
      this.#begin({ reinstall: true });
      return;
    }
    this.#enter({ name: this.#phase.name === "running" || this.#phase.name === "stopping" ? "stopping" : "waiting" });
    this.#begin({ stopsFirst: true, reinstall: options.reinstall === true });
  }

  #startReplacement(why: string): void {
    if (this.#ended) return;
    this.output.line("svc", why);
    this.#enter({ name: "replacing" });
    this.#begin({ stopsToInstall: true });
  }

  /** True if a new process can start while the previous one serves. */
  get #canReplace(): boolean {
    return this.#parts.overlap && !this.#needsPortAlone && this.#processes.hasReady;
  }

  /** Cancels the current start and starts again: plan, dependencies, processes. */
  #begin(options: StartOptions = {}): void {
    this.#startController.abort();
    const controller = new AbortController();
    this.#startController = controller;
    this.#work = this.#work
      .then(async () => {
        await this.#parts.leftoversEnded;
        if (!controller.signal.aborted && options.stopsFirst === true)
          await this.#processes.stop({ graceMs: STOP_GRACE_MS });
        if (!controller.signal.aborted) await this.#bringUp(controller.signal, options);
      })
      .catch((error: unknown) => {
        this.#log.error("worker could not be started", { error });
        return this.#fail(error instanceof Error ? error.message : String(error));
      });
  }

  async #bringUp(signal: AbortSignal, options: StartOptions): Promise<void> {
    // Make the current files the reference. All files are read after this, so earlier changes need no restart.
    await this.#files.rebase();
    let plan = await this.#readWatched((preparation) => preparation.read());
    if (signal.aborted || plan === undefined) return;
    for (const warning of plan.warnings) this.#log.warn("manifest of a worker has keys without effect", { warning });
    if (!this.#processes.hasRunning) await this.#endBackOff();
    const install = await this.#prepare(plan, { signal, ...options });
    if (install === "failed" || signal.aborted) return;
    const prepared = plan;
    plan = await this.#readWatched((preparation) => preparation.withVariables(prepared));
    if (signal.aborted || plan === undefined) return;
    if (!this.#processes.hasRunning) await this.#awaitOthers(signal);
    if (signal.aborted) return;
    if (this.#canReplace && (install === "unchanged" || isCompiled(plan)) && (await this.#replace(plan, signal)))
      return;
    if (signal.aborted) return;
    await this.#processes.stop({ graceMs: STOP_GRACE_MS });
    if (signal.aborted) return;
    this.#plan = plan;
    this.#problem = undefined;
    // Do not report this phase yet: until the first process starts, the state would be `stopped`.
    this.#phase = { name: "running" };
    this.#processes.start(plan);
  }

  /** Returns false if the previous processes must stop before new ones start. */
  async #replace(plan: RunPlan, signal: AbortSignal): Promise<boolean> {
    this.#enter({ name: "replacing" });
    const triedAtMs = this.#parts.clock.monotonic();
    const result = await this.#processes.replace(plan, { graceMs: STOP_GRACE_MS, signal });
    if (signal.aborted || result.outcome === "cancelled") return true;
    if (result.outcome === "replaced") {
      this.#plan = plan;
      this.#problem = undefined;
      this.#enter({ name: "running" });
      return true;
    }
    if (result.isPortInUse) {
      this.#needsPortAlone = true;
      this.output.line("svc", result.problem);
      this.output.line("svc", "the port is in use: from now on, processes are stopped before new ones start");
      this.#log.info("new process of a worker could not listen on a port; stopping the previous processes first", {
        log: this.output.file,
      });
      this.#enter({ name: "stopping" });
      return false;
    }
    this.#problem = undefined;
    if (this.#processes.runsOtherThan(plan)) await this.#fail(result.problem, triedAtMs);
    else this.#enter({ name: "running" });
    return true;
  }

  /**
   * Cancels the restart of a crashed process. It would restart during an install, or before its dependencies are ready.
   */
  async #endBackOff(): Promise<void> {
    // Report this first, because a worker with stopped processes is not a stopped worker.
    if (this.#phase.name === "running" || this.#phase.name === "replacing") this.#enter({ name: "waiting" });
    await this.#processes.stop({ graceMs: STOP_GRACE_MS });
  }

  /** Resolves when the dependencies are ready or the start is cancelled. */
  async #awaitOthers(signal: AbortSignal): Promise<void> {
    const waitsFor = this.#parts.waitsFor().map(({ name }) => name);
    if (waitsFor.length === 0) return;
    this.output.line("svc", `waiting for ${waitsFor.join(", ")}`);
    this.#enter({ name: "waiting for others" });
    await this.#parts.othersReady(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /**
   * Returns a plan whose files are watched: it matches them, or a change of them will be reported. Returns undefined
   * after a failure, which is recorded.
   */
  async #readWatched(how: (preparation: UnitPreparation) => Promise<RunPlan>): Promise<RunPlan | undefined> {
    let plan = await this.#read(how);
    // A new watch does not report changes from before it began. Such a change may concern the plan, so read it again.
    while (plan !== undefined && !this.#ended && (await this.#files.watch(plan))) plan = await this.#read(how);
    return plan;
  }

  /** Returns undefined after a failure, which is recorded. */
  async #read(how: (preparation: UnitPreparation) => Promise<RunPlan>): Promise<RunPlan | undefined> {
    for (;;) {
      try {
        const plan = await how(this.#parts.preparation);
        this.#runtime = plan.manifest?.kind;
        return plan;
      } catch (error) {
        if (!(error instanceof UnitPreparationError)) throw error;
        // A new watch does not report changes from before it began. Such a change may have fixed the error.
        if (!this.#ended && (await this.#files.watchAsBefore(this.#plan))) continue;
        await this.#fail(error.message);
        return undefined;
      }
    }
  }

  /** Installs the dependencies if they are not installed. */
  async #prepare(
    plan: RunPlan,
    { signal, reinstall: force = false, stopsToInstall = false }: StartOptions & { readonly signal: AbortSignal },
  ): Promise<"unchanged" | "installed" | "failed"> {
    const { preparation } = this.#parts;
    try {
      if (!force && (await preparation.isPrepared(plan, signal))) return "unchanged";
      if (stopsToInstall) {
        this.#enter({ name: "stopping" });
        await this.#processes.stop({ graceMs: STOP_GRACE_MS });
        if (signal.aborted) return "failed";
      }
      this.#enter({ name: "installing" });
      this.#log.info("installing the dependencies of a worker", { log: this.output.file });
      const { durationMs } = await preparation.prepare(plan, {
        signal,
        force,
        onProgress: (line) => this.output.line("install", line),
      });
      this.#log.info("dependencies of a worker installed", { durationMs });
      // Report the lock files that the install wrote now: in the phase `installing`, their changes cause no restart.
      await this.#files.compare();
      // Changes from now on are compared with the files that were just read.
      this.#enter({ name: "waiting" });
      return "installed";
    } catch (error) {
      if (signal.aborted) return "failed";
      if (!(error instanceof UnitPreparationError)) throw error;
      await this.#fail(error.message);
      return "failed";
    }
  }

  /** Records a failure. The previous processes keep running if there are any. `triedAtMs`: start of the new process. */
  async #fail(reason: string, triedAtMs?: number): Promise<void> {
    if (this.#ended || this.#isHeld) return;
    this.#triedAtMs = triedAtMs;
    const runsOn = this.#processes.hasRunning;
    this.output.line("svc", reason);
    this.#log.warn(
      runsOn ? "change of a worker cannot be used; its previous processes keep running" : "worker cannot be started",
      {
        reason,
        log: this.output.file,
      },
    );
    if (runsOn) this.output.line("svc", "the previous processes keep running");
    this.#problem = runsOn ? reason : undefined;
    this.#enter(runsOn ? { name: "running" } : { name: "failed", reason });
    // A crashed process must not restart now, because the state `failed` would not show it.
    if (!runsOn) await this.#processes.stop({ graceMs: STOP_GRACE_MS });
  }

  #filesChanged(paths: readonly string[]): void {
    if (this.#ended || this.#isHeld) return;
    // During an install, ignore the lock files that it writes. Ignore sources too, because processes read them later.
    const forInstall = paths.some((path) => concernsInstall(this.#runtime, path) || isManifest(path));
    if (this.#phase.name === "installing" && !forInstall) return;
    const shown = paths.length > 5 ? `${paths.slice(0, 5).join(", ")} and ${paths.length - 5} more` : paths.join(", ");
    this.output.line("svc", `changed: ${shown}`);
    this.#log.info("restarting a worker because its files changed", { files: shown });
    if (this.#phase.name === "failed") this.#enter({ name: "waiting" });
    this.#begin();
  }

  #enter(phase: Phase): void {
    const isOver = phase.name === "stopping" || phase.name === "stopped";
    if ((this.#ended || this.#isHeld) && !isOver) return;
    this.#phase = phase;
    this.#parts.onChange();
  }
}

/**
 * True for compiled kinds: an install writes a new program, and a running process continues with the old program.
 * Processes of other kinds may load packages at any time, so an install may break them.
 */
function isCompiled({ manifest }: RunPlan): boolean {
  return manifest !== undefined && kindRules[manifest.kind].isCompiled;
}
