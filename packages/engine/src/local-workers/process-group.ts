import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { LAUNCHER_SCRIPT, withoutIdleShell } from "./launcher.ts";
import { listProcesses, membersOf, signalIfThere } from "./process-table.ts";

/** How often a stop looks whether the group is empty. */
const LOOK_EVERY_MS = 50;
/** A process that left the session may hold our end of its output open; we wait this long for the rest of it. */
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

/** A command and all its descendants, which live no longer than this process does. */
export interface ProcessGroup {
  /** Id of the group, and pid of its leader; undefined when it could not be started. */
  readonly id: number | undefined;
  /** Resolves when the command has ended, the whole group is gone and its output is read. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /** SIGTERM to the group as soon as its command hears it, which may have begun by then; SIGKILL to what is left after `graceMs`. Resolves as `ended` does. */
  stop(options: { readonly graceMs: number }): Promise<CommandEnd>;
  /** SIGKILL to the group now. */
  kill(): void;
  /** Pids of the command and its descendants, without our own launcher. */
  pids(): Promise<readonly number[]>;
}

export function startProcessGroup(options: ProcessGroupOptions): ProcessGroup {
  let child: ChildProcess;
  try {
    // `detached` makes the child the leader of a new session and group.
    child = spawn("/bin/sh", ["-c", LAUNCHER_SCRIPT, "svc-launcher", withoutIdleShell(options.command)], {
      cwd: options.cwd,
      env: options.env,
      detached: true,
      stdio: ["ignore", "pipe", "pipe", "pipe"],
    });
  } catch (error) {
    return notStarted(options, Promise.resolve(error as Error));
  }
  if (child.pid !== undefined) return new LaunchedGroup(child, child.pid, options);
  return notStarted(options, new Promise((resolve) => child.once("error", resolve)));
}

function notStarted(options: ProcessGroupOptions, cause: Promise<Error>): ProcessGroup {
  const ended = cause.then(({ message }) => ({ code: null, signal: null, problem: `could not be started in ${options.cwd}: ${message}` }));
  return { id: undefined, ended, stop: () => ended, kill: () => {}, pids: () => Promise.resolve([]) };
}

class LaunchedGroup implements ProcessGroup {
  readonly id: number;
  readonly ended: Promise<CommandEnd>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  /** Pid of the launcher's helper, which it tells before the command runs; undefined when it never came to that. */
  readonly #watcher: Promise<number | undefined>;
  /** The command hears signals, since the launcher said so. */
  #commandHears = false;
  #commandCode: number | undefined;
  #over = false;
  #stopping = false;
  #cancelGrace = (): void => {};
  #resolveEnded: (end: CommandEnd) => void = () => {};
  #resolveWatcher: (pid: number | undefined) => void = () => {};

  constructor(child: ChildProcess, id: number, options: ProcessGroupOptions) {
    this.id = id;
    this.#child = child;
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
    this.#cancelGrace = this.#clock.after(options.graceMs, () => this.#sweep());
    // One that does not hear it yet is told as soon as it does.
    if (this.#commandHears) this.#terminate();
    return this.ended;
  }

  kill(): void {
    this.#sweep();
  }

  async pids(): Promise<readonly number[]> {
    if (this.#over) return [];
    return (await this.#others()).sort((a, b) => a - b);
  }

  async #others(): Promise<number[]> {
    // The command may have spoken before the launcher's own report is read.
    const ours = new Set([this.id, await this.#watcher]);
    return membersOf(this.id, await listProcesses()).flatMap((entry) => (ours.has(entry.pid) ? [] : [entry.pid]));
  }

  #terminate(): void {
    // When the command has ended already, the sweep that follows that is under way.
    if (!this.#over && this.#commandCode === undefined) signalIfThere(-this.id, "SIGTERM");
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
    this.#others().then(
      (others) => {
        if (this.#over) return;
        if (others.length === 0) this.#sweep();
        else this.#clock.after(LOOK_EVERY_MS, () => this.#sweepWhenAlone());
      },
      // Without a process list nobody can be waited for.
      () => this.#sweep(),
    );
  }

  /** The launcher is a member until the end, so the id cannot mean another group yet. */
  #sweep(): void {
    if (this.#over) return;
    const { id } = this;
    const sweepGroup = (): void => {
      if (!this.#over) signalIfThere(-id, "SIGKILL");
    };
    listProcesses()
      .then((processes) => {
        // Those that made groups of their own inside the session.
        for (const entry of membersOf(id, processes)) if (entry.groupId !== id && !this.#over) signalIfThere(entry.pid, "SIGKILL");
      })
      .then(sweepGroup, sweepGroup);
  }

  #awaitLauncher(): void {
    let cancelOutputGrace = (): void => {};
    this.#child.once("exit", () => {
      this.#resolveWatcher(undefined);
      // Something else than we may have killed the launcher alone.
      signalIfThere(-this.id, "SIGKILL");
      this.#over = true;
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
      this.#lastMemberGone().then(finish, finish);
    });
  }

  /** A process that was killed is still there for the moment in which the kernel clears it away. */
  async #lastMemberGone(): Promise<void> {
    const deadline = performance.now() + CLEAR_AWAY_MS;
    while (performance.now() < deadline && membersOf(this.id, await listProcesses()).length > 0) await delay(LOOK_AGAIN_MS);
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
