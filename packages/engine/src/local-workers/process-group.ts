import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { type Clock, systemClock } from "../kernel/clock.ts";
import { LAUNCHER_SCRIPT, withoutIdleShell } from "./launcher.ts";
import { findProcess, listProcesses, membersOf, signalIfThere } from "./process-table.ts";
import { markerOf, newRunId, RUN_VARIABLE } from "./run-marker.ts";
import { killMembers, type RunMember, RunMembers, signalProcess } from "./run-members.ts";

/** Interval at which a stop checks whether the group is empty, in milliseconds. */
const CHECK_EVERY_MS = 50;
/**
 * Maximum wait for the rest of the output, in milliseconds. It is limited because a process that cannot be found may
 * keep the output open.
 */
const OUTPUT_GRACE_MS = 1_000;
/**
 * Maximum wait for processes to disappear after SIGKILL, in milliseconds. Only a process that hangs in a system call
 * takes longer.
 */
const KILL_WAIT_MS = 1_000;
const KILL_CHECK_MS = 10;
/**
 * Maximum length of the launcher's reports. They are three short lines, so a longer text does not come from the
 * launcher.
 */
const MAX_REPORT_LENGTH = 256;

/** How a command ended. */
export interface CommandEnd {
  /** Exit code. Null if a signal ended the command, or if it never started. */
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Reason why the command failed to start; undefined if it started. */
  readonly problem: string | undefined;
}

export interface ProcessGroupOptions {
  /** Shell command. */
  readonly command: string;
  /** Absolute path of the working folder. */
  readonly cwd: string;
  readonly env: Readonly<Record<string, string>>;
  /** Called with both output streams before they have data. It must read them to their ends. */
  readonly capture: (streams: { readonly stdout: Readable; readonly stderr: Readable }) => void;
  readonly clock?: Clock;
}

/** A command with all its descendants, including those that left the group. None of them outlives this process. */
export interface ProcessGroup {
  /** Id of the group, which is also the pid of its leader. Undefined if the command could not be started. */
  readonly id: number | undefined;
  /** Random id of this run. Its processes inherit it in `SVC_RUN_ID`. */
  readonly runId: string;
  /** Resolves when the command and all its processes have ended and the output is read. Never rejects. */
  readonly ended: Promise<CommandEnd>;
  /**
   * Stops all processes. Sends SIGTERM to the group as soon as the command can receive it. Sends SIGTERM to processes
   * that left the group when the group is empty, or after half of `graceMs`. Sends SIGKILL to the remaining processes
   * after `graceMs`. Resolves like `ended`.
   */
  stop(options: { readonly graceMs: number }): Promise<CommandEnd>;
  /** Sends SIGKILL to all processes now. */
  kill(): void;
  /** Returns the pids of the command and its descendants in the group, without the launcher. */
  pids(): Promise<readonly number[]>;
}

export function startProcessGroup(options: ProcessGroupOptions): ProcessGroup {
  const runId = newRunId();
  // This is set here and not by the options, because an outer engine must find the processes even if an entry sets this
  // variable.
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
  const ended = cause.then(({ message }) => ({
    code: null,
    signal: null,
    problem: `could not be started in ${options.cwd}: ${message}`,
  }));
  return { id: undefined, runId, ended, stop: () => ended, kill: () => {}, pids: () => Promise.resolve([]) };
}

class LaunchedGroup implements ProcessGroup {
  readonly id: number;
  readonly runId: string;
  readonly ended: Promise<CommandEnd>;
  readonly #child: ChildProcess;
  readonly #clock: Clock;
  /**
   * Pid of the launcher's watcher. The launcher reports it before the command runs. Undefined if the launcher ended
   * before that.
   */
  readonly #watcher: Promise<number | undefined>;
  readonly #members: Promise<RunMembers>;
  /** True after the launcher has reported that the command receives signals. */
  #receivesSignals = false;
  #commandCode: number | undefined;
  #over = false;
  #stopping = false;
  #isSwept = false;
  /**
   * Whether SIGTERM was sent. It is sent only once, so that processes that the command starts during its shutdown do
   * not get it.
   */
  readonly #terminated = { escaped: false, nested: false };
  /** Resolves when the processes that left the group are killed. Used if the launcher ended before that. */
  #escapedKilled: Promise<void> = Promise.resolve();
  #cancelGrace = (): void => {};
  #resolveEnded: (end: CommandEnd) => void = () => {};
  #resolveWatcher: (pid: number | undefined) => void = () => {};

