import type { Clock } from "../../kernel/clock.ts";
import type { Directory, DirectoryChange, WorkerView } from "../../kernel/directory.ts";
import type { WorkerClaims, WorkerStandby } from "../../kernel/worker-claims.ts";
import { findProcess } from "../../local-workers/process-table.ts";
import type { WorkerProcess } from "./worker-process.ts";

/** Feature of connections whose SDK sends the log entries itself. */
const SENDS_LOGS = "logs";

/** A process that a connection may belong to. */
export interface Candidate {
  /** Name of the config entry. */
  readonly name: string;
  readonly process: WorkerProcess;
  /** The token with which its processes connect. Undefined: the engine's. */
  readonly token: string | undefined;
}

export interface ConnectionsOptions {
  readonly directory: Directory;
  readonly claims: WorkerClaims;
  readonly standby: WorkerStandby;
  readonly clock: Clock;
  /** All processes of the configured workers. */
  readonly candidates: () => readonly Candidate[];
  /** Returns the id of the principal of a role's token; undefined for other tokens. */
  readonly principalOfToken: (token: string) => string | undefined;
  readonly onError: (error: unknown) => void;
}

/**
 * Assigns connections to supervised processes: by the process group of the connection's pid, and if there is no match,
 * by name. Reports the owner of a connection to the engine's kernel (`claims`), and the connection to its process.
 */
export class Connections {
  readonly #options: ConnectionsOptions;
  readonly #owners = new Map<string, Candidate>();
  /**
   * Monotonic time when each unowned connection was first seen. A connection that is older than a process does not
   * belong to it.
   */
  readonly #firstSeenMs = new Map<string, number>();
  readonly #sendLogs = new Set<string>();
  /** Connections on standby whose owner is not known yet. */
  readonly #undecided = new Set<string>();
  readonly #stopListening: readonly (() => void)[];

  constructor(options: ConnectionsOptions) {
    this.#options = options;
    this.#stopListening = [
      options.directory.onChange((change) => this.#onChange(change)),
      options.directory.onRegistration((workerId) => this.#owners.get(workerId)?.process.registered()),
    ];
    for (const view of options.directory.workers()) this.#consider(view.id);
  }

  stop(): void {
    for (const stop of this.#stopListening) stop();
    this.#owners.clear();
    this.#firstSeenMs.clear();
    this.#sendLogs.clear();
    this.#undecided.clear();
  }

  /** Call when a process may have gone on standby, or may no longer be on standby. */
  standbyChanged(): void {
    if (this.#undecided.size === 0 || this.#mayBeStandby) return;
    this.#options.standby.assign({ inService: this.#undecided });
    this.#undecided.clear();
  }

  /** Returns true if one of the connections has registered a function, a trigger type or a trigger. */
  haveRegistered(connections: ReadonlySet<string>): boolean {
    return this.#views(connections).some(
      (view) => view.function_count + view.trigger_types.length + view.trigger_count > 0,
    );
  }

  /** Returns true if one of the connections sends its log entries itself. */
  sendLogs(connections: ReadonlySet<string>): boolean {
    for (const id of connections) if (this.#sendLogs.has(id)) return true;
    return false;
  }

  /** Returns the ids of everything that the connections provide, each once. */
  provided(connections: ReadonlySet<string>): { readonly functions: string[]; readonly triggerTypes: string[] } {
    const views = this.#views(connections);
    return {
      functions: [...new Set(views.flatMap((view) => view.functions))].sort(),
      triggerTypes: [...new Set(views.flatMap((view) => view.trigger_types))].sort(),
    };
  }

  get #mayBeStandby(): boolean {
    return this.#options.candidates().some(({ process }) => process.isStandby);
  }

  #views(connections: ReadonlySet<string>): WorkerView[] {
    return [...connections].flatMap((id) => this.#options.directory.workerById(id) ?? []);
  }

  #onChange({ kind, id, op }: DirectoryChange): void {
    if (kind !== "worker") return;
    if (op === "removed") this.#forget(id);
    else this.#consider(id);
  }

  #forget(id: string): void {
    this.#firstSeenMs.delete(id);
    const owner = this.#owners.get(id);
    this.#owners.delete(id);
    this.#sendLogs.delete(id);
    this.#undecided.delete(id);
    owner?.process.disconnected(id);
  }

