import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { z } from "zod";
import { replaceFile } from "../files/replace-file.ts";
import { lockFile } from "../store/file-lock.ts";
import { hashDependencies } from "./dependency-hash.ts";
import { installEnvironment } from "./environment.ts";
import type { WorkerManifest } from "./manifest.ts";
import { describeEnd } from "./process-group.ts";
import { FormerVirtualEnv, hasVirtualEnv, type Probe, probe, virtualEnvTool, virtualEnvWorks } from "./python-environment.ts";
import { runCommand } from "./run-command.ts";
import { kindRules, packageManagerTools, type Tool } from "./runtime-kinds.ts";

export const INSTALL_TIMEOUT_MS = 600_000;

export interface InstallOptions {
  readonly manifest: WorkerManifest;
  /** Folder of the config file; what is known about installs lies in its `.svc/workers/<name>`. */
  readonly projectDir: string;
  /** Told each line of output as it comes, and what is being done in between. */
  readonly onProgress?: (line: string) => void;
  /** Aborting ends the install and its processes; it then rejects with reason `aborted`. */
  readonly signal?: AbortSignal;
  /** Deadline in milliseconds, waiting for another install included. Default 600,000. */
  readonly timeoutMs?: number;
  /** Install even when nothing changed, into a fresh Python environment. Default false. */
  readonly force?: boolean;
}

export interface InstallResult {
  /** `cached`: nothing had changed since the last install. */
  readonly status: "installed" | "cached";
  readonly durationMs: number;
}

export type InstallFailure = "failed" | "timeout" | "aborted" | "runtime_missing";

/** The dependencies could not be installed. The message holds the last lines of the output. */
export class InstallError extends Error {
  readonly reason: InstallFailure;
  readonly lastLines: readonly string[];

  constructor(reason: InstallFailure, message: string, lastLines: readonly string[] = []) {
    super(lastLines.length === 0 ? message : `${message}; its last output:\n${lastLines.map((line) => `  ${line}`).join("\n")}`);
    this.name = "InstallError";
    this.reason = reason;
    this.lastLines = lastLines;
  }
}

/** Where files about one worker of a project lie. */
export function workerStateFolder(projectDir: string, name: string): string {
  return join(projectDir, ".svc", "workers", name);
}

/**
 * Installs a worker's dependencies into its own environment (`.venv` or `node_modules` in its folder), unless nothing changed since
 * that was done. One install of a worker runs at a time, over all processes; a second one waits and then finds it done.
 * Throws InstallError.
 */
export async function installWorker(options: InstallOptions): Promise<InstallResult> {
  const startedAt = performance.now();
  const timeoutMs = options.timeoutMs ?? INSTALL_TIMEOUT_MS;
  const deadline = AbortSignal.timeout(timeoutMs);
  const signal = options.signal === undefined ? deadline : AbortSignal.any([options.signal, deadline]);
  const install = new Install(options.manifest, { projectDir: options.projectDir, signal, onProgress: options.onProgress ?? (() => {}) });
  try {
    const status = await install.run(options.force === true ? "always" : "when needed");
    return { status, durationMs: Math.round(performance.now() - startedAt) };
  } catch (error) {
    // Whatever went wrong after the abort went wrong because of it.
    const lastLines = error instanceof InstallError ? error.lastLines : [];
    if (options.signal?.aborted === true) throw new InstallError("aborted", `the install of ${options.manifest.name} was called off`);
    if (deadline.aborted)
      throw new InstallError("timeout", `the install of ${options.manifest.name} did not end within ${Math.round(timeoutMs / 1000)} s`, lastLines);
    throw error;
  }
}

/** True when `installWorker` would have nothing to do. */
export async function isInstalled(options: Pick<InstallOptions, "manifest" | "projectDir" | "signal">): Promise<boolean> {
  const signal = options.signal ?? AbortSignal.timeout(INSTALL_TIMEOUT_MS);
  return new Install(options.manifest, { projectDir: options.projectDir, signal, onProgress: () => {} }).upToDate();
}

