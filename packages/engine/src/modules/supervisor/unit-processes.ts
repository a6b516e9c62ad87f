import type { SupervisedEntry } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LogFields, Logger } from "../../kernel/logger.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { type ProcessGroup, startProcessGroup } from "../../local-workers/process-group.ts";
import { type AddressFacts, addressVariables } from "./address-variables.ts";
import { HeldEntries } from "./held-entries.ts";
import type { LogFile } from "./log-file.ts";
import { causeIn, isOfOurLogger, type OutputLine, outputEntry } from "./output-entry.ts";
import type { RunPlan } from "./recipe.ts";
import type { RunRecords } from "./run-records.ts";
import { type ProcessKind, WorkerProcess } from "./worker-process.ts";

/** Lines of a process that ended unasked that are kept with how it ended. */
const LINES_OF_EXIT = 20;

export interface UnitProcessesParts extends AddressFacts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly records: RunRecords;
  readonly haveRegistered: (connections: ReadonlySet<string>) => boolean;
  /** Takes the lines that its processes write. */
  readonly telemetry: Pick<Telemetry, "log">;
  /** One of the connections sends the lines of its logger by itself. */
  readonly sendLogs: (connections: ReadonlySet<string>) => boolean;
}

export interface UnitProcessesOptions {
  readonly entry: SupervisedEntry;
  readonly kind: ProcessKind | undefined;
  readonly parts: UnitProcessesParts;
  readonly output: LogFile;
  readonly onReady: () => void;
  readonly onChange: () => void;
}

/** The processes of one unit, as many as its entry asks for: how they are started, what they print, how they are noted. */
export class UnitProcesses {
  readonly all: readonly WorkerProcess[];
  readonly #options: UnitProcessesOptions;
  readonly #log: Logger;
  #plan: RunPlan | undefined;

  constructor(options: UnitProcessesOptions) {
    this.#options = options;
    this.#log = options.parts.log;
    this.all = Array.from({ length: options.entry.replicas }, (_, index) => this.#make(index));
  }

  get anyRuns(): boolean {
    return this.all.some((process) => process.groupId !== undefined);
  }

  /** They must be stopped. */
  start(plan: RunPlan): void {
    this.#plan = plan;
    for (const process of this.all) process.start();
  }

  async stop(options: { readonly graceMs: number }): Promise<void> {
    await Promise.all(this.all.map((process) => process.stop(options)));
  }

  kill(): void {
    for (const process of this.all) process.kill();
  }

  #make(index: number): WorkerProcess {
    const { entry, kind, parts, output, onReady, onChange } = this.#options;
    const label = entry.replicas === 1 ? "" : `#${index + 1}`;
    const which = labelled(label);
    const held = new HeldEntries(parts.clock);
    return new WorkerProcess({
      name: entry.name,
      clock: parts.clock,
      random: Math.random,
      spawn: () => this.#spawn(label, (line) => this.#tell(line, index, held)),
      lastError: () => causeIn(output.newest(`err${label}`) ?? ""),
      lastLines: () => output.tailOfProcess(LINES_OF_EXIT, [`out${label}`, `err${label}`]),
      haveRegistered: parts.haveRegistered,
      kind,
      observer: {
        changed: onChange,
        started: (group) => this.#record(group, label),
        ready: () => {
          output.line("svc", `process${label} is ready`);
          this.#log.info("a worker is ready", which);
          onReady();
        },
        finished: () => {
          output.line("svc", `process${label} ended with exit code 0`);
          this.#log.info("a command has ended", which);
        },
        crashed: (end, next) => {
          output.line("svc", `process${label} ${(next.reason ?? "").replace(/^it /, "")}`.trim());
          for (const logEntry of held.take()) parts.telemetry.log(logEntry);
          this.#log.warn("a worker's process ended unasked", { ...which, end, next: next.state, reason: next.reason, log: output.file });
        },
      },
    });
  }

  #spawn(label: string, onLine: (line: OutputLine) => void): ProcessGroup {
    const { entry, parts, output } = this.#options;
    const plan = this.#plan;
    if (plan === undefined) throw new Error(`it is not known yet how ${entry.name} is run`);
    const { clock } = parts;
    let pid: number | undefined;
    const group = startProcessGroup({
      command: plan.command,
      cwd: plan.folder,
      clock,
      env: { ...plan.environment(), ...addressVariables(parts, entry.env), SVC_WORKER_NAME: entry.name, ...entry.env },
      capture: ({ stdout, stderr }) => {
        const tell = (stream: "stdout" | "stderr") => (text: string) => onLine({ text, stream, worker: entry.name, pid, timeMs: clock.now() });
        output.capture(`out${label}`, stdout, tell("stdout"));
        output.capture(`err${label}`, stderr, tell("stderr"));
      },
    });
    pid = group.id;
    return group;
  }

  /** Makes a line of a process a log entry, unless the process sends the entry itself. */
  #tell(line: OutputLine, index: number, held: HeldEntries): void {
    const entry = outputEntry(line);
    if (entry === undefined) return;
    const { sendLogs, telemetry } = this.#options.parts;
    if (isOfOurLogger(entry) && sendLogs(this.all[index]?.connections ?? new Set())) held.add(entry);
    else telemetry.log(entry);
  }

  #record(group: ProcessGroup, label: string): void {
    const { entry, parts, output } = this.#options;
    output.line("svc", `process${label} started: ${this.#plan?.command ?? ""}`);
    this.#log.info("a worker's process was started", { ...labelled(label), group: group.id, log: output.file });
    const { id, runId } = group;
    if (id === undefined) return;
    const { records } = parts;
    const added = records.add(entry.name, { group: id, runId });
    Promise.all([added, group.ended])
      .then(() => records.remove(id))
      .catch((error: unknown) => this.#log.warn("a worker's process could not be noted in the run folder", { error }));
  }
}

/** A field for the log that says which process, where there are several. */
function labelled(label: string): LogFields {
  return label === "" ? {} : { process: label };
}
