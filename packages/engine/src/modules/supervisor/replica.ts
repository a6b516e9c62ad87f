import type { SupervisedEntry } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LogFields, Logger } from "../../kernel/logger.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import type { WorkerStandby } from "../../kernel/worker-claims.ts";
import { type ProcessGroup, startProcessGroup } from "../../local-workers/process-group.ts";
import { type AddressFacts, addressVariables } from "./address-variables.ts";
import { HeldEntries } from "./logs/held-log-entries.ts";
import { LastLines } from "./logs/last-lines.ts";
import type { LogFile } from "./logs/log-file.ts";
import { errorIn, isFromSdkLogger, type OutputLine, outputEntry } from "./logs/output-entry.ts";
import type { RunRecords } from "./run-records.ts";
import type { RunPlan } from "./unit-preparation.ts";
import { type ProcessKind, READY_TIMEOUT_MS, WorkerProcess } from "./worker-process.ts";

export interface ReplicaParts extends AddressFacts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly records: RunRecords;
  readonly standby: WorkerStandby;
  readonly haveRegistered: (connections: ReadonlySet<string>) => boolean;
  /** Receives the log entries from the processes' output. */
  readonly telemetry: Pick<Telemetry, "log">;
  /** Returns true if one of the connections sends its log entries itself. */
  readonly sendLogs: (connections: ReadonlySet<string>) => boolean;
}

export interface ReplicaOptions {
  readonly entry: SupervisedEntry;
  readonly kind: ProcessKind | undefined;
  readonly parts: ReplicaParts;
  readonly output: LogFile;
  /** Called when a process is ready, and when a connection of a replaced process closes. */
  readonly onReady: () => void;
  readonly onChange: () => void;
}

export interface ReplaceOptions {
  /** Time between SIGTERM and SIGKILL, in milliseconds. */
  readonly graceMs: number;
  /** Cancels the replacement: a new process that is not ready yet is stopped. */
  readonly signal: AbortSignal;
}

export type ReplaceResult =
  | { readonly outcome: "replaced" }
  | { readonly outcome: "cancelled" }
  /** `problem`: a sentence about the new process. `isPortInUse`: the process reported that its port is in use. */
  | { readonly outcome: "failed"; readonly problem: string; readonly isPortInUse: boolean };

/** A process with its output and the plan that it was started from. */
interface ReplicaProcess {
  readonly process: WorkerProcess;
  readonly lines: LastLines;
  plan: RunPlan | undefined;
}

/**
 * How long a replaced process may finish its calls before it gets SIGTERM. With most SDKs it then finishes the rest.
 */
const DRAIN_MS = 5_000;

/** Output of programs whose port is in use: Node's code, or the message of the C library. */
const PORT_IN_USE = /EADDRINUSE|address (?:is )?already in use/i;