const markerSchema = z.object({ hash: z.string(), runtime: z.string(), environment: z.string(), installed_at: z.string() });
type Marker = z.infer<typeof markerSchema>;

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
  readonly #formerVirtualEnv: FormerVirtualEnv;

  constructor(manifest: WorkerManifest, context: InstallContext) {
    this.#manifest = manifest;
    this.#context = context;
    this.#env = installEnvironment(manifest);
    this.#stateFolder = workerStateFolder(context.projectDir, manifest.name);
    this.#formerVirtualEnv = new FormerVirtualEnv(manifest.folder);
  }

  async upToDate(): Promise<boolean> {
    const marker = await this.#readMarker();
    if (marker === undefined || !(await this.#environmentIsThere(marker))) return false;
    const runtime = await this.#runtime();
    return runtime === marker.runtime && (await this.#hashes(runtime)).all === marker.hash;
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
    const former = await this.#readMarker();
    const before = await this.#hashes(runtime);
    // An install that is broken off must not look done.
    await rm(this.#markerFile, { force: true });
    await this.#build({ fresh: when === "always" || (former !== undefined && former.runtime !== runtime) });
    const after = await this.#hashes(runtime);
    // A lock file that the install wrote belongs to what is installed; anything else that changed meanwhile was not seen by it.
    await this.#writeMarker({ hash: after.withoutLocks === before.withoutLocks ? after.all : before.all, runtime });
  }

  async #build(options: { readonly fresh: boolean }): Promise<void> {
    // An install that was killed has not done so.
    await this.#formerVirtualEnv.putBack();
    try {
      if (this.#manifest.kind === "python") await this.#prepareVirtualEnv(options);
      if (this.#manifest.install !== undefined) await this.#runStep(this.#manifest.install);
    } catch (error) {
      // The worker's processes may run in it.
      await this.#formerVirtualEnv.putBack();
      throw error;
    }
    await this.#formerVirtualEnv.discard();
  }

  async #prepareVirtualEnv(options: { readonly fresh: boolean }): Promise<void> {
    // uv makes its own, with the Python that the project asks for.
    if (!this.#uses("uv")) return this.#makeVirtualEnv(options);
    if (options.fresh) await this.#formerVirtualEnv.setAside();
  }

  async #makeVirtualEnv(options: { readonly fresh: boolean }): Promise<void> {
    const { folder } = this.#manifest;
    if (!options.fresh && (await hasVirtualEnv(folder)) && (await virtualEnvWorks(this.#probe))) return;
    const tool = await virtualEnvTool(this.#probeOutside);
    if (tool.missing !== undefined) throw new InstallError("runtime_missing", tool.missing);
    await this.#formerVirtualEnv.setAside();
    await this.#runStep(`${tool.command} .venv`);
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
    throw new InstallError("failed", `the install of ${this.#manifest.name} failed: \`${command}\` ${describeEnd(end)}${this.#leftBehind}`, lastLines);
  }

  /** What a failed install may have done to what the worker runs with. A virtual environment is made anew only aside from the former one. */
  get #leftBehind(): string {
    return kindRules[this.#manifest.kind].environment === "node_modules" ? "; what is in node_modules may be incomplete" : "";
  }

  /** Versions of what installs and runs the worker. Throws when one of these is not there. */
  async #runtime(): Promise<string> {
    const { kind, packageManager } = this.#manifest;
    const { runtime } = kindRules[kind];
    const manager = packageManager === undefined ? undefined : packageManagerTools[packageManager];
    // npm comes with Node, and takes long to say its version.
    const isChecked = manager !== undefined && !(manager.program === "npm" && runtime?.program === "node") && this.#uses(manager.program);
    const tools = [...(runtime === undefined ? [] : [runtime]), ...(isChecked ? [manager] : [])];
    const versions: string[] = [];
    for (const tool of tools) versions.push(await this.#versionOf(tool));
    return versions.length === 0 ? kind : versions.join(", ");
  }

  async #versionOf({ program, version, install }: Tool): Promise<string> {
    const found = await probe(program, version, program === "python3" ? this.#probeOutside : this.#probe);
    if (found === undefined) throw new InstallError("runtime_missing", `\`${program}\` was not found or does not run; ${install}`);
    return program === "python3" ? found : `${program} ${found.split("\n")[0] ?? ""}`;
  }

  /** True when one of the worker's commands begins with this program. */
  #uses(program: string): boolean {
    return [this.#manifest.install, this.#manifest.start].some((command) => command?.trimStart().split(/\s/)[0] === program);
  }

  /** The Python that makes the environment is the one outside of it. */
  get #probeOutside(): Probe {
    const path = (this.#env.PATH ?? "").split(":").filter((folder) => !folder.startsWith(this.#manifest.folder));
    return { env: { ...this.#env, PATH: path.join(":") }, cwd: this.#manifest.folder, signal: this.#context.signal };
  }

  get #probe(): Probe {
    return { env: this.#env, cwd: this.#manifest.folder, signal: this.#context.signal };
  }

  #hashes(runtime: string): ReturnType<typeof hashDependencies> {
    return hashDependencies({
      folder: this.#manifest.folder,
      manifestFile: this.#manifest.file,
      runtime,
      withSources: kindRules[this.#manifest.kind].isCompiled,
    });
  }

  get #markerFile(): string {
    return join(this.#stateFolder, "installed.json");
  }

  async #readMarker(): Promise<Marker | undefined> {
    try {
      return markerSchema.parse(JSON.parse(await readFile(this.#markerFile, "utf8")));
    } catch {
      // Missing, or not ours: both mean that nothing is known to be installed.
      return undefined;
    }
  }

  async #writeMarker(facts: { readonly hash: string; readonly runtime: string }): Promise<void> {
    const environment = await this.#environment();
    const marker: Marker = { ...facts, environment, installed_at: new Date().toISOString() };
    await replaceFile(this.#markerFile, `${JSON.stringify(marker, null, 2)}\n`);
  }

  /** What the install left in the folder: a package without dependencies gets no `node_modules`, and a command of the user's own makes what it likes. */
  async #environment(): Promise<Marker["environment"]> {
    const { kind, folder } = this.#manifest;
    const { environment } = kindRules[kind];
    return environment !== undefined && (await exists(join(folder, environment))) ? environment : NOTHING;
  }

  async #environmentIsThere({ environment }: Marker): Promise<boolean> {
    if (environment === NOTHING) return true;
    // Its Python may be gone although the folder is there.
    return environment === ".venv" ? hasVirtualEnv(this.#manifest.folder) : exists(join(this.#manifest.folder, environment));
  }
}

/** In place of an environment's path. */
const NOTHING = "none";

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
