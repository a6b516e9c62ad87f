import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, vi } from "vitest";
import type { CommandEntry, Limits, LocalWorkerEntry, WatchPatterns } from "../../../config/types.ts";
import type { Module } from "../../../kernel/module.ts";
import { findProcess, listProcesses, membersOf } from "../../../local-workers/process-table.ts";
import { type InMemoryEngine, type InMemoryWorker, inMemoryEngine } from "../../../testing/index.ts";
import {
  createSupervisor,
  type ModuleStatus,
  type SupervisorConfig,
  type SupervisorDeps,
  type WorkerStatus,
} from "../index.ts";

export const TIMEOUT = { timeout: 25_000, interval: 20 };

const EVERYTHING: WatchPatterns = { include: [], ignore: [] };
const NO_LIMITS: Limits = { memoryBytes: undefined, cpu: undefined };

export const DEFAULT_SCRIPT = "echo up $$ $SVC_URL $III_URL $SVC_WORKER_NAME $EXTRA\nexec sleep 300\n";

interface StartOptions
  extends Pick<SupervisorDeps, "token" | "tokenInUrl" | "principalOfToken">,
    Pick<SupervisorConfig, "commands"> {
  /** Further modules. */
  readonly others?: readonly Module[];
}

/** A folder with workers, and an engine that runs them. Each test has its own, and must leave no process behind. */
export class SupervisedProject {
  engine!: InMemoryEngine;
  /** Absolute path. */
  folder = "";
  modules: ModuleStatus[] = [];
  readonly #groupsSeen = new Set<number>();

  constructor() {
    beforeEach(async () => {
      this.folder = await mkdtemp(join(tmpdir(), "svc-supervisor-"));
      this.modules = [];
    });
    afterEach(async () => {
      await this.engine.stop();
      const processes = await listProcesses();
      const left = [...this.#groupsSeen].flatMap((group) => membersOf(group, processes));
      this.#groupsSeen.clear();
      await rm(this.folder, { recursive: true, force: true });
      expect(left).toEqual([]);
    });
  }

  entry(name: string, more: Partial<LocalWorkerEntry> = {}): LocalWorkerEntry {
    const rest = {
      replicas: 1,
      watch: EVERYTHING,
      dependsOn: [],
      limits: NO_LIMITS,
      envFiles: [],
      env: {},
      where: "config.yaml:1",
    };
    return {
      name,
      path: join(this.folder, name),
      overlap: true,
      configuredPath: `./${name}`,
      ...rest,
      ...more,
    };
  }

  command(name: string, command: string, more: Partial<CommandEntry> = {}): CommandEntry {
    const rest = {
      replicas: 1,
      watch: false,
      dependsOn: [],
      limits: NO_LIMITS,
      env: {},
      where: "config.yaml:1",
    } as const;
    return { name, path: this.folder, command, restart: "on_failure", ...rest, ...more };
  }

  async start(
    workers: readonly LocalWorkerEntry[],
    { commands = [], others = [], ...access }: StartOptions = {},
  ): Promise<void> {
    const supervisor = createSupervisor({
      projectDir: this.folder,
      logsDir: join(this.folder, ".svc", "logs"),
      runDir: join(this.folder, ".svc", "run"),
      bridgeUrl: () => "ws://localhost:1",
      claims: {
        claim: (workerId, name) => this.engine.kernel.triggers.claim(workerId, name),
        settled: (name) => this.engine.kernel.triggers.settled(name),
        release: (name) => this.engine.kernel.triggers.release(name),
      },
      standby: {
        assign: (changes) => this.engine.kernel.standby.assign(changes),
        whenIdle: (connections) => this.engine.kernel.standby.whenIdle(connections),
      },
      moduleStates: () => this.modules,
      ...access,
    });
    const config = {
      supervisor: { workers, commands } satisfies SupervisorConfig,
      ...Object.fromEntries(others.map(({ name }) => [name, {}])),
    };
    this.engine = await inMemoryEngine({ modules: [supervisor, ...others], config });
  }

  async configure(workers: readonly LocalWorkerEntry[], commands: readonly CommandEntry[] = []): Promise<void> {
    expect(
      await this.engine.applyModules([
        { name: "supervisor", config: { workers, commands } satisfies SupervisorConfig },
      ]),
    ).toEqual([]);
  }

  async writeWorker(name: string, files: { readonly manifest?: string; readonly script?: string } = {}): Promise<void> {
    await mkdir(join(this.folder, name), { recursive: true });
    await writeFile(
      join(this.folder, name, "svc.worker.yaml"),
      files.manifest ?? `name: ${name}\nruntime: {kind: javascript}\nscripts: {start: exec sh worker.sh}\n`,
    );
    await writeFile(join(this.folder, name, "worker.sh"), files.script ?? DEFAULT_SCRIPT);
  }

  /**
   * Replaces a worker's file atomically, as editors do. A shell that is starting reads the old script or the new one. It would end at once if it read a
   * file that was just truncated.
   */
  async save(name: string, script: string, file = "worker.sh"): Promise<void> {
    // Outside the worker's folder, which is watched.
    const written = join(this.folder, `${name}-${file}.new`);
    await writeFile(written, script);
    await rename(written, join(this.folder, name, file));
  }

  call<T = WorkerStatus>(
    functionId: string,
    payload: unknown,
    options: { readonly timeoutMs?: number } = {},
  ): Promise<T> {
    return this.engine.call(functionId, payload, options) as Promise<T>;
  }

  async status(name: string): Promise<WorkerStatus> {
    const found = await this.call("worker::status", { name });
    for (const pid of found.pids) {
      const group = (await findProcess(pid))?.groupId;
      if (group !== undefined) this.#groupsSeen.add(group);
    }
    return found;
  }

  /** Waits for a matching status. The error contains the last one. */
  async statusWith(name: string, matches: (found: WorkerStatus) => boolean): Promise<WorkerStatus> {
    let last: WorkerStatus | undefined;
    try {
      return await vi.waitUntil(async () => {
        last = await this.status(name);
        return matches(last) ? last : undefined;
      }, TIMEOUT);
    } catch (error) {
      throw new Error(`timed out; the last status was ${JSON.stringify(last)}`, { cause: error });
    }
  }

  /** Waits for and returns the pid that the worker's script printed, if it is not in `former`. */
  async runningPid(name: string, former: readonly number[] = []): Promise<number> {
    const found = await this.statusWith(name, ({ pids, tail }) =>
      pids.some((pid) => !former.includes(pid) && tail.some((line) => line.startsWith(`up ${pid} `))),
    );
    return (
      found.pids.find((pid) => !former.includes(pid) && found.tail.some((line) => line.startsWith(`up ${pid} `))) ?? 0
    );
  }

  /** Connects as the worker's process would, and registers a function. */
  async connectAs(name: string, pid?: number): Promise<InMemoryWorker> {
    const worker = await this.engine.connectWorker({ name, ...(pid === undefined ? {} : { pid }) });
    worker.serve(`${name}::hello`, () => "hi");
    return worker;
  }
}
