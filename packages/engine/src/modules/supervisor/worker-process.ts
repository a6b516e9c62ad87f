import type { Clock } from "../../kernel/clock.ts";
import { type CommandEnd, describeEnd, type ProcessGroup } from "../../local-workers/process-group.ts";
import { RestartPolicy } from "../../local-workers/restart-policy.ts";
import type { ProcessStatus } from "./worker-state.ts";

/** If a worker that has registered something registers nothing more for this time, it has registered everything. */
const QUIET_MS = 300;
export const READY_TIMEOUT_MS = 120_000;
/** Time between SIGTERM and SIGKILL. */
export const STOP_GRACE_MS = 10_000;

/** Maximum length of a quoted error message, so that a reason is one line. */
const MAX_QUOTED_LENGTH = 200;

export interface WorkerProcessOptions {
  /** Name of the worker in its config entry. */
  readonly name: string;
  readonly clock: Clock;
  /** Random numbers from 0 up to 1, for the jitter of restarts. */
  readonly random: () => number;
  /** Starts the command. */
  readonly spawn: () => ProcessGroup;
  /** Returns the last error that the process wrote to standard error, or undefined. */
  readonly lastError: () => string | undefined;
  /** Returns its last output lines. */
  readonly lastLines: () => readonly string[];
  /** Returns true if one of the connections has registered a function, a trigger type or a trigger. */
  readonly haveRegistered: (connections: ReadonlySet<string>) => boolean;
  /** How the process becomes ready and whether it restarts. Default: as a worker. */
  readonly kind?: ProcessKind | undefined;
  readonly observer: WorkerProcessObserver;
}

export interface ProcessKind {
  /** `registered`: ready when it has registered everything; `running`: ready after running for a second. */
  readonly readyWhen: "registered" | "running";
  /** `on_failure`: restarts unless its exit code was 0. */
  readonly restart: "always" | "on_failure" | "never";
}

const WORKER: ProcessKind = { readyWhen: "registered", restart: "always" };
/** A command that still runs after this time is ready. */
const RUNNING_MS = 1_000;

export interface WorkerProcessObserver {
  /** The state or its reason has changed. */
  changed(): void;
  started(group: ProcessGroup): void;
  ready(): void;
  /** Called when the process has crashed. `next` is the state that follows. */
  crashed(end: CommandEnd, next: ProcessStatus): void;
  /** Called when the process has ended with exit code 0 and does not restart. */
  finished(): void;
  /** Called when a connection of the process closes after another process has replaced the process. */
  replacedDisconnected(): void;
}

/** The last crash of a process. */
export interface LastExit {
  readonly end: CommandEnd;
  /** Wall-clock time, milliseconds. */
  readonly atMs: number;
  /** Its last output lines. */
  readonly lines: readonly string[];
}

type Phase =
  | { readonly name: "stopped" }
  | { readonly name: "starting"; readonly late: boolean; readonly wasReady: boolean }
  | { readonly name: "ready" }
  | { readonly name: "stopping" }
  | { readonly name: "finished" }
  | { readonly name: "failed"; readonly reason: string }
  | { readonly name: "backing_off" | "crash_looping"; readonly reason: string };

/** The life cycle of one process of a worker: start, readiness, crash, restart, stop. Does no I/O itself. */
export class WorkerProcess {
  readonly #options: WorkerProcessOptions;
  readonly #policy: RestartPolicy;
  readonly #connections = new Set<string>();
  #phase: Phase = { name: "stopped" };
  #group: ProcessGroup | undefined;
  #spawnedAtMs = 0;
  #restarts = 0;
  #wasReady = false;
  #endedFor: string | undefined;
  /** True if the process was started to replace a running process, and has not taken over yet. */
  #isReplacement = false;
  #isReplaced = false;
  #readyAtMs: number | undefined;
  #nextStartAtMs: number | undefined;
  #lastExit: LastExit | undefined;
  #lastRegistrationMs = 0;
  #cancelQuiet: (() => void) | undefined;
  #cancelTimer = (): void => {};

  constructor(options: WorkerProcessOptions) {
    this.#options = options;
    this.#policy = new RestartPolicy(options.random);
  }

