import { join } from "node:path";
import type { RestartOrder, SupervisedEntry } from "../../config/types.ts";
import type { Logger } from "../../kernel/logger.ts";
import { concernsInstall } from "../../local-workers/dependency-files.ts";
import { kindRules, type RuntimeKind } from "../../local-workers/runtime-kinds.ts";
import type { Candidate } from "./connections.ts";
import { LogFile } from "./log-file.ts";
import { type Recipe, RecipeError, type RunPlan } from "./recipe.ts";
import type { ReplicaParts } from "./replica.ts";
import { isManifest, UnitFiles } from "./unit-files.ts";
import { UnitProcesses } from "./unit-processes.ts";
import { type LastExit, type ProcessKind, READY_TIMEOUT_MS, type WorkerProcess } from "./worker-process.ts";
import { type Standing, worstOf } from "./worker-state.ts";

/** Between SIGTERM and SIGKILL. */
export const STOP_GRACE_MS = 10_000;

export interface UnitParts extends ReplicaParts {
  readonly logsDir: string;
  readonly recipe: Recipe;
  /** Default a worker. */
  readonly kind?: ProcessKind;
  /** `start_first`: a new process starts while the former one serves. */
  readonly restartOrder: RestartOrder;
  /** What must be ready before it is started, and is not; with what is to be said of it. Asked again and again. */
  readonly waitsFor: () => readonly { readonly name: string; readonly how: string }[];
  /** Resolves when `waitsFor` answers nothing. Rejects when the signal aborts. */
  readonly othersReady: (signal: AbortSignal) => Promise<void>;
  /** What of its limits cannot be kept here, as a sentence. */
  readonly unenforced: string | undefined;
  /** It was stopped by somebody and stays so. */
  readonly isHeld: boolean;
  /** Resolves when nothing of a former engine runs any more. */
  readonly cleared: Promise<void>;
  /** All that it had to register is registered. */
  readonly onReady: () => void;
  /** Its standing, or that of one of its processes, may be another. */
  readonly onChange: () => void;
}

type Phase =
  | { readonly name: "waiting" | "waiting for others" | "installing" | "running" | "replacing" | "stopping" | "stopped" }
  | { readonly name: "failed"; readonly reason: string };

interface Round {
  /** Stops the processes before anything is read. */
  readonly stopsFirst?: boolean;
  /** Stops the processes before an install. */
  readonly stopsToInstall?: boolean;
  /** Installs also what did not change. */
  readonly reinstall?: boolean;
}