/** One replica of a unit: its process, and a second one during a replacement. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #log: Logger;
  readonly #label: string;
  #current: ReplicaProcess;
  /** The new process, which replaces `#current` when it is ready. */
  #next: ReplicaProcess | undefined;
  /** The previous process, which is being stopped. */
  #previous: ReplicaProcess | undefined;
  /** Ends the wait for the new process if `of` is that process. */
  #settle: (of: ReplicaProcess, result: ReplaceResult) => void = () => {};

  constructor(index: number, options: ReplicaOptions) {
    this.#options = options;
    this.#log = options.parts.log;
    this.#label = options.entry.replicas === 1 ? "" : `#${index + 1}`;
    this.#current = this.#createProcess();
  }

  get current(): WorkerProcess {
    return this.#current.process;
  }

  /** All processes, oldest first. */
  get processes(): readonly WorkerProcess[] {
    return [this.#previous, this.#current, this.#next].flatMap((member) => member?.process ?? []);
  }

  /** The plan that the process was last started from. */
  get plan(): RunPlan | undefined {
    return this.#current.plan;
  }

  /** Progress of the replacement, as a sentence. Undefined if there is no replacement. */
  get progress(): string | undefined {
    const which = this.#label === "" ? "" : `process ${this.#label} of ${this.#options.entry.replicas}: `;
    if (this.#next !== undefined) return `${which}a new process is starting; the former one serves until it is ready`;
    if (this.#previous?.process.groupId !== undefined)
      return `${which}the new process is ready; the former one finishes its calls`;
    return this.#previous === undefined ? undefined : `${which}the former process has ended; the new one is starting`;
  }

  /** Starts the process, which must be stopped. */
  start(plan: RunPlan): void {
    this.#current.plan = plan;
    this.#current.process.start();
  }

  async stop(options: { readonly graceMs: number }): Promise<void> {
    await Promise.all(this.processes.map((process) => process.stop(options)));
  }

  kill(): void {
    for (const process of this.processes) process.kill();
  }

  /**
   * Starts a new process. When the new process is ready, it gets all further calls, and the previous process is stopped
   * after its last call. Resolves when the previous process has ended. If the new process does not become ready, the
   * previous process keeps running; resolves when the new process has ended.
   */
  async replace(plan: RunPlan, { graceMs, signal }: ReplaceOptions): Promise<ReplaceResult> {
    const next = this.#createProcess();
    next.plan = plan;
    const result = await this.#waitUntilReady(next, signal);
    if (result.outcome === "replaced") {
      await this.#finishCalls();
      this.#logLine("is in service; the former one is being stopped");
      await this.#previous?.process.stop({ graceMs });
    } else if (this.#current !== next) await next.process.stop({ graceMs });
    this.#previous = undefined;
    this.#next = undefined;
    this.#options.onChange();
    return result;
  }

  #waitUntilReady(next: ReplicaProcess, signal: AbortSignal): Promise<ReplaceResult> {
    return new Promise((resolve) => {
      const cancel = (): void => this.#settle(next, { outcome: "cancelled" });
      const cancelTimer = this.#options.parts.clock.after(READY_TIMEOUT_MS, () => {
        const problem = `registered no function, trigger type or trigger within ${READY_TIMEOUT_MS / 1000} s`;
        this.#settle(next, {
          outcome: "failed",
          problem: `its new process${this.#label} ${problem}`,
          isPortInUse: false,
        });
      });
      this.#settle = (of, result) => {
        if (of !== next) return;
        cancelTimer();
        signal.removeEventListener("abort", cancel);
        this.#settle = () => {};
        resolve(result);
      };
      signal.addEventListener("abort", cancel, { once: true });
      this.#next = next;
      next.process.startAsReplacement();
    });
  }

  /** Called as soon as the new process is ready, so that it restarts if it ends from now on. */
  #takeOver(next: ReplicaProcess): void {
    const former = this.#current;
    this.#previous = former;
    this.#current = next;
    this.#next = undefined;
    next.process.takeOver(former.process);
    this.#options.parts.standby.assign({
      inService: next.process.connections,
      standby: former.process.connections,
    });
  }

  /**
   * Waits until the previous process has no calls in flight, for two reasons: not every worker finishes its calls after
   * SIGTERM; a worker that was started by npm or another launcher gets the signal twice.
   */
  async #finishCalls(): Promise<void> {
    const former = this.#previous?.process;
    if (former === undefined) return;
    const { clock, standby } = this.#options.parts;
    await new Promise<void>((resolve) => {
      const cancelTimer = clock.after(DRAIN_MS, resolve);
      void standby.whenIdle(former.connections).then(() => {
        cancelTimer();
        resolve();
      });
    });
  }

  #onReady(member: ReplicaProcess): void {
    this.#logLine("is ready");
    this.#log.info("worker ready", this.#logFields);
    if (member === this.#next) this.#takeOver(member);
    this.#options.onReady();
    this.#settle(member, { outcome: "replaced" });
  }

  #onCrashed(member: ReplicaProcess, reason: string): void {
    const next = this.#next;
    if (member === this.#current && next !== undefined) {
      // Do not restart the process, because it would run the same files as the new process, which takes over now.
      member.process.stop({ graceMs: 0 }).catch(() => {});
      this.#takeOver(next);
      return;
    }
    if (member === next) this.#current.process.noteExit(next.process.lastExit);
    const problem = `its new process${this.#label} ${reason}`;
    this.#settle(member, {
      outcome: "failed",
      problem,
      isPortInUse: member.lines.all.some((line) => PORT_IN_USE.test(line)),
    });
  }

  #createProcess(): ReplicaProcess {
    const { entry, kind, parts, output, onReady, onChange } = this.#options;
    const held = new HeldEntries(parts.clock);
    const lines = new LastLines();
    const member: ReplicaProcess = {
      lines,
      plan: undefined,
      process: new WorkerProcess({
        name: entry.name,
        clock: parts.clock,
        random: Math.random,
        spawn: () => this.#spawn(member, (line) => this.#forward(line, member.process, held)),
        lastError: () => errorIn(lines.newestError),
        lastLines: () => lines.all,
        haveRegistered: parts.haveRegistered,
        kind,
        observer: {
          changed: onChange,
          started: (group) => this.#record(group, member),
          ready: () => this.#onReady(member),
          finished: () => {
            this.#logLine("ended with exit code 0");
            this.#log.info("command finished", this.#logFields);
          },
          crashed: (end, next) => {
            const reason = (next.reason ?? "").replace(/^it /, "");
            // The crash of a replacement is logged later, together with its consequence.
            if (member !== this.#next) this.#logLine(reason);
            for (const logEntry of held.take()) parts.telemetry.log(logEntry);
            this.#log.warn("worker process crashed", {
              ...this.#logFields,
              end,
              next: next.state,
              reason: next.reason,
              log: output.file,
            });
            this.#onCrashed(member, reason);
          },
          replacedDisconnected: () => {
            if (this.current.status.state === "ready") onReady();
          },
        },
      }),
    };
    return member;
  }

  #spawn(member: ReplicaProcess, onLine: (line: OutputLine) => void): ProcessGroup {
    const { entry, parts, output } = this.#options;
    const { plan, lines } = member;
    if (plan === undefined) throw new Error(`there is no plan yet for ${entry.name}`);
    const { clock } = parts;
    let pid: number | undefined;
    lines.clear();
    const group = startProcessGroup({
      command: plan.command,
      cwd: plan.folder,
      clock,
      env: { ...plan.environment(), ...addressVariables(parts, entry.env), SVC_WORKER_NAME: entry.name, ...entry.env },
      capture: ({ stdout, stderr }) => {
        const onText = (stream: "stdout" | "stderr") => (text: string) => {
          lines.add(stream, text);
          onLine({ text, stream, worker: entry.name, pid, timeMs: clock.now() });
        };
        output.capture(`out${this.#label}`, stdout, onText("stdout"));
        output.capture(`err${this.#label}`, stderr, onText("stderr"));
      },
    });
    pid = group.id;
    return group;
  }

  /** Turns an output line into a log entry, unless the process sends the entry itself. */
  #forward(line: OutputLine, process: WorkerProcess, held: HeldEntries): void {
    const entry = outputEntry(line);
    if (entry === undefined) return;
    const { sendLogs, telemetry } = this.#options.parts;
    if (isFromSdkLogger(entry) && sendLogs(process.connections)) held.add(entry);
    else telemetry.log(entry);
  }

  #record(group: ProcessGroup, { plan }: ReplicaProcess): void {
    const { entry, parts, output } = this.#options;
    this.#logLine(`started: ${plan?.command ?? ""}`);
    this.#log.info("worker process started", { ...this.#logFields, group: group.id, log: output.file });
    const { id, runId } = group;
    if (id === undefined) return;
    const { records } = parts;
    const added = records.add(entry.name, { group: id, runId });
    Promise.all([added, group.ended])
      .then(() => records.remove(id))
      .catch((error: unknown) => this.#log.warn("worker process could not be recorded in the run folder", { error }));
  }

  /** Writes a line about the process to the worker's log. */
  #logLine(what: string): void {
    this.#options.output.line("svc", `process${this.#label} ${what}`.trim());
  }

  /** Log field that identifies the process, if there are several. */
  get #logFields(): LogFields {
    return this.#label === "" ? {} : { process: this.#label };
  }
}
