import { stat } from "node:fs/promises";
import { join, sep } from "node:path";
import type { LocalWorkerEntry } from "../../config/types.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { LogFields, Logger } from "../../kernel/logger.ts";
import type { Telemetry } from "../../kernel/telemetry-contract.ts";
import { concernsInstall } from "../../local-workers/dependency-files.ts";
import { EnvFileError, readEnvFiles } from "../../local-workers/env-file.ts";
import { workerEnvironment } from "../../local-workers/environment.ts";
import { InstallError, installWorker, isInstalled } from "../../local-workers/install.ts";
import { MANIFEST_FILE, REFERENCE_MANIFEST_FILE, readManifest, type WorkerManifest } from "../../local-workers/manifest.ts";
import { ManifestError } from "../../local-workers/manifest-error.ts";
import { type ProcessGroup, startProcessGroup } from "../../local-workers/process-group.ts";
import { type AddressFacts, addressVariables } from "./address-variables.ts";
import type { Candidate } from "./connections.ts";
import { EnvFileWatch } from "./env-file-watch.ts";
import { HeldEntries } from "./held-entries.ts";
import { LogFile } from "./log-file.ts";
import { isOfOurLogger, type OutputLine, outputEntry } from "./output-entry.ts";
import type { RunRecords } from "./run-records.ts";
import { SourceWatch } from "./source-watch.ts";
import { READY_TIMEOUT_MS, WorkerProcess } from "./worker-process.ts";
import { type Standing, worstOf } from "./worker-state.ts";

/** Between SIGTERM and SIGKILL. */
export const STOP_GRACE_MS = 10_000;
/** A folder that is missing cannot be watched, so it is looked for. */
const MISSING_FOLDER_LOOK_MS = 5_000;

export interface LocalWorkerParts extends AddressFacts {
  readonly projectDir: string;
  readonly logsDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly records: RunRecords;
  /** Resolves when nothing of a former engine runs any more. */
  readonly cleared: Promise<void>;
  readonly haveRegistered: (connections: ReadonlySet<string>) => boolean;
  /** Takes the lines that its processes write. */
  readonly telemetry: Pick<Telemetry, "log">;
  /** One of the connections sends the lines of its logger by itself. */
  readonly sendLogs: (connections: ReadonlySet<string>) => boolean;
  /** All that it had to register is registered. */
  readonly onReady: () => void;
  /** Its standing, or that of one of its processes, may be another. */
  readonly onChange: () => void;
}

type Phase = { readonly name: "waiting" | "installing" | "running" | "stopping" | "stopped" } | { readonly name: "failed"; readonly reason: string };

/** One `workers:` entry with a path: its manifest, dependencies, processes, log and file watching. */
export class LocalWorker {
  readonly entry: LocalWorkerEntry;
  readonly output: LogFile;
  readonly #parts: LocalWorkerParts;
  readonly #log: Logger;
  readonly #addedAtMs: number;
  readonly #processes: readonly WorkerProcess[];
  #phase: Phase = { name: "waiting" };
  /** What is wrong although the former processes run on. */
  #complaint: string | undefined;
  #manifest: WorkerManifest | undefined;
  /** Of the manifest that was read last, which may not run yet. */
  #kind: WorkerManifest["kind"] | undefined;
  #watch: { readonly ignore: readonly string[]; readonly source: SourceWatch } | undefined;
  #envFileWatch: EnvFileWatch | undefined;
  #envFromFiles: Readonly<Record<string, string>> = {};
  #readyAtMs: number | undefined;
  #wasReady = false;
  #work: Promise<void> = Promise.resolve();
  #round = new AbortController();
  #cancelLook = (): void => {};
  #ended = false;

  constructor(entry: LocalWorkerEntry, parts: LocalWorkerParts) {
    this.entry = entry;
    this.#parts = parts;
    this.#log = parts.log.with({ worker: entry.name });
    this.#addedAtMs = parts.clock.monotonic();
    this.output = new LogFile({
      file: join(parts.logsDir, `${entry.name}.log`),
      clock: parts.clock,
      onProblem: (error) => this.#log.warn("a worker's output cannot be written to its log file", { error }),
    });
    this.#processes = Array.from({ length: entry.replicas }, (_, index) => this.#makeProcess(index));
  }