/** One thing that the engine keeps running: its recipe, dependencies, processes, log and file watching. */
export class Unit {
  readonly entry: SupervisedEntry;
  readonly output: LogFile;
  readonly #parts: UnitParts;
  readonly #log: Logger;
  readonly #addedAtMs: number;
  readonly #processes: UnitProcesses;
  readonly #files: UnitFiles;
  #phase: Phase = { name: "waiting" };
  /** What keeps a change from being used while the former processes run on. */
  #problem: string | undefined;
  /** Monotonic time; when the replacement began that failed, if that is the problem. */
  #triedAtMs: number | undefined;
  #plan: RunPlan | undefined;
  /** Of the manifest that was read last, which may not run yet. */
  #runtime: RuntimeKind | undefined;
  #wasReady = false;
  /** A new process could not listen while the former one ran. */
  #needsPortAlone = false;
  #isHeld: boolean;
  #work: Promise<void> = Promise.resolve();
  #round = new AbortController();
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
      onProblem: (error) => this.#log.warn("a worker's output cannot be written to its log file", { error }),
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
      envFiles: parts.recipe.envFiles,
      onChange: (paths) => this.#filesChanged(paths),
      onProblem: (problem) => this.#log.warn("a worker's files cannot all be watched", { problem }),
    });
  }

  get kind(): "local" | "command" {
    return this.#parts.kind === undefined ? "local" : "command";
  }

  get recipe(): Recipe {
    return this.#parts.recipe;
  }

  /** Brings it up for the first time, unless it is held. Does nothing when it has begun. */
  begin(): void {
    if (this.#begun) return;
    this.#begun = true;
    if (!this.#isHeld) this.#begin();
  }

  get standing(): Standing {
    const phase = this.#phase;
    if (phase.name === "running") {
      const { state, reason } = worstOf(this.#processes.current.map((process) => process.standing));
      const { problem } = this;
      if (problem === undefined) return { state, reason: reason ?? this.#parts.unenforced };
      return { state, reason: `${problem}\n${reason ?? "The processes from before this change run on."}` };
    }
    if (phase.name === "replacing") return { state: "replacing", reason: this.#processes.progress };
    if (phase.name === "failed") return { state: "failed", reason: phase.reason };
    if (phase.name === "stopped" && this.#isHeld) return { state: "stopped", reason: `it was stopped; start it with \`svc worker start ${this.entry.name}\`` };
    if (phase.name === "waiting for others") {
      const others = this.#parts.waitsFor().map(({ name, how }) => `${name}, which ${how}`);
      return { state: "starting", reason: others.length === 0 ? undefined : `it waits for ${others.join("; for ")}` };
    }
    return { state: phase.name === "waiting" ? "starting" : phase.name, reason: undefined };
  }

  /** Why its last change or install is not used, while it runs as it did before. */
  get problem(): string | undefined {
    if (this.#phase.name !== "running") return undefined;
    const triedAtMs = this.#triedAtMs ?? Number.POSITIVE_INFINITY;
    // A process that was started after the failed replacement, such as after a crash, runs the changed files.
    return this.#processes.current.some(({ spawnedAtMs }) => spawnedAtMs < triedAtMs) ? this.#problem : undefined;
  }

  /** Names of what must be ready before it is started, while it waits for that. */
  get waitsFor(): readonly string[] {
    return this.#phase.name === "waiting for others" ? this.#parts.waitsFor().map(({ name }) => name) : [];
  }

  /** What depends on it may be started: it is ready, or has ended well where that is what it is for. */
  get isDone(): boolean {
    const { current } = this.#processes;
    if (current.every(({ isFinished }) => isFinished)) return true;
    const serves = this.#phase.name === "running" || this.#phase.name === "replacing";
    return serves && current.every(({ standing }) => standing.state === "ready") && this.#parts.kind?.restart !== "never";
  }

  /** All its processes, with the index of the replica. While one is replaced, its replica has two. */
  get replicas(): readonly { readonly index: number; readonly process: WorkerProcess }[] {
    return this.#processes.all;
  }

  get processes(): readonly WorkerProcess[] {
    return this.replicas.map(({ process }) => process);
  }

  get candidates(): readonly Candidate[] {
    return this.processes.map((process) => ({ name: this.entry.name, process }));
  }

  get restarts(): number {
    return this.#processes.current.reduce((sum, process) => sum + process.restarts, 0);
  }

  /** The last time that one of its processes ended unasked. */
  get lastExit(): LastExit | undefined {
    return this.#processes.current
      .flatMap(({ lastExit }) => lastExit ?? [])
      .reduce<LastExit | undefined>((a, b) => (a === undefined || b.atMs > a.atMs ? b : a), undefined);
  }

  /** Wall clock, milliseconds; when the next of its processes that ended unasked is started again. */
  get nextStartAtMs(): number | undefined {
    const starts = this.processes.flatMap(({ nextStartAtMs }) => nextStartAtMs ?? []);
    return starts.length === 0 ? undefined : Math.min(...starts);
  }

  /** Ids of the connections of those of its processes that have registered all they have. */
  get readyConnections(): ReadonlySet<string> {
    return new Set(this.processes.flatMap((process) => (process.standing.state === "ready" ? [...process.connections] : [])));
  }

  /** Wall clock, milliseconds; while it is ready, when it became so. */
  get readyAtMs(): number | undefined {
    if (this.standing.state !== "ready") return undefined;
    return Math.max(...this.#processes.current.flatMap(({ readyAtMs }) => readyAtMs ?? []));
  }

  /** True while its first readiness is still awaited. */
  get isAwaited(): boolean {
    return !this.#wasReady && !this.isDone && !this.#isHeld && this.#parts.clock.monotonic() - this.#addedAtMs < READY_TIMEOUT_MS;
  }

  /** Somebody stopped it, and nobody has started it since. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  async pids(): Promise<readonly number[]> {
    return (await Promise.all(this.processes.map((process) => process.pids()))).flat();
  }

  /** Starts it when it does not run: after a stop, or without waiting any longer after a failure. */
  start(): void {
    const { state } = this.standing;
    if (this.#isHeld || state === "stopped" || state === "failed" || state === "backing_off" || state === "crash_looping")
      this.#startAnew("start was asked for");
  }

  /**
   * Reads again what is to be run, installs what changed, and replaces all its processes; stops them first where they cannot be replaced.
   * `reinstall`: installs also what did not change.
   */
  restart(options: { readonly reinstall?: boolean } = {}): void {
    if (options.reinstall === true) this.#startAnew("update was asked for", { reinstall: true, runsMeanwhile: !this.#isHeld });
    else if (this.#canReplace) this.#replaceAnew("restart was asked for");
    else this.#startAnew("restart was asked for");
  }

  /** Ends its processes and leaves it so until it is started. */
  stop(): void {
    if (this.#ended || this.#isHeld) return;
    this.#isHeld = true;
    this.output.line("svc", "stop was asked for");
    this.#round.abort();
    this.#enter({ name: "stopping" });
    // Processes are told at once; what the round that was called off still does comes first to its end.
    this.#work = Promise.all([this.#processes.stop({ graceMs: STOP_GRACE_MS }), this.#work])
      .then(() => this.#processes.stop({ graceMs: STOP_GRACE_MS }))
      .then(() => {
        if (!this.#isHeld) return;
        this.#enter({ name: "stopped" });
        this.output.line("svc", "stopped");
        this.#log.info("a worker was stopped", { log: this.output.file });
      })
      .catch((error: unknown) => this.#log.error("a worker could not be stopped", { error }));
  }

  /** Ends its processes and lets go of files, for good. Resolves when none is left. */
  async close(options: { readonly graceMs: number }): Promise<void> {
    const ran = !this.#isHeld;
    this.#ended = true;
    this.#round.abort();
    this.#enter({ name: "stopping" });
    await Promise.all([this.#processes.stop(options), this.#work]);
    await this.#processes.stop(options);
    await this.#files.close();
    this.#enter({ name: "stopped" });
    if (ran) {
      this.output.line("svc", "stopped");
      this.#log.info("a worker was stopped", { log: this.output.file });
    }
    await this.output.close();
  }

  kill(): void {
    this.#processes.kill();
  }

  #startAnew(why: string, options: { readonly reinstall?: boolean; readonly runsMeanwhile?: boolean } = {}): void {
    if (this.#ended) return;
    this.#isHeld = false;
    this.output.line("svc", why);
    // At once, so that who waits for it from now on does not see how it was before.
    if (options.runsMeanwhile === true) {
      this.#enter({ name: "installing" });
      this.#begin({ reinstall: true });
      return;
    }
    this.#enter({ name: this.#phase.name === "running" || this.#phase.name === "stopping" ? "stopping" : "waiting" });
    this.#begin({ stopsFirst: true, reinstall: options.reinstall === true });
  }

  #replaceAnew(why: string): void {
    if (this.#ended) return;
    this.output.line("svc", why);
    this.#enter({ name: "replacing" });
    this.#begin({ stopsToInstall: true });
  }

  /** A new process can start while a former one serves. */
  get #canReplace(): boolean {
    return this.#parts.restartOrder === "start_first" && !this.#needsPortAlone && this.#processes.anyServes;
  }

  /** Calls off what is being done and starts over: plan, dependencies, processes. */
  #begin(options: Round = {}): void {
    this.#round.abort();
    const round = new AbortController();
    this.#round = round;
    this.#work = this.#work
      .then(async () => {
        await this.#parts.cleared;
        if (!round.signal.aborted && options.stopsFirst === true) await this.#processes.stop({ graceMs: STOP_GRACE_MS });
        if (!round.signal.aborted) await this.#bringUp(round.signal, options);
      })
      .catch((error: unknown) => {
        this.#log.error("a worker could not be started", { error });
        return this.#fail(error instanceof Error ? error.message : String(error));
      });
  }

  async #bringUp(signal: AbortSignal, options: Round): Promise<void> {
    // Everything is read after this, so that only later changes count.
    await this.#files.rebase();
    let plan = await this.#readWatched((recipe) => recipe.read());
    if (signal.aborted || plan === undefined) return;
    for (const warning of plan.warnings) this.#log.warn("a worker's manifest has keys without effect", { warning });
    if (!this.#processes.anyRuns) await this.#endBackOff();
    const install = await this.#prepare(plan, { signal, ...options });
    if (install === "failed" || signal.aborted) return;
    const prepared = plan;
    plan = await this.#readWatched((recipe) => recipe.withVariables(prepared));
    if (signal.aborted || plan === undefined) return;
    if (!this.#processes.anyRuns) await this.#awaitOthers(signal);
    if (signal.aborted) return;
    if (this.#canReplace && (install === "unchanged" || isCompiled(plan)) && (await this.#replace(plan, signal))) return;
    if (signal.aborted) return;
    await this.#processes.stop({ graceMs: STOP_GRACE_MS });
    if (signal.aborted) return;
    this.#plan = plan;
    this.#problem = undefined;
    // Told with the first process: until then all are stopped, which is not how it is.
    this.#phase = { name: "running" };
    this.#processes.start(plan);
  }

  /** Returns false if the former processes have to be stopped before new ones start. */
  async #replace(plan: RunPlan, signal: AbortSignal): Promise<boolean> {
    this.#enter({ name: "replacing" });
    const triedAtMs = this.#parts.clock.monotonic();
    const result = await this.#processes.replace(plan, { graceMs: STOP_GRACE_MS, signal });
    if (signal.aborted || result.outcome === "called off") return true;
    if (result.outcome === "replaced") {
      this.#plan = plan;
      this.#problem = undefined;
      this.#enter({ name: "running" });
      return true;
    }
    if (result.isPortInUse) {
      this.#needsPortAlone = true;
      this.output.line("svc", result.problem);
      this.output.line("svc", "a port is in use: from now on, processes are stopped before new ones start");
      this.#log.info("a worker's new process could not listen on a port; its former processes are stopped first", { log: this.output.file });
      this.#enter({ name: "stopping" });
      return false;
    }
    this.#problem = undefined;
    if (this.#processes.runsBesides(plan)) await this.#fail(result.problem, triedAtMs);
    else this.#enter({ name: "running" });
    return true;
  }

  /** What waits to be started again would else come up in the middle of an install, or before what it depends on. */
  async #endBackOff(): Promise<void> {
    // Told first: a worker whose processes are stopped is not a stopped one.
    if (this.#phase.name === "running" || this.#phase.name === "replacing") this.#enter({ name: "waiting" });
    await this.#processes.stop({ graceMs: STOP_GRACE_MS });
  }

  /** Ends when the others are ready or the round is called off. */
  async #awaitOthers(signal: AbortSignal): Promise<void> {
    const waitsFor = this.#parts.waitsFor().map(({ name }) => name);
    if (waitsFor.length === 0) return;
    this.output.line("svc", `waiting for ${waitsFor.join(", ")}`);
    this.#enter({ name: "waiting for others" });
    await this.#parts.othersReady(signal).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  }

  /** Returns a plan that is as its files are, or will be reported not to be. Returns undefined after it has failed the unit. */
  async #readWatched(how: (recipe: Recipe) => Promise<RunPlan>): Promise<RunPlan | undefined> {
    let plan = await this.#read(how);
    // A new watch does not report edits from before it began, and one of them may have changed what to watch.
    while (plan !== undefined && !this.#ended && (await this.#files.watch(plan))) plan = await this.#read(how);
    return plan;
  }

  /** Returns undefined after it has failed the unit. */
  async #read(how: (recipe: Recipe) => Promise<RunPlan>): Promise<RunPlan | undefined> {
    for (;;) {
      try {
        const plan = await how(this.#parts.recipe);
        this.#runtime = plan.manifest?.kind;
        return plan;
      } catch (error) {
        if (!(error instanceof RecipeError)) throw error;
        // A new watch does not report edits from before it began. One of them may have fixed the error.
        if (!this.#ended && (await this.#files.watchAsBefore(this.#plan))) continue;
        await this.#fail(error.message);
        return undefined;
      }
    }
  }

  /** Installs the dependencies unless they are there. */
  async #prepare(
    plan: RunPlan,
    { signal, reinstall: force = false, stopsToInstall = false }: Round & { readonly signal: AbortSignal },
  ): Promise<"unchanged" | "installed" | "failed"> {
    const { recipe } = this.#parts;
    try {
      if (!force && (await recipe.isPrepared(plan, signal))) return "unchanged";
      if (stopsToInstall) {
        this.#enter({ name: "stopping" });
        await this.#processes.stop({ graceMs: STOP_GRACE_MS });
        if (signal.aborted) return "failed";
      }
      this.#enter({ name: "installing" });
      this.#log.info("a worker's dependencies are being installed", { log: this.output.file });
      const { durationMs } = await recipe.prepare(plan, { signal, force, onProgress: (line) => this.output.line("install", line) });
      this.#log.info("a worker's dependencies are installed", { durationMs });
      // Lock files that the install wrote are noticed here, while they are known to be no reason for another start.
      await this.#files.compare();
      // What changes from now on was read already.
      this.#enter({ name: "waiting" });
      return "installed";
    } catch (error) {
      if (signal.aborted) return "failed";
      if (!(error instanceof RecipeError)) throw error;
      await this.#fail(error.message);
      return "failed";
    }
  }

  /** The former processes run on when there are any: an edit that went wrong takes nothing down. `triedAtMs`: when its new process was started. */
  async #fail(reason: string, triedAtMs?: number): Promise<void> {
    if (this.#ended || this.#isHeld) return;
    this.#triedAtMs = triedAtMs;
    const runsOn = this.#processes.anyRuns;
    this.output.line("svc", reason);
    this.#log.warn(runsOn ? "a worker's change cannot be used; its former processes run on" : "a worker cannot be started", { reason, log: this.output.file });
    if (runsOn) this.output.line("svc", "the processes from before this change run on");
    this.#problem = runsOn ? reason : undefined;
    this.#enter(runsOn ? { name: "running" } : { name: "failed", reason });
    // One that waited to be started again must not be, since nothing says so any more.
    if (!runsOn) await this.#processes.stop({ graceMs: STOP_GRACE_MS });
  }

  #filesChanged(paths: readonly string[]): void {
    if (this.#ended || this.#isHeld) return;
    // An install writes lock files. Sources are read only when the processes start, so they do not matter before that.
    const forInstall = paths.some((path) => concernsInstall(this.#runtime, path) || isManifest(path));
    if (this.#phase.name === "installing" && !forInstall) return;
    const shown = paths.length > 5 ? `${paths.slice(0, 5).join(", ")} and ${paths.length - 5} more` : paths.join(", ");
    this.output.line("svc", `changed: ${shown}`);
    this.#log.info("a worker is started again because its files changed", { files: shown });
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

/** The install writes a new program, and a process that runs keeps the one that it was started from. Packages of other kinds may be loaded at any time. */
function isCompiled({ manifest }: RunPlan): boolean {
  return manifest !== undefined && kindRules[manifest.kind].isCompiled;
}