  constructor(
    child: ChildProcess,
    { id, runId }: { readonly id: number; readonly runId: string },
    options: ProcessGroupOptions,
  ) {
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
    // If the command does not receive signals yet, SIGTERM is sent when the launcher reports it.
    if (this.#receivesSignals) this.#terminate();
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

  /** Waits for the launcher's report, because the command may already have written output before the report is read. */
  async #launcherPids(): Promise<ReadonlySet<number | undefined>> {
    return new Set([this.id, await this.#watcher]);
  }

  /** Returns the processes of the run without the launcher. */
  async #others(): Promise<readonly RunMember[]> {
    const launcher = await this.#launcherPids();
    const members = await this.#find();
    return members.filter(({ pid }) => !launcher.has(pid));
  }

  /**
   * Finds the processes of the run. After the launcher has ended, the group is not searched, because another group may
   * have its id.
   */
  async #find(): Promise<readonly RunMember[]> {
    return (await this.#members).find(this.#over ? undefined : this.id);
  }

  #terminate(): void {
    // If the command has ended already, the remaining processes are being killed or waited for.
    if (!this.#over && this.#commandCode === undefined) signalIfThere(-this.id, "SIGTERM");
  }

  /** Ends processes outside the group that the command may wait for. */
  #terminateEscaped(): void {
    // Without a process list, these processes get only SIGKILL, later.
    this.#others().then(
      (others) => {
        if (!this.#isSwept) this.#terminateOnce("escaped", others);
      },
      () => {},
    );
  }

  /**
   * Sends SIGTERM to processes outside the group. `escaped`: processes of this run. `nested`: processes of a nested
   * run, i.e. of an engine that is part of this run and has left them behind.
   */
  #terminateOnce(which: "escaped" | "nested", others: readonly RunMember[]): void {
    if (this.#terminated[which]) return;
    this.#terminated[which] = true;
    for (const member of others)
      if (member.groupId !== this.id && member.isNested === (which === "nested"))
        signalProcess(member, "SIGTERM").catch(() => {});
  }

  #readReports(channel: Duplex): void {
    let text = "";
    channel.on("data", (chunk: Buffer) => {
      if (text.length > MAX_REPORT_LENGTH) return;
      text += chunk.toString("latin1");
      const watcher = /^watcher (\d+)\n/m.exec(text)?.[1];
      if (watcher !== undefined) this.#resolveWatcher(Number(watcher));
      // This must be checked before `exit`, which may be in the same chunk: if the command has already ended, its
      // remaining processes need SIGTERM too.
      if (!this.#receivesSignals && /^command\n/m.test(text)) {
        this.#receivesSignals = true;
        if (this.#stopping) this.#terminate();
      }
      const code = /^exit (\d+)\n/m.exec(text)?.[1];
      if (code !== undefined && this.#commandCode === undefined) this.#commandEnded(Number(code));
    });
    // The channel closes when the launcher ends, which is handled elsewhere. An error here has no further meaning.
    channel.on("error", () => {});
  }

  #commandEnded(code: number): void {
    this.#commandCode = code;
    if (!this.#stopping) {
      this.#sweep();
      return;
    }
    // Wait for the other processes: a wrapper such as npm may end before the process that it started has finished its
    // calls.
    this.#sweepWhenAlone();
  }

  #sweepWhenAlone(): void {
    const check = async (): Promise<void> => {
      const others = await this.#others();
      if (this.#over) return;
      if (others.length === 0) {
        this.#sweep();
        return;
      }
      // Processes outside the group get SIGTERM only when the group is empty, because its members may need them to
      // finish their calls, e.g. a browser. Processes of a nested run come last, because the nested engine stops its
      // own workers.
      if (!others.some(({ groupId }) => groupId === this.id)) this.#terminateOnce("escaped", others);
      if (others.every(({ isNested }) => isNested)) this.#terminateOnce("nested", others);
      this.#clock.after(CHECK_EVERY_MS, () => this.#sweepWhenAlone());
    };
    // Without a process list it is not possible to wait for processes.
    check().catch(() => this.#sweep());
  }

  /**
   * Kills all processes of the run. The launcher is a member of the group until the end, so no other group can have its
   * id.
   */
  #sweep(): void {
    if (this.#over || this.#isSwept) return;
    this.#isSwept = true;
    const { id } = this;
    const sweepGroup = (): void => {
      if (!this.#over) signalIfThere(-id, "SIGKILL");
    };
    // Kill the members one by one first, so that none of them starts further processes. Then kill the group.
    killMembers(async () => (await this.#find()).filter(({ pid }) => pid !== id)).then(sweepGroup, sweepGroup);
  }

  #awaitLauncher(): void {
    let cancelOutputGrace = (): void => {};
    this.#child.once("exit", () => {
      this.#resolveWatcher(undefined);
      // Another program may have killed only the launcher.
      signalIfThere(-this.id, "SIGKILL");
      this.#over = true;
      if (!this.#isSwept) this.#escapedKilled = killMembers(() => this.#find()).catch(() => {});
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
      // Without a process list it is not possible to wait for processes.
      this.#escapedKilled.then(() => this.#lastMemberGone()).then(finish, finish);
    });
  }

  /** Waits until the operating system has removed the killed processes. */
  async #lastMemberGone(): Promise<void> {
    const deadline = performance.now() + KILL_WAIT_MS;
    while (performance.now() < deadline) {
      const escaped = await this.#find();
      if (escaped.length === 0 && membersOf(this.id, await listProcesses()).length === 0) return;
      await delay(KILL_CHECK_MS);
    }
  }
}

const signalNames = new Map(
  Object.entries(constants.signals).map(([name, number]) => [number, name as NodeJS.Signals]),
);

/** Converts the exit code that a shell reports. A death by signal is 128 plus the signal's number. */
function endOf(code: number): CommandEnd {
  const signal = code > 128 ? signalNames.get(code - 128) : undefined;
  return signal === undefined ? { code, signal: null, problem: undefined } : { code: null, signal, problem: undefined };
}

/** Describes how a command ended: `ended with exit code 1`, `was ended by SIGKILL`. */
export function describeEnd(end: CommandEnd): string {
  if (end.problem !== undefined) return end.problem;
  return end.signal === null ? `ended with exit code ${end.code ?? "unknown"}` : `was ended by ${end.signal}`;
}