  get standing(): Standing {
    const phase = this.#phase;
    if (phase.name === "running") {
      const { state, reason } = worstOf(this.#processes.map((process) => process.standing));
      return { state, reason: reason ?? this.#complaint };
    }
    if (phase.name === "failed") return { state: "failed", reason: phase.reason };
    return { state: phase.name === "waiting" ? "starting" : phase.name, reason: undefined };
  }

  get candidates(): readonly Candidate[] {
    return this.#processes.map((process) => ({ name: this.entry.name, process }));
  }

  get restarts(): number {
    return this.#processes.reduce((sum, process) => sum + process.restarts, 0);
  }

  /** Ids of the connections of those of its processes that have registered all they have. */
  get readyConnections(): ReadonlySet<string> {
    return new Set(this.#processes.flatMap((process) => (process.standing.state === "ready" ? [...process.connections] : [])));
  }

  /** Wall clock, milliseconds; while it is ready, when it became so. */
  get readyAtMs(): number | undefined {
    return this.standing.state === "ready" ? this.#readyAtMs : undefined;
  }

  /** True while its first readiness is still awaited. */
  get isAwaited(): boolean {
    return !this.#wasReady && this.#parts.clock.monotonic() - this.#addedAtMs < READY_TIMEOUT_MS;
  }

  async pids(): Promise<readonly number[]> {
    return (await Promise.all(this.#processes.map((process) => process.pids()))).flat();
  }

  start(): void {
    this.#begin();
  }

  /** Reads the manifest again, installs what changed, and starts all its processes anew. */
  restart(): void {
    if (this.#ended) return;
    this.output.line("svc", "restart was asked for");
    // At once, so that who waits for it from now on does not see how it was before.
    this.#enter({ name: this.#phase.name === "running" ? "stopping" : "waiting" });
    this.#begin({ first: () => this.#stopProcesses({ graceMs: STOP_GRACE_MS }) });
  }

  /** Ends its processes and lets go of files. Resolves when none is left. */
  async stop(options: { readonly graceMs: number }): Promise<void> {
    this.#ended = true;
    this.#cancelLook();
    this.#round.abort();
    this.#enter({ name: "stopping" });
    // Processes are told at once; what the round that was called off still does comes first to its end.
    await Promise.all([this.#stopProcesses(options), this.#work]);
    await this.#stopProcesses(options);
    await this.#watch?.source.close();
    await this.#envFileWatch?.close();
    this.#enter({ name: "stopped" });
    this.output.line("svc", "stopped");
    this.#log.info("a worker was stopped", { log: this.output.file });
    await this.output.close();
  }

  kill(): void {
    for (const process of this.#processes) process.kill();
  }

  /** Calls off what is being done and starts over: manifest, dependencies, processes. */
  #begin(options: { readonly first?: () => Promise<void> } = {}): void {
    this.#round.abort();
    const round = new AbortController();
    this.#round = round;
    this.#cancelLook();
    this.#work = this.#work
      .then(async () => {
        await this.#parts.cleared;
        if (!round.signal.aborted) await options.first?.();
        if (!round.signal.aborted) await this.#bringUp(round.signal);
      })
      .catch((error: unknown) => {
        this.#log.error("a worker could not be started", { error });
        this.#fail(error instanceof Error ? error.message : String(error));
      });
  }

  async #bringUp(signal: AbortSignal): Promise<void> {
    // Everything is read after this, so that only later changes count.
    await this.#watch?.source.rebase();
    let manifest = await this.#readManifest();
    if (signal.aborted || manifest === undefined) return;
    // A watch that begins now knows nothing of edits since the manifest was read.
    if (await this.#watchFiles(manifest)) manifest = await this.#readManifest();
    if (signal.aborted || manifest === undefined || !(await this.#install(manifest, signal)) || signal.aborted) return;
    const fromFiles = await this.#readEnvFiles();
    if (signal.aborted || fromFiles === undefined) return;
    await this.#stopProcesses({ graceMs: STOP_GRACE_MS });
    if (signal.aborted) return;
    this.#envFromFiles = fromFiles;
    this.#manifest = manifest;
    this.#complaint = undefined;
    this.#enter({ name: "running" });
    for (const process of this.#processes) process.start();
  }

  async #readManifest(): Promise<WorkerManifest | undefined> {
    try {
      const manifest = await readManifest(this.entry.path);
      for (const warning of manifest.warnings) this.#log.warn("a worker's manifest has keys without effect", { warning });
      this.#kind = manifest.kind;
      // The entry's name counts: files about this worker are kept under it.
      return { ...manifest, name: this.entry.name };
    } catch (error) {
      if (!(error instanceof ManifestError)) throw error;
      await this.#watchFiles(this.#manifest);
      this.#fail(error.message);
      return undefined;
    }
  }

  /** The variables of the entry's files; undefined when they cannot be used, which is then said. */
  async #readEnvFiles(): Promise<Readonly<Record<string, string>> | undefined> {
    try {
      return await readEnvFiles(this.entry.envFiles);
    } catch (error) {
      if (!(error instanceof EnvFileError)) throw error;
      this.#fail(error.message);
      return undefined;
    }
  }

  /** True when the dependencies are there. */
  async #install(manifest: WorkerManifest, signal: AbortSignal): Promise<boolean> {
    const { projectDir } = this.#parts;
    try {
      if (await isInstalled({ manifest, projectDir, signal })) return true;
      this.#enter({ name: "installing" });
      this.#log.info("a worker's dependencies are being installed", { log: this.output.file });
      const { durationMs } = await installWorker({ manifest, projectDir, signal, onProgress: (line) => this.output.line("install", line) });
      this.#log.info("a worker's dependencies are installed", { durationMs });
      // Lock files that the install wrote are noticed here, while they are known to be no reason for another start.
      await this.#watch?.source.compare();
      return true;
    } catch (error) {
      if (signal.aborted) return false;
      if (!(error instanceof InstallError)) throw error;
      this.#fail(error.message);
      return false;
    }
  }

  /** The former processes run on when there are any: an edit that went wrong takes nothing down. */
  #fail(reason: string): void {
    if (this.#ended) return;
    const runsOn = this.#processes.some((process) => process.standing.state !== "stopped");
    this.output.line("svc", reason);
    this.#log.warn(runsOn ? "a worker's change cannot be used; its former processes run on" : "a worker cannot be started", { reason, log: this.output.file });
    if (runsOn) this.#complaint = `${reason}\nThe processes from before this change run on.`;
    this.#enter(runsOn ? { name: "running" } : { name: "failed", reason });
  }

  async #stopProcesses(options: { readonly graceMs: number }): Promise<void> {
    await Promise.all(this.#processes.map((process) => process.stop(options)));
  }

  /** Watches the files as the manifest says. True when that is a new watch. */
  async #watchFiles(manifest: WorkerManifest | undefined): Promise<boolean> {
    if (!this.entry.watch || this.#ended) return false;
    if (manifest?.watch === false) {
      await Promise.all([this.#watch?.source.close(), this.#envFileWatch?.close()]);
      this.#watch = undefined;
      this.#envFileWatch = undefined;
      return false;
    }
    await this.#watchEnvFiles();
    const ignore = manifest?.watch.ignore ?? this.#watch?.ignore ?? [];
    if (this.#watch !== undefined && this.#watch.ignore.join("\0") === ignore.join("\0")) return false;
    if (!(await isFolder(this.entry.path))) return false;
    await this.#watch?.source.close();
    const source = new SourceWatch({
      folder: this.entry.path,
      ignore,
      clock: this.#parts.clock,
      onChange: (paths) => this.#filesChanged(paths),
      onProblem: (message) => this.#log.warn("a worker's files cannot all be watched", { problem: message }),
    });
    this.#watch = { ignore, source };
    await source.rebase();
    return true;
  }

  /** Those outside of the folder. */
  async #watchEnvFiles(): Promise<void> {
    const files = this.entry.envFiles.map(({ path }) => path).filter((path) => !path.startsWith(`${this.entry.path}${sep}`));
    if (files.length === 0) return;
    this.#envFileWatch ??= new EnvFileWatch({
      files,
      clock: this.#parts.clock,
      onChange: (names) => this.#filesChanged(names),
      onProblem: (problem) => this.#log.warn("a worker's env files cannot all be watched", { problem }),
    });
    await this.#envFileWatch.ready;
  }

  #filesChanged(paths: readonly string[]): void {
    if (this.#ended) return;
    // An install writes lock files. Sources are read only when the processes start, so they do not matter before that.
    const forInstall = paths.some((path) => concernsInstall(this.#kind, path) || path === MANIFEST_FILE || path === REFERENCE_MANIFEST_FILE);
    if (this.#phase.name === "installing" && !forInstall) return;
    const shown = paths.length > 5 ? `${paths.slice(0, 5).join(", ")} and ${paths.length - 5} more` : paths.join(", ");
    this.output.line("svc", `changed: ${shown}`);
    this.#log.info("a worker is started again because its files changed", { files: shown });
    if (this.#phase.name === "failed") this.#enter({ name: "waiting" });
    this.#begin();
  }

  #makeProcess(index: number): WorkerProcess {
    const label = this.entry.replicas === 1 ? "" : `#${index + 1}`;
    const which = labelled(label);
    const held = new HeldEntries(this.#parts.clock);
    return new WorkerProcess({
      name: this.entry.name,
      clock: this.#parts.clock,
      random: Math.random,
      spawn: () => this.#spawn(label, (line) => this.#tell(line, index, held)),
      lastError: () => this.output.newest(`err${label}`),
      haveRegistered: this.#parts.haveRegistered,
      observer: {
        changed: () => this.#changed(),
        started: (group) => this.#record(group, label),
        ready: () => this.#ready(label),
        crashed: (end, next) => {
          this.output.line("svc", `process${label} ${next.reason ?? ""}`.trim());
          for (const entry of held.take()) this.#parts.telemetry.log(entry);
          this.#log.warn("a worker's process ended unasked", { ...which, end, next: next.state, reason: next.reason, log: this.output.file });
        },
      },
    });
  }

  #spawn(label: string, onLine: (line: OutputLine) => void): ProcessGroup {
    const manifest = this.#manifest;
    if (manifest === undefined) throw new Error(`${this.entry.name} has no manifest yet`);
    const { clock } = this.#parts;
    let pid: number | undefined;
    const group = startProcessGroup({
      command: manifest.start,
      cwd: manifest.folder,
      clock,
      env: {
        ...workerEnvironment(manifest, this.#envFromFiles),
        ...addressVariables(this.#parts, this.entry.env),
        SVC_WORKER_NAME: this.entry.name,
        ...this.entry.env,
      },
      capture: ({ stdout, stderr }) => {
        const tell = (stream: "stdout" | "stderr") => (text: string) => onLine({ text, stream, worker: this.entry.name, pid, timeMs: clock.now() });
        this.output.capture(`out${label}`, stdout, tell("stdout"));
        this.output.capture(`err${label}`, stderr, tell("stderr"));
      },
    });
    pid = group.id;
    return group;
  }

  /** Makes a line of a process a log entry, unless the process sends the entry itself. */
  #tell(line: OutputLine, index: number, held: HeldEntries): void {
    const entry = outputEntry(line);
    if (entry === undefined) return;
    const { sendLogs, telemetry } = this.#parts;
    if (isOfOurLogger(entry) && sendLogs(this.#processes[index]?.connections ?? new Set())) held.add(entry);
    else telemetry.log(entry);
  }

  #record(group: ProcessGroup, label: string): void {
    this.output.line("svc", `process${label} started: ${this.#manifest?.start ?? ""}`);
    this.#log.info("a worker's process was started", { ...labelled(label), group: group.id, log: this.output.file });
    const { id } = group;
    if (id === undefined) return;
    const { records } = this.#parts;
    const added = records.add(this.entry.name, id);
    Promise.all([added, group.ended])
      .then(() => records.remove(id))
      .catch((error: unknown) => this.#log.warn("a worker's process could not be noted in the run folder", { error }));
  }

  #ready(label: string): void {
    this.#wasReady = true;
    this.#readyAtMs = this.#parts.clock.now();
    this.output.line("svc", `process${label} is ready`);
    this.#log.info("a worker is ready", labelled(label));
    this.#parts.onReady();
  }

  #enter(phase: Phase): void {
    if (this.#ended && phase.name !== "stopping" && phase.name !== "stopped") return;
    this.#phase = phase;
    if (phase.name === "failed" && this.entry.watch) this.#lookForFolder();
    this.#changed();
  }

  /** A folder that is not there cannot be watched. */
  #lookForFolder(): void {
    if (this.#watch !== undefined) return;
    this.#cancelLook();
    this.#cancelLook = this.#parts.clock.after(MISSING_FOLDER_LOOK_MS, () => {
      // `isFolder` does not reject.
      void isFolder(this.entry.path).then((there) => {
        if (this.#ended || this.#phase.name !== "failed") return;
        if (there) this.#begin();
        else this.#lookForFolder();
      });
    });
  }

  #changed(): void {
    this.#parts.onChange();
  }
}

/** A field for the log that says which process, where there are several. */
function labelled(label: string): LogFields {
  return label === "" ? {} : { process: label };
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
}
