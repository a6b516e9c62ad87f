import type { SupervisedEntry } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LogFields, Logger } from "../../kernel/logger.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { type ProcessGroup, startProcessGroup } from "../../local-workers/process-group.ts";
import { type AddressFacts, addressVariables } from "./address-variables.ts";
import { HeldEntries } from "./held-entries.ts";
import { LastLines } from "./last-lines.ts";
import type { LogFile } from "./log-file.ts";
import { causeIn, isOfOurLogger, type OutputLine, outputEntry } from "./output-entry.ts";
import type { RunPlan } from "./recipe.ts";
import type { RunRecords } from "./run-records.ts";
import { type ProcessKind, READY_TIMEOUT_MS, WorkerProcess } from "./worker-process.ts";

export interface ReplicaParts extends AddressFacts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly records: RunRecords;
  readonly haveRegistered: (connections: ReadonlySet<string>) => boolean;
  /** Takes the lines that its processes write. */
  readonly telemetry: Pick<Telemetry, "log">;
  /** One of the connections sends the lines of its logger by itself. */
  readonly sendLogs: (connections: ReadonlySet<string>) => boolean;
}

export interface ReplicaOptions {
  readonly entry: SupervisedEntry;
  readonly kind: ProcessKind | undefined;
  readonly parts: ReplicaParts;
  readonly output: LogFile;
  /** A process is ready, or a connection of a process that it replaced has closed since. */
  readonly onReady: () => void;
  readonly onChange: () => void;
}

export interface ReplaceOptions {
  /** Grace period of a process that is stopped, in milliseconds. */
  readonly graceMs: number;
  /** Calls the replacement off: a new process that is not ready yet is stopped. */
  readonly signal: AbortSignal;
}

export type ReplaceResult =
  | { readonly outcome: "replaced" }
  | { readonly outcome: "called off" }
  /** `problem`: a sentence about the new process. `isPortInUse`: it wrote that it could not listen. */
  | { readonly outcome: "failed"; readonly problem: string; readonly isPortInUse: boolean };

/** A process, and what it is started from. */
interface Member {
  readonly process: WorkerProcess;
  readonly lines: LastLines;
  plan: RunPlan | undefined;
}

/** What programs write when another process listens on their port: Node's code, or the text of the C library. */
const PORT_IN_USE = /EADDRINUSE|address (?:is )?already in use/i;

/** One replica of a unit: its process, and a second one while that is replaced. */
export class Replica {
  readonly #options: ReplicaOptions;
  readonly #log: Logger;
  readonly #label: string;
  #current: Member;
  /** Replaces `#current` once it is ready. */
  #next: Member | undefined;
  /** Was replaced by `#current` and is being stopped. */
  #former: Member | undefined;
  /** Ends the wait for the new process, if `of` is that process. */
  #settle: (of: Member, result: ReplaceResult) => void = () => {};

  constructor(index: number, options: ReplicaOptions) {
    this.#options = options;
    this.#log = options.parts.log;
    this.#label = options.entry.replicas === 1 ? "" : `#${index + 1}`;
    this.#current = this.#makeMember();
  }

  get current(): WorkerProcess {
    return this.#current.process;
  }

  /** Oldest first. */
  get processes(): readonly WorkerProcess[] {
    return [this.#former, this.#current, this.#next].flatMap((member) => member?.process ?? []);
  }

  /** What its process was started from last. */
  get plan(): RunPlan | undefined {
    return this.#current.plan;
  }

  /** How far its replacement is, as a sentence; undefined while it is not being replaced. */
  get progress(): string | undefined {
    const which = this.#label === "" ? "" : `process ${this.#label} of ${this.#options.entry.replicas}: `;
    if (this.#next !== undefined) return `${which}a new process is starting; the former one serves until it is ready`;
    if (this.#former?.process.groupId !== undefined) return `${which}the new process is ready; the former one finishes its calls`;
    return this.#former === undefined ? undefined : `${which}the former process has ended; the new one is starting`;
  }

  /** Its process must be stopped. */
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
   * Starts a new process and, once that is ready, stops the former one. Resolves when the former one has ended; if the new one does not become ready,
   * when that has ended. The former one then runs on.
   */
  async replace(plan: RunPlan, { graceMs, signal }: ReplaceOptions): Promise<ReplaceResult> {
    const next = this.#makeMember();
    next.plan = plan;
    const result = await this.#trial(next, signal);
    if (result.outcome === "replaced") {
      this.#say("the former process is being stopped");
      await this.#former?.process.stop({ graceMs });
    } else if (this.#current !== next) await next.process.stop({ graceMs });
    this.#former = undefined;
    this.#next = undefined;
    this.#options.onChange();
    return result;
  }

  #trial(next: Member, signal: AbortSignal): Promise<ReplaceResult> {
    return new Promise((resolve) => {
      const callOff = (): void => this.#settle(next, { outcome: "called off" });
      const cancelTimer = this.#options.parts.clock.after(READY_TIMEOUT_MS, () => {
        const problem = `registered no function, trigger type or trigger within ${READY_TIMEOUT_MS / 1000} s`;
        this.#settle(next, { outcome: "failed", problem: `its new process${this.#label} ${problem}`, isPortInUse: false });
      });
      this.#settle = (of, result) => {
        if (of !== next) return;
        cancelTimer();
        signal.removeEventListener("abort", callOff);
        this.#settle = () => {};
        resolve(result);
      };
      signal.addEventListener("abort", callOff, { once: true });
      this.#next = next;
      next.process.startAsReplacement();
    });
  }