  #consider(id: string): void {
    if (this.#owners.has(id)) return;
    if (!this.#firstSeenMs.has(id)) {
      this.#firstSeenMs.set(id, this.#options.clock.monotonic());
      // Put the connection on standby before its first registration, because a new process must not get a call before
      // it is ready.
      const view = this.#options.directory.workerById(id);
      if (view !== undefined && this.#candidatesFor(view).some(({ process }) => process.isStandby)) {
        this.#undecided.add(id);
        this.#options.standby.assign({ standby: [id] });
      }
    }
    // Without local workers there is no need to list the system's processes.
    if (this.#options.candidates().length > 0) this.#findOwner(id).catch(this.#options.onError);
  }

  async #findOwner(id: string): Promise<void> {
    const view = this.#options.directory.workerById(id);
    if (view === undefined || this.#candidatesFor(view).length === 0) return;
    if (view.internal) {
      // A connection that has not introduced itself yet is internal too. It may be a worker, so do not decide yet.
      if (view.kind !== "worker") this.#decide(id, false);
      return;
    }
    const group = await groupOf(view);
    // The connection may have closed, or another call may have found its owner, while the process list was read.
    if (!this.#firstSeenMs.has(id) || this.#owners.has(id) || this.#options.directory.workerById(id) === undefined)
      return;
    const owner = this.#byGroup(view, group) ?? this.#byName(view);
    this.#decide(id, owner?.process.isStandby ?? false);
    if (owner === undefined) return;
    this.#owners.set(id, owner);
    if (view.features.includes(SENDS_LOGS)) this.#sendLogs.add(id);
    this.#firstSeenMs.delete(id);
    this.#options.claims.claim(id, owner.name);
    owner.process.connected(id);
  }

  #decide(id: string, isStandby: boolean): void {
    this.#undecided.delete(id);
    this.#options.standby.assign(isStandby ? { standby: [id] } : { inService: [id] });
  }

  /**
   * Returns the processes that the connection may belong to by its rights. A restricted connection belongs only to a
   * process that connects with a token of the same principal: others could claim to be any worker.
   */
  #candidatesFor({ principal }: WorkerView): readonly Candidate[] {
    const candidates = this.#options.candidates();
    if (principal === null) return candidates;
    return candidates.filter(({ token }) => token !== undefined && this.#options.principalOfToken(token) === principal);
  }

  #byGroup(
    view: WorkerView,
    group: { readonly groupId: number; readonly sessionId: number } | undefined,
  ): Candidate | undefined {
    if (group === undefined) return undefined;
    return this.#candidatesFor(view).find(
      ({ process }) =>
        process.groupId !== undefined && (process.groupId === group.groupId || process.groupId === group.sessionId),
    );
  }

  #byName(view: WorkerView): Candidate | undefined {
    const firstSeenMs = this.#firstSeenMs.get(view.id) ?? 0;
    return this.#candidatesFor(view).find(
      ({ name, process }) =>
        name === view.name &&
        process.groupId !== undefined &&
        process.connections.size === 0 &&
        process.spawnedAtMs <= firstSeenMs,
    );
  }
}

/** Returns the group and session of the connection's process. A pid of another machine or container is ignored. */
async function groupOf(
  view: WorkerView,
): Promise<{ readonly groupId: number; readonly sessionId: number } | undefined> {
  if (view.pid === null || !isLoopback(view.ip_address)) return undefined;
  return findProcess(view.pid);
}

function isLoopback(address: string | null): boolean {
  return address === null || address === "::1" || /^(::ffff:)?127\./.test(address);
}
