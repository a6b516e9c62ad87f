import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { LAUNCHER_SCRIPT, withoutIdleShell } from "./launcher.ts";
import { findProcess, listProcesses, membersOf, signalIfThere } from "./process-table.ts";
import { markerOf, newRunId, RUN_VARIABLE } from "./run-marker.ts";
import { killMembers, type RunMember, RunMembers, signalProcess } from "./run-members.ts";

/** How often a stop looks whether the group is empty. */
const LOOK_EVERY_MS = 50;
/** A process that cannot be found may hold our end of its output open; we wait this long for the rest of it. */
const OUTPUT_GRACE_MS = 1_000;
/** SIGKILL takes this long at most, unless the process hangs in a system call. */
const CLEAR_AWAY_MS = 1_000;
const LOOK_AGAIN_MS = 10;
/** The launcher tells three short lines; more than this is not it. */
const MAX_REPORT_LENGTH = 256;

/** How a command ended. */
export interface CommandEnd {
  /** Exit code; null when a signal ended it, or when it never started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Why it could not be started. */
  readonly problem: string | undefined;
}

export interface ProcessGroupOptions {
  /** Shell command. */
  readonly command: string;
  /** Absolute path of the working folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Gets both output streams before anything arrives on them, and must read them to their ends. */
  readonly capture: (streams: { readonly stdout: Readable; readonly stderr: Readable }) => void;
  readonly clock?: Clock;
}

/** A command and all its descendants, also those that left the group, which live no longer than this process does. */
export interface ProcessGroup {
  /** Id of the group, and pid of its leader; undefined when it could not be started. */
  readonly id: number | undefined;
  /** Random id of this run, which its processes inherit in `SVC_RUN_ID`. */
  readonly runId: string;
  /** Resolves when the command has ended, all its processes are gone and its output is read. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /**
   * SIGTERM to the group as soon as its command hears it, which may have begun by then. SIGTERM to processes that left the group once it is
   * empty, or after half of `graceMs`. SIGKILL to what is left after `graceMs`. Resolves as `ended` does.
   */
  stop(options: { readonly graceMs: number }): Promise<CommandEnd>;
  /** SIGKILL to all its processes now. */
  kill(): void;
  /** Pids of the command and its descendants in the group, without our own launcher. */
  pids(): Promise<readonly number[]>;
}