  get status(): ProcessStatus {
    const phase = this.#phase;
    switch (phase.name) {
      case "starting":
        return { state: "starting", reason: startingReason(phase, this.#lastError) };
      case "backing_off":
      case "crash_looping":
      case "failed":
        return { state: phase.name, reason: phase.reason };
      case "finished":
        return { state: "stopped", reason: "it ended with exit code 0" };
      default:
        return { state: phase.name, reason: undefined };
    }
  }

  /** True if it ended with exit code 0 and does not restart. */
  get isFinished(): boolean {
    return this.#phase.name === "finished";
  }

  /** Id of the running process group. */
  get groupId(): number | undefined {
    return this.#group?.id;
  }

  /** Monotonic time of the last start. */
  get spawnedAtMs(): number {
    return this.#spawnedAtMs;
  }

  /** Number of restarts after crashes. */
  get restarts(): number {
    return this.#restarts;
  }

  /** Wall-clock time when it became ready, in milliseconds. Undefined if it is not ready. */
  get readyAtMs(): number | undefined {
    return this.#phase.name === "ready" ? this.#readyAtMs : undefined;
  }

  /** Wall-clock time of its next restart, in milliseconds. Undefined if no restart is planned. */
  get nextStartAtMs(): number | undefined {
    return this.#phase.name === "backing_off" || this.#phase.name === "crash_looping" ? this.#nextStartAtMs : undefined;
  }

  get lastExit(): LastExit | undefined {
    return this.#lastExit;
  }

  /** True while another process of the same replica is in service. */
  get isStandby(): boolean {
    return this.#isReplacement || this.#isReplaced;
  }

  /** Ids of its connections to the engine. */
  get connections(): ReadonlySet<string> {
    return this.#connections;
  }

  pids(): Promise<readonly number[]> {
    return this.#group?.pids() ?? Promise.resolve([]);
  }

  /** Starts the process with its restart history cleared. The process must be stopped. */
  start(): void {
    this.#policy.forget();
    this.#spawn();
  }

  /**
   * Starts the process while the process that it replaces still runs. If it ends before `takeOver`, it has failed and
   * does not restart. It must be stopped when this is called.
   */
  startAsReplacement(): void {
    this.#isReplacement = true;
    this.start();
  }

  /** Replaces `former`: from now on this process restarts like any other, and the end of `former` is no crash. */
  takeOver(former: WorkerProcess): void {
    this.#isReplacement = false;
    former.#isReplaced = true;
    former.#retire();
    this.#restarts += former.#restarts;
    this.noteExit(former.#lastExit);
  }

  /** Records the exit of another process of the same replica as its own. */
  noteExit(exit: LastExit | undefined): void {
    if (exit !== undefined && exit.atMs >= (this.#lastExit?.atMs ?? 0)) this.#lastExit = exit;
  }

  /** Stops the process and its descendants. Resolves when none of them is left. */
  async stop(options: { readonly graceMs: number }): Promise<void> {
    this.#retire();
    await this.#group?.stop(options);
  }

  kill(): void {
    this.#group?.kill();
  }

  /** Kills it; this counts as a crash. `reason`: the start of a sentence, e.g. `it used too much memory`. */
  end(reason: string): void {
    if (this.#group === undefined) return;
    this.#endedFor = reason;
    this.#group.kill();
  }

  /** Call when a connection of this process was opened. */
  connected(workerId: string): void {
    if (this.#group === undefined) return;
    this.#connections.add(workerId);
    this.registered();
  }

  /** Call when one of its connections has registered a function, a trigger type or a trigger. */
  registered(): void {
    if (this.#phase.name !== "starting" || this.#kind.readyWhen === "running") return;
    this.#lastRegistrationMs = this.#options.clock.monotonic();
    this.#cancelQuiet ??= this.#options.clock.after(QUIET_MS, () => this.#afterQuiet());
  }

  disconnected(workerId: string): void {
    if (this.#isReplaced) this.#options.observer.replacedDisconnected();
    if (!this.#connections.delete(workerId) || this.#connections.size > 0) return;
    this.#cancelQuietTimer();
    if (this.#phase.name === "ready" && this.#kind.readyWhen === "registered") this.#await({ wasReady: true });
  }

  get #kind(): ProcessKind {
    return this.#options.kind ?? WORKER;
  }

  get #lastError(): string {
    const line = this.#options.lastError()?.trim() ?? "";
    if (line === "") return "";
    return ` (${line.length > MAX_QUOTED_LENGTH ? `${line.slice(0, MAX_QUOTED_LENGTH)}…` : line})`;
  }

  #spawn(): void {
    this.#spawnedAtMs = this.#options.clock.monotonic();
    this.#wasReady = false;
    this.#endedFor = undefined;
    const group = this.#options.spawn();
    this.#group = group;
    this.#options.observer.started(group);
    this.#await({ wasReady: false });
    // `ended` never rejects, and `#afterEnd` does not throw.
    void group.ended.then((end) => this.#afterEnd(end));
  }

  #await(options: { readonly wasReady: boolean }): void {
    this.#cancelTimer();
    if (this.#kind.readyWhen === "running") {
      this.#cancelTimer = this.#options.clock.after(RUNNING_MS, () => this.#enterReady());
      this.#enter({ name: "starting", late: false, ...options });
      return;
    }
    this.#cancelTimer = this.#options.clock.after(READY_TIMEOUT_MS, () =>
      this.#enter({ name: "starting", late: true, ...options }),
    );
    this.#enter({ name: "starting", late: false, ...options });
  }

  #afterQuiet(): void {
    this.#cancelQuiet = undefined;
    const quietForMs = this.#options.clock.monotonic() - this.#lastRegistrationMs;
    if (quietForMs < QUIET_MS) {
      this.#cancelQuiet = this.#options.clock.after(QUIET_MS - quietForMs, () => this.#afterQuiet());
      return;
    }
    // A connection without registrations is not ready. Its first registration starts the wait again.
    if (this.#phase.name !== "starting" || !this.#options.haveRegistered(this.#connections)) return;
    this.#cancelTimer();
    this.#enterReady();
  }

  #enterReady(): void {
    this.#wasReady = true;
    this.#readyAtMs = this.#options.clock.now();
    this.#enter({ name: "ready" });
    this.#options.observer.ready();
  }

  #afterEnd(end: CommandEnd): void {
    this.#group = undefined;
    this.#connections.clear();
    this.#cancelTimer();
    this.#cancelQuietTimer();
    if (this.#phase.name === "stopping") {
      this.#enter({ name: "stopped" });
      return;
    }
    const nowMs = this.#options.clock.monotonic();
    const { restart } = this.#kind;
    if (end.code === 0 && restart !== "always") {
      this.#enter({ name: "finished" });
      this.#options.observer.finished();
      return;
    }
    this.#lastExit = { end, atMs: this.#options.clock.now(), lines: this.#options.lastLines() };
    if (restart === "never") {
      this.#enter({
        name: "failed",
        reason: `${this.#ended(end)}${this.#lastError}; it is not started again, since its restart is never`,
      });
      this.#options.observer.crashed(end, this.status);
      return;
    }
    if (this.#isReplacement) {
      this.#enter({ name: "failed", reason: `${this.#ended(end)}${this.#lastError} before it was ready` });
      this.#options.observer.crashed(end, this.status);
      return;
    }
    const next = this.#policy.exited({ nowMs, ranForMs: nowMs - this.#spawnedAtMs, wasReady: this.#wasReady });
    this.#nextStartAtMs = this.#options.clock.now() + next.delayMs;
    this.#cancelTimer = this.#options.clock.after(next.delayMs, () => {
      this.#restarts++;
      this.#spawn();
    });
    this.#enter({ name: next.state, reason: this.#crashReason(end, next) });
    this.#options.observer.crashed(end, this.status);
  }

  #crashReason(end: CommandEnd, next: { readonly state: string; readonly delayMs: number }): string {
    const ended = this.#ended(end);
    if (next.state !== "crash_looping") return `${ended}${this.#lastError} and restarts ${inSeconds(next.delayMs)}`;
    const seconds = Math.round(next.delayMs / 1000);
    const restart = `svc worker restart ${this.#options.name}`;
    return `${ended}, the fifth time within a minute${this.#lastError}; it restarts when a file changes, with \`${restart}\`, or in ${seconds / 60} minutes`;
  }