  /** At once when the new process is ready, so that it is started again if it ends from now on. */
  #takeOver(next: Member): void {
    const former = this.#current;
    this.#former = former;
    this.#current = next;
    this.#next = undefined;
    next.process.takeOver(former.process);
  }

  #readied(member: Member): void {
    this.#say("is ready");
    this.#log.info("a worker is ready", this.#which);
    if (member === this.#next) this.#takeOver(member);
    this.#options.onReady();
    this.#settle(member, { outcome: "replaced" });
  }

  #crashed(member: Member, reason: string): void {
    const next = this.#next;
    if (member === this.#current && next !== undefined) {
      // Started again it would run the same files as the new one.
      member.process.stop({ graceMs: 0 }).catch(() => {});
      this.#takeOver(next);
      return;
    }
    if (member === next) this.#current.process.noteExit(next.process.lastExit);
    const problem = `its new process${this.#label} ${reason}`;
    this.#settle(member, { outcome: "failed", problem, isPortInUse: member.lines.all.some((line) => PORT_IN_USE.test(line)) });
  }

  #makeMember(): Member {
    const { entry, kind, parts, output, onReady, onChange } = this.#options;
    const held = new HeldEntries(parts.clock);
    const lines = new LastLines();
    const member: Member = {
      lines,
      plan: undefined,
      process: new WorkerProcess({
        name: entry.name,
        clock: parts.clock,
        random: Math.random,
        spawn: () => this.#spawn(member, (line) => this.#tell(line, member.process, held)),
        lastError: () => causeIn(lines.newestError),
        lastLines: () => lines.all,
        haveRegistered: parts.haveRegistered,
        kind,
        observer: {
          changed: onChange,
          started: (group) => this.#record(group, member),
          ready: () => this.#readied(member),
          finished: () => {
            this.#say("ended with exit code 0");
            this.#log.info("a command has ended", this.#which);
          },
          crashed: (end, next) => {
            const reason = (next.reason ?? "").replace(/^it /, "");
            // How a replacement failed is written with what follows from it.
            if (member !== this.#next) this.#say(reason);
            for (const logEntry of held.take()) parts.telemetry.log(logEntry);
            this.#log.warn("a worker's process ended unasked", { ...this.#which, end, next: next.state, reason: next.reason, log: output.file });
            this.#crashed(member, reason);
          },
          replacedDisconnected: () => {
            if (this.current.standing.state === "ready") onReady();
          },
        },
      }),
    };
    return member;
  }

  #spawn(member: Member, onLine: (line: OutputLine) => void): ProcessGroup {
    const { entry, parts, output } = this.#options;
    const { plan, lines } = member;
    if (plan === undefined) throw new Error(`it is not known yet how ${entry.name} is run`);
    const { clock } = parts;
    let pid: number | undefined;
    lines.clear();
    const group = startProcessGroup({
      command: plan.command,
      cwd: plan.folder,
      clock,
      env: { ...plan.environment(), ...addressVariables(parts, entry.env), SVC_WORKER_NAME: entry.name, ...entry.env },
      capture: ({ stdout, stderr }) => {
        const tell = (stream: "stdout" | "stderr") => (text: string) => {
          lines.add(stream, text);
          onLine({ text, stream, worker: entry.name, pid, timeMs: clock.now() });
        };
        output.capture(`out${this.#label}`, stdout, tell("stdout"));
        output.capture(`err${this.#label}`, stderr, tell("stderr"));
      },
    });
    pid = group.id;
    return group;
  }

  /** Makes a line of a process a log entry, unless the process sends the entry itself. */
  #tell(line: OutputLine, process: WorkerProcess, held: HeldEntries): void {
    const entry = outputEntry(line);
    if (entry === undefined) return;
    const { sendLogs, telemetry } = this.#options.parts;
    if (isOfOurLogger(entry) && sendLogs(process.connections)) held.add(entry);
    else telemetry.log(entry);
  }

  #record(group: ProcessGroup, { plan }: Member): void {
    const { entry, parts, output } = this.#options;
    this.#say(`started: ${plan?.command ?? ""}`);
    this.#log.info("a worker's process was started", { ...this.#which, group: group.id, log: output.file });
    const { id, runId } = group;
    if (id === undefined) return;
    const { records } = parts;
    const added = records.add(entry.name, { group: id, runId });
    Promise.all([added, group.ended])
      .then(() => records.remove(id))
      .catch((error: unknown) => this.#log.warn("a worker's process could not be noted in the run folder", { error }));
  }

  /** Writes to the worker's log what its process does. */
  #say(what: string): void {
    this.#options.output.line("svc", `process${this.#label} ${what}`.trim());
  }

  /** A field for the log that says which process, where there are several. */
  get #which(): LogFields {
    return this.#label === "" ? {} : { process: this.#label };
  }
}