export function startProcessGroup(options: ProcessGroupOptions): ProcessGroup {
  const runId = newRunId();
  // Not from the options: an engine around this one must find the processes whatever variables an entry sets.
  const marker = { [RUN_VARIABLE]: markerOf(runId, process.env[RUN_VARIABLE]) };
  let child: ChildProcess;
  try {
    // `detached` makes the child the leader of a new session and group.
    child = spawn("/bin/sh", ["-c", LAUNCHER_SCRIPT, "svc-launcher", withoutIdleShell(options.command), runId], {
      cwd: options.cwd,
      env: { ...options.env, ...marker },
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
  } catch (error) {
    return notStarted(options, runId, Promise.resolve(error as Error));
  }
  if (child.pid !== undefined) return new LaunchedGroup(child, { id: child.pid, runId }, options);
  return notStarted(options, runId, new Promise((resolve) => child.once("error", resolve)));
}

function notStarted(options: ProcessGroupOptions, runId: string, cause: Promise<Error>): ProcessGroup {
  const ended = cause.then(({ message }) => ({ code: null, signal: null, problem: `could not be started in ${options.cwd}: ${message}` }));
  return { id: undefined, runId, ended, stop: () => ended, kill: () => {}, pids: () => Promise.resolve([]) };
}

class LaunchedGroup implements ProcessGroup {
  readonly id: number;
  readonly runId: string;
  readonly ended: Promise<CommandEnd>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  /** Pid of the launcher's helper, which it tells before the command runs; undefined when it never came to that. */
  readonly #watcher: Promise<number | undefined>;
  readonly #members: Promise<RunMembers>;
  /** The command hears signals, since the launcher said so. */
  #commandHears = false;
  #commandCode: number | undefined;
  #over = false;
  #stopping = false;
  #isSwept = false;
  /** SIGTERM is sent once, as to the group: what a process starts in order to end well is left alone. */
  readonly #terminated = { escaped: false, nested: false };
  /** Ends what left the group, after its launcher has ended without a sweep. */
  #cleared: Promise<void> = Promise.resolve();
  #cancelGrace = (): void => {};
  #resolveEnded: (end: CommandEnd) => void = () => {};
  #resolveWatcher: (pid: number | undefined) => void = () => {};

  constructor(child: ChildProcess, { id, runId }: { readonly id: number; readonly runId: string }, options: ProcessGroupOptions) {
    this.id = id;
    this.runId = runId;
    this.#child = child;
    this.#members = findProcess(id).then((launcher) => new RunMembers({ id: runId, since: launcher?.startTime }));
    this.#clock = options.clock ?? systemClock;
    this.ended = new Promise((resolve) => {
      this.#resolveEnded = resolve;
    });
    this.#watcher = new Promise((resolve) => {
      this.#resolveWatcher = resolve;
    });
    options.capture({ stdout: child.stdout as Readable, stderr: child.stderr as Readable });
    this.#readReports(child.stdio[3] as Duplex);
    this.#awaitLauncher();
  }

  async stop(options: { readonly graceMs: number }): Promise<CommandEnd> {
    if (this.#over || this.#stopping) return this.ended;
    this.#stopping = true;
    const cancelEscaped = this.#clock.after(options.graceMs / 2, () => this.#terminateEscaped());
    const cancelSweep = this.#clock.after(options.graceMs, () => this.#sweep());
    this.#cancelGrace = () => {
      cancelEscaped();
      cancelSweep();
    };
    // One that does not hear it yet is told as soon as it does.
    if (this.#commandHears) this.#terminate();
    return this.ended;
  }

  kill(): void {
    this.#sweep();
  }

  async pids(): Promise<readonly number[]> {
    if (this.#over) return [];
    const launcher = await this.#launcherPids();
    const pids = membersOf(this.id, await listProcesses()).map(({ pid }) => pid);
    return pids.filter((pid) => !launcher.has(pid)).sort((a, b) => a - b);
  }

  /** The command may have spoken before the launcher's own report is read. */
  async #launcherPids(): Promise<ReadonlySet<number | undefined>> {
    return new Set([this.id, await this.#watcher]);
  }

  /** Processes of the run without our own launcher. */
  async #others(): Promise<readonly RunMember[]> {
    const launcher = await this.#launcherPids();
    const members = await this.#find();
    return members.filter(({ pid }) => !launcher.has(pid));
  }

  /** Once the launcher has ended, the id of its group may mean another one. */
  async #find(): Promise<readonly RunMember[]> {
    return (await this.#members).find(this.#over ? undefined : this.id);
  }

  #terminate(): void {
    // When the command has ended already, the sweep that follows that is under way.
    if (!this.#over && this.#commandCode === undefined) signalIfThere(-this.id, "SIGTERM");
  }

  /** For a command that waits for a process outside the group. */
  #terminateEscaped(): void {
    // Without a process list the sweep follows all the same.
    this.#others().then(
      (others) => {
        if (!this.#isSwept) this.#terminateOnce("escaped", others);
      },
      () => {},
    );
  }

  /** SIGTERM to members outside the group. `escaped`: those of this run; `nested`: those that an inner engine has left behind. */
  #terminateOnce(which: "escaped" | "nested", others: readonly RunMember[]): void {
    if (this.#terminated[which]) return;
    this.#terminated[which] = true;
    for (const member of others) if (member.groupId !== this.id && member.isNested === (which === "nested")) signalProcess(member, "SIGTERM").catch(() => {});
  }

  #readReports(channel: Duplex): void {
    let text = "";
    channel.on("data", (chunk: Buffer) => {
      if (text.length > MAX_REPORT_LENGTH) return;
      text += chunk.toString("latin1");
      const watcher = /^watcher (\d+)\n/m.exec(text)?.[1];
      if (watcher !== undefined) this.#resolveWatcher(Number(watcher));
      // Before `exit`, which may come with it: what a command left behind that ended already is to be told as well.
      if (!this.#commandHears && /^command\n/m.test(text)) {
        this.#commandHears = true;
        if (this.#stopping) this.#terminate();
      }
      const code = /^exit (\d+)\n/m.exec(text)?.[1];
      if (code !== undefined && this.#commandCode === undefined) this.#commandEnded(Number(code));
    });
    // The other end goes with the launcher, whose exit is what counts; a reset on the way says no more.
    channel.on("error", () => {});
  }

  #commandEnded(code: number): void {
    this.#commandCode = code;
    if (!this.#stopping) {
      this.#sweep();
      return;
    }
    // A wrapper such as npm may go before the process that it started has finished the calls in its hands.
    this.#sweepWhenAlone();
  }

  #sweepWhenAlone(): void {
    const look = async (): Promise<void> => {
      const others = await this.#others();
      if (this.#over) return;
      if (others.length === 0) {
        this.#sweep();
        return;
      }
      // Those outside the group may be what a member of it needs to finish its calls, such as a browser. An inner engine stops its own workers.
      if (!others.some(({ groupId }) => groupId === this.id)) this.#terminateOnce("escaped", others);
      if (others.every(({ isNested }) => isNested)) this.#terminateOnce("nested", others);
      this.#clock.after(LOOK_EVERY_MS, () => this.#sweepWhenAlone());
    };
    // Without a process list nobody can be waited for.
    look().catch(() => this.#sweep());
  }

  /** The launcher is a member until the end, so the id cannot mean another group yet. */
  #sweep(): void {
    if (this.#over || this.#isSwept) return;
    this.#isSwept = true;
    const { id } = this;
    const sweepGroup = (): void => {
      if (!this.#over) signalIfThere(-id, "SIGKILL");
    };
    // Members of the group too, so that none of them goes on starting others.
    killMembers(async () => (await this.#find()).filter(({ pid }) => pid !== id)).then(sweepGroup, sweepGroup);
  }

  #awaitLauncher(): void {
    let cancelOutputGrace = (): void => {};
    this.#child.once("exit", () => {
      this.#resolveWatcher(undefined);
      // Something else than we may have killed the launcher alone.
      signalIfThere(-this.id, "SIGKILL");
      this.#over = true;
      if (!this.#isSwept) this.#cleared = killMembers(() => this.#find()).catch(() => {});
      cancelOutputGrace = systemClock.after(OUTPUT_GRACE_MS, () => {
        this.#child.stdout?.destroy();
        this.#child.stderr?.destroy();
        this.#child.stdio[3]?.destroy();
      });
    });
    this.#child.once("close", (code, signal) => {
      cancelOutputGrace();
      this.#cancelGrace();
      const end = this.#commandCode === undefined ? { code, signal, problem: undefined } : endOf(this.#commandCode);
      const finish = (): void => this.#resolveEnded(end);
      // Without a process list there is nothing to wait for.
      this.#cleared.then(() => this.#lastMemberGone()).then(finish, finish);
    });
  }

  /** A process that was killed is still there for the moment in which the kernel clears it away. */
  async #lastMemberGone(): Promise<void> {
    const deadline = performance.now() + CLEAR_AWAY_MS;
    while (performance.now() < deadline) {
      const escaped = await this.#find();
      if (escaped.length === 0 && membersOf(this.id, await listProcesses()).length === 0) return;
      await delay(LOOK_AGAIN_MS);
    }
  }
}

const signalNames = new Map(Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]));

/** A shell tells a death by signal as 128 and the signal's number. */
function endOf(code: number): CommandEnd {
  const signal = code > 128 ? signalNames.get(code - 128) : undefined;
  return signal === undefined ? { code, signal: null, problem: undefined } : { code: null, signal, problem: undefined };
}

/** How a command ended, for people: `ended with exit code 1`, `was ended by SIGKILL`. */
export function describeEnd(end: CommandEnd): string {
  if (end.problem !== undefined) return end.problem;
  return end.signal === null ? `ended with exit code ${end.code ?? "unknown"}` : `was ended by ${end.signal}`;
}
