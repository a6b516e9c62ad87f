import { mkdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { lockFile } from "../store/file-lock.ts";
import { lockWithoutChangedArchives } from "./changed-archives.ts";
import { hashDependencies } from "./dependency-hash.ts";
import { installEnvironment } from "./environment.ts";
import { deleteInstallRecord, type InstallRecord, readInstallRecord, writeInstallRecord } from "./install-record.ts";
import type { WorkerManifest } from "./manifest.ts";
import { describeEnd } from "./process-group.ts";
import {
  hasVirtualEnv,
  type Probe,
  probe,
  VirtualEnvBackup,
  virtualEnvTool,
  virtualEnvWorks,
} from "./python-environment.ts";
import { runCommand } from "./run-command.ts";
import { kindRules, packageManagerTools, type Tool } from "./runtime-kinds.ts";

export const INSTALL_TIMEOUT_MS = 600_000;

export interface InstallOptions {
  readonly manifest: WorkerManifest;
  /** Folder of the config file. The lock file of an install is in `.svc/workers/<name>` below it. */
  readonly projectDir: string;
  /** Called with each line of output and with progress messages. */
  readonly onProgress?: (line: string) => void;
  /** Aborting it stops the install and its processes. The install then rejects with reason `aborted`. */
  readonly signal?: AbortSignal;
  /** Timeout in milliseconds, including the wait for another install. Default 600,000. */
  readonly timeoutMs?: number;
  /** True: installs even if nothing has changed, and into a new Python environment. Default false. */
  readonly force?: boolean;
}

export interface InstallResult {
  /** `cached`: nothing has changed since the last install. */
  readonly status: "installed" | "cached";
  readonly durationMs: number;
}

export type InstallFailure = "failed" | "timeout" | "aborted" | "runtime_missing";

/** Thrown when dependencies could not be installed. The message contains the last lines of output. */
export class InstallError extends Error {
  readonly reason: InstallFailure;
  readonly lastLines: readonly string[];

  constructor(reason: InstallFailure, message: string, lastLines: readonly string[] = []) {
    super(
      lastLines.length === 0
        ? message
        : `${message}; its last output:\n${lastLines.map((line) => `  ${line}`).join("\n")}`,
    );
    this.name = "InstallError";
    this.reason = reason;
    this.lastLines = lastLines;
  }
}

/** Returns the folder for files about one worker of a project. */
export function workerStateFolder(projectDir: string, name: string): string {
  return join(projectDir, ".svc", "workers", name);
}

/**
 * Installs a worker's dependencies into its own environment (`.venv` or `node_modules` in its folder), unless nothing
 * has changed since the last install. Only one process at a time installs a worker. Another process waits, and then
 * finds the worker installed. Throws InstallError.
 */
export async function installWorker(options: InstallOptions): Promise<InstallResult> {
  const startedAt = performance.now();
  const timeoutMs = options.timeoutMs ?? INSTALL_TIMEOUT_MS;
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  const install = new Install(options.manifest, {
    projectDir: options.projectDir,
    signal,
    onProgress: options.onProgress ?? (() => {}),
  });
  try {
    const status = await install.run(options.force === true ? "always" : "when needed");
    return { status, durationMs: Math.round(performance.now() - startedAt) };
  } catch (error) {
    // After an abort, every error is a consequence of the abort.
    const lastLines = error instanceof InstallError ? error.lastLines : [];
    if (options.signal?.aborted === true)
      throw new InstallError("aborted", `the install of ${options.manifest.name} was cancelled`);
    if (deadline.aborted)
      throw new InstallError(
        "timeout",
        `the install of ${options.manifest.name} timed out after ${Math.round(timeoutMs / 1000)} s`,
        lastLines,
      );
    throw error;
  }
}

/** Returns true if `installWorker` would do nothing. */
export async function isInstalled(
  options: Pick<InstallOptions, "manifest" | "projectDir" | "signal">,
): Promise<boolean> {
  const signal = options.signal ?? AbortSignal.timeout(INSTALL_TIMEOUT_MS);
  return new Install(options.manifest, { projectDir: options.projectDir, signal, onProgress: () => {} }).upToDate();
}

interface InstallContext {
  readonly projectDir: string;
  readonly signal: AbortSignal;
  readonly onProgress: (line: string) => void;
}

class Install {
  readonly #manifest: WorkerManifest;
  readonly #context: InstallContext;
  readonly #env: Readonly<Record<string, string>>;
  readonly #stateFolder: string;
  readonly #virtualEnvBackup: VirtualEnvBackup;

  constructor(manifest: WorkerManifest, context: InstallContext) {
    this.#manifest = manifest;
    this.#context = context;
    this.#env = installEnvironment(manifest);
    this.#stateFolder = workerStateFolder(context.projectDir, manifest.name);
    this.#virtualEnvBackup = new VirtualEnvBackup(manifest.folder);
  }

  async upToDate(): Promise<boolean> {
    const record = await readInstallRecord(this.#place);
    if (record === undefined || !(await this.#hasEnvironment(record))) return false;
    const runtime = await this.#runtime();
    return runtime === record.runtime && (await this.#hashes(runtime)).all === record.hash;
  }

  async run(when: "always" | "when needed"): Promise<InstallResult["status"]> {
    await mkdir(this.#stateFolder, { recursive: true });
    const lock = await lockFile(join(this.#stateFolder, "installing.lock"), {
      signal: this.#context.signal,
      onWait: () => this.#context.onProgress(`waiting for another install of ${this.#manifest.name}`),
    });
    try {
      if (when === "when needed" && (await this.upToDate())) return "cached";
      await this.#install(when);
      return "installed";
    } finally {
      lock.release();
    }
  }

  async #install(when: "always" | "when needed"): Promise<void> {
    const runtime = await this.#runtime();
    const former = await readInstallRecord(this.#place);
    const before = await this.#hashes(runtime);
    // Delete the record first, so that an interrupted install does not count as done.
    await deleteInstallRecord(this.#place);
    // If an archive has other content but the same version, pip keeps the installed package. So a new environment is
    // needed.
    const changed = former !== undefined && (former.runtime !== runtime || (former.archives ?? "") !== before.archives);
    await this.#build({ fresh: when === "always" || changed });
    const after = await this.#hashes(runtime);
    // The hash of the record includes a lock file that the install wrote. If any other file changed during the install,
    // the hash from before is stored, because that change may not be installed.
    const { all, archives } = after.withoutLocks === before.withoutLocks ? after : before;
    await this.#writeRecord({ hash: all, runtime, archives });
  }

  async #build(options: { readonly fresh: boolean }): Promise<void> {
    // A killed install never restored the previous virtual environment; restore it now.
    await this.#virtualEnvBackup.restore();
    try {
      if (this.#manifest.kind === "python") await this.#prepareVirtualEnv(options);
      if (this.#uses("npm")) await this.#refreshLock();
      if (this.#manifest.install !== undefined) await this.#runStep(this.#manifest.install);
    } catch (error) {
      // Restore the previous environment, because the worker's processes may still use it.
      await this.#virtualEnvBackup.restore();
      throw error;
    }
    await this.#virtualEnvBackup.discard();
  }

  async #prepareVirtualEnv(options: { readonly fresh: boolean }): Promise<void> {
    // uv creates the environment itself, with the Python that the project requires.
    if (!this.#uses("uv")) return this.#createVirtualEnv(options);
    if (options.fresh) await this.#virtualEnvBackup.backUp();
  }

  async #createVirtualEnv(options: { readonly fresh: boolean }): Promise<void> {
    const { folder } = this.#manifest;
    if (!options.fresh && (await hasVirtualEnv(folder)) && (await virtualEnvWorks(this.#probe))) return;
    const tool = await virtualEnvTool(this.#probeOutside);
    if (tool.missing !== undefined) throw new InstallError("runtime_missing", tool.missing);
    await this.#virtualEnvBackup.backUp();
    await this.#runStep(`${tool.command} .venv`);
  }

  async #refreshLock(): Promise<void> {
    const lock = await lockWithoutChangedArchives(this.#manifest.folder);
    if (lock === undefined) return;
    this.#context.onProgress(`changed since package-lock.json was written: ${lock.archives.join(", ")}`);
    await lock.write();
    try {
      await this.#runStep("npm install --package-lock-only --ignore-scripts --no-audit --no-fund");
    } catch (error) {
      await lock.restore();
      throw error;
    }
  }

  async #runStep(command: string): Promise<void> {
    this.#context.onProgress(`$ ${command}`);
    const { end, lastLines } = await runCommand({
      command,
      cwd: this.#manifest.folder,
      env: this.#env,
      signal: this.#context.signal,
      onLine: this.#context.onProgress,
    });
    if (end.code === 0) return;
    throw new InstallError(
      "failed",
      `the install of ${this.#manifest.name} failed: \`${command}\` ${describeEnd(end)}${this.#damageNote}`,
      lastLines,
    );
  }

  /**
   * Returns a text about the damage that a failed install may have caused. A virtual environment has none, because the
   * previous one is restored.
   */
  get #damageNote(): string {
    return kindRules[this.#manifest.kind].environment === "node_modules" ? "; node_modules may be incomplete" : "";
  }

  /** Returns the versions of the tools that install and run the worker. Throws InstallError if a tool is missing. */
  async #runtime(): Promise<string> {
    const { kind, packageManager } = this.#manifest;
    const { runtime } = kindRules[kind];
    const manager = packageManager === undefined ? undefined : packageManagerTools[packageManager];
    // npm is not checked if the runtime is Node, because it is part of Node and slow to print its version.
    const isChecked =
      manager !== undefined &&
      !(manager.program === "npm" && runtime?.program === "node") &&
      this.#uses(manager.program);
    const tools = [...(runtime === undefined ? [] : [runtime]), ...(isChecked ? [manager] : [])];
    const versions: string[] = [];
    for (const tool of tools) versions.push(await this.#versionOf(tool));
    return versions.length === 0 ? kind : versions.join(", ");
  }

  async #versionOf({ program, version, install }: Tool): Promise<string> {
    const found = await probe(program, version, program === "python3" ? this.#probeOutside : this.#probe);
    if (found === undefined)
      throw new InstallError("runtime_missing", `\`${program}\` was not found or does not run; ${install}`);
    return program === "python3" ? found : `${program} ${found.split("\n")[0] ?? ""}`;
  }

  /** Returns true if one of the worker's commands starts with this program. */
  #uses(program: string): boolean {
    return [this.#manifest.install, this.#manifest.start].some(
      (command) => command?.trimStart().split(/\s/)[0] === program,
    );
  }

  /** Options for running the Python outside of the worker's environment. That Python creates the environment. */
  get #probeOutside(): Probe {
    const path = (this.#env.PATH ?? "").split(":").filter((folder) => !folder.startsWith(this.#manifest.folder));
    return { env: { ...this.#env, PATH: path.join(":") }, cwd: this.#manifest.folder, signal: this.#context.signal };
  }

  get #probe(): Probe {
    return { env: this.#env, cwd: this.#manifest.folder, signal: this.#context.signal };
  }

  get #place(): { readonly folder: string; readonly stateFolder: string } {
    return { folder: this.#manifest.folder, stateFolder: this.#stateFolder };
  }

  #hashes(runtime: string): ReturnType<typeof hashDependencies> {
    return hashDependencies({
      folder: this.#manifest.folder,
      manifestFile: this.#manifest.file,
      runtime,
      withSources: kindRules[this.#manifest.kind].isCompiled,
    });
  }

  async #writeRecord(facts: Pick<InstallRecord, "hash" | "runtime" | "archives">): Promise<void> {
    const environment = await this.#environment();
    await writeInstallRecord(this.#place, { ...facts, environment, installed_at: new Date().toISOString() });
  }

  /**
   * Returns the environment that the install created, or NOTHING if there is none: a package without dependencies has
   * no `node_modules`, and a command of the user may create anything.
   */
  async #environment(): Promise<InstallRecord["environment"]> {
    const { kind, folder } = this.#manifest;
    const { environment } = kindRules[kind];
    return environment !== undefined && (await exists(join(folder, environment))) ? environment : NOTHING;
  }

  async #hasEnvironment({ environment }: InstallRecord): Promise<boolean> {
    if (environment === NOTHING) return true;
    // The folder is not enough, because the Python that it refers to may be missing.
    return environment === ".venv"
      ? hasVirtualEnv(this.#manifest.folder)
      : exists(join(this.#manifest.folder, environment));
  }
}

/** Stands for a missing environment. */
const NOTHING = "none";

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