  #ended(end: CommandEnd): string {
    return this.#endedFor === undefined ? `it ${describeEnd(end)}` : `${this.#endedFor} and was ended`;
  }

  /** Cancels planned restarts. The process runs on until `stop`. */
  #retire(): void {
    this.#cancelTimer();
    this.#cancelQuietTimer();
    this.#enter({ name: this.#group === undefined ? "stopped" : "stopping" });
  }

  #cancelQuietTimer(): void {
    this.#cancelQuiet?.();
    this.#cancelQuiet = undefined;
  }

  #enter(phase: Phase): void {
    this.#phase = phase;
    this.#options.observer.changed();
  }
}

function inSeconds(delayMs: number): string {
  return delayMs < 500 ? "at once" : `in ${Math.max(1, Math.round(delayMs / 1000))} s`;
}

function startingReason(
  phase: { readonly late: boolean; readonly wasReady: boolean },
  lastError: string,
): string | undefined {
  const forSeconds = `for ${READY_TIMEOUT_MS / 1000} s`;
  if (phase.wasReady)
    return phase.late
      ? `it has been without a connection to the engine ${forSeconds}${lastError}`
      : "it lost its connection to the engine and is expected back";
  return phase.late
    ? `it runs, but has registered no function, trigger type or trigger ${forSeconds}; does it connect to the address in SVC_URL?${lastError}`
    : undefined;
}
