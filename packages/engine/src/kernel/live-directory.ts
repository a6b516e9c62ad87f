import type { FunctionId } from "@svc-runtime/protocol";
import { makerOf } from "../access/principal.ts";
import type { Provider } from "./call.ts";
import type {
  Counters,
  Directory,
  DirectoryChange,
  FunctionStatus,
  FunctionView,
  TriggerTypeView,
  TriggerView,
  WorkerLoad,
  WorkerView,
} from "./directory.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import type { ModuleHost } from "./module-host.ts";
import type { FunctionEntry, Registry } from "./registry.ts";
import type { Session } from "./session.ts";
import type { Sessions } from "./sessions.ts";
import type { Binding } from "./triggers/trigger-binding.ts";
import type { TriggerRegistry } from "./triggers/trigger-registry.ts";
import type { TriggerTypeEntries } from "./triggers/trigger-types.ts";

type HostedModule = ReturnType<ModuleHost["providers"]>[number];
/** The workers of the other nodes of a cluster. */
type RemoteWorkers = Pick<Directory, "workers" | "workerById">;
const NO_REMOTE_WORKERS: RemoteWorkers = { workers: () => [], workerById: () => undefined };

/** Views of the kernel's tables, created on each call. */
export class LiveDirectory implements Directory {
  readonly #registry: Registry;
  readonly #sessions: Sessions;
  readonly #triggers: TriggerRegistry;
  readonly #changes: DirectoryChanges;
  readonly #streams: { readonly userStreams: number };
  #moduleHost: ModuleHost | undefined;
  /** Name of this node of a cluster. */
  #node: string | undefined;
  #remoteWorkers = NO_REMOTE_WORKERS;

  constructor(parts: {
    readonly registry: Registry;
    readonly sessions: Sessions;
    readonly triggers: TriggerRegistry;
    readonly changes: DirectoryChanges;
    /** Counts user-defined streams. */
    readonly streams: { readonly userStreams: number };
  }) {
    this.#registry = parts.registry;
    this.#sessions = parts.sessions;
    this.#triggers = parts.triggers;
    this.#changes = parts.changes;
    this.#streams = parts.streams;
  }

  /** Set after construction: the host is created later, since modules use the directory. */
  setModuleHost(host: ModuleHost): void {
    this.#moduleHost = host;
  }

  /** Set after construction, since the nodes use the tables of the directory. */
  setRemoteWorkers(node: string, workers: RemoteWorkers): void {
    this.#node = node;
    this.#remoteWorkers = workers;
  }

  functions(): FunctionView[] {
    return [...this.#registry.entries()]
      .map((entry) => this.#functionView(entry))
      .sort((a, b) => compare(a.function_id, b.function_id));
  }

  functionById(id: string): FunctionView | undefined {
    const entry = this.#registry.find(id as FunctionId);
    return entry === undefined ? undefined : this.#functionView(entry);
  }

  isProvidedHere(id: string): boolean {
    const entry = this.#registry.find(id as FunctionId);
    for (let at = 0; at < (entry?.localCount ?? 0); at++)
      if (entry?.registrations[at]?.provider.isLeaving !== true) return true;
    return false;
  }

  eachWorker(visit: (worker: WorkerLoad) => void): void {
    for (const session of this.#sessions.values()) visit(this.#loadOf(session));
    for (const view of this.#moduleViews()) visit({ ...view, has_run: true });
  }

  workers(): WorkerView[] {
    const sessions = this.#sessions.all().map((session) => this.#sessionView(session));
    const own = [...sessions, ...this.#moduleViews()].map((view) => this.#withNode(view));
    return [...own, ...this.#remoteWorkers.workers()].sort((a, b) => compare(a.name, b.name));
  }

  #withNode(view: WorkerView): WorkerView {
    return this.#node === undefined ? view : { ...view, node: this.#node };
  }

  #moduleViews(): WorkerView[] {
    return this.#modules().map(moduleView);
  }

  #modules(): readonly HostedModule[] {
    return this.#moduleHost?.providers() ?? [];
  }

  workerById(id: string): WorkerView | undefined {
    const session = this.#sessions.byId(id);
    if (session !== undefined) return this.#withNode(this.#sessionView(session));
    const module = this.#modules().find(({ provider }) => provider.workerId === id);
    return module === undefined ? this.#remoteWorkers.workerById(id) : this.#withNode(moduleView(module));
  }

  triggers(): TriggerView[] {
    return [...this.#triggers.bindings()].map((binding) => this.#triggerView(binding));
  }

  triggerById(id: string): TriggerView | undefined {
    const binding = this.#triggers.bindingById(id);
    return binding === undefined ? undefined : this.#triggerView(binding);
  }

  triggerTypes(): TriggerTypeView[] {
    const counts = new Map<string, number>();
    for (const binding of this.#triggers.bindings()) counts.set(binding.type, (counts.get(binding.type) ?? 0) + 1);
    return [...this.#triggers.types()]
      .map((entries) => triggerTypeView(entries, counts.get(entries[0].id) ?? 0))
      .sort((a, b) => compare(a.id, b.id));
  }

  counters(): Counters {
    let functions = 0;
    for (const entry of this.#registry.entries()) if (!isInternal(entry) && this.#isOfWorker(entry)) functions++;
    let triggers = 0;
    for (const binding of this.#triggers.bindings()) if (!isInternalId(binding.functionId)) triggers++;
    const local = this.#sessions.all().filter((session) => session.introduction?.kind === "worker").length;
    const workers = local + this.#remoteWorkers.workers().filter(({ kind }) => kind === "worker").length;
    return { functions, triggers, workers, streams: this.#streams.userStreams };
  }

  /** Returns whether at least one provider of the function is a worker and not a module. */
  #isOfWorker({ registrations }: FunctionEntry): boolean {
    return registrations.some(({ provider }) => !provider.builtIn);
  }

  onChange(listener: (change: DirectoryChange) => void): () => void {
    return this.#changes.listen(listener);
  }

  onRegistration(listener: (workerId: string) => void): () => void {
    return this.#changes.listenToRegistrations(listener);
  }

  #functionView(entry: FunctionEntry): FunctionView {
    const { description } = entry.registrations[0] as FunctionEntry["registrations"][number];
    const workers = entry.registrations.map(({ provider }) => {
      const node = provider.remote?.name ?? this.#node;
      const named = { id: provider.workerId, name: nameOf(provider.name, entry.id) };
      return node === undefined ? named : { ...named, node };
    });
    return {
      function_id: entry.id,
      description: description.description ?? null,
      request_format: description.requestFormat ?? null,
      response_format: description.responseFormat ?? null,
      metadata: description.metadata ?? null,
      validated: description.check?.isOn() ?? false,
      format_problem: description.check?.problem ?? null,
      ...(formatsDiffer(entry) ? { formats_differ: true } : {}),
      status: statusOf(entry),
      internal: isInternal(entry),
      worker_name: workers[0]?.name ?? "",
      workers,
      triggers: [...this.#triggers.bindingsOf(entry.id)].map(({ id, type }) => ({ id, type })),
    };
  }

  #loadOf(session: Session): WorkerLoad {
    const { introduction } = session;
    return {
      id: session.workerId,
      name: introduction?.name ?? session.workerId,
      internal: introduction?.kind !== "worker",
      status: "connected",
      active_invocations: session.inFlight,
      pid: introduction?.pid ?? null,
      ip_address: session.remoteAddress ?? null,
      configured_worker: this.#triggers.configuredWorkerOf(session.workerId) ?? null,
      has_run: session.held.hasHeld,
    };
  }

  #sessionView(session: Session): WorkerView {
    const { introduction } = session;
    const functions = [...session.functionIds].sort(compare);
    return {
      id: session.workerId,
      name: introduction?.name ?? session.workerId,
      description: introduction?.description ?? null,
      runtime: introduction?.runtime ?? "unknown",
      version: introduction?.version ?? null,
      os: introduction?.os ?? null,
      ip_address: session.remoteAddress ?? null,
      pid: introduction?.pid ?? null,
      isolation: introduction?.isolation ?? null,
      features: [...session.features],
      kind: introduction?.kind ?? "worker",
      internal: introduction?.kind !== "worker",
      status: "connected",
      connected_at_ms: session.connectedAtMs,
      function_count: functions.length,
      functions,
      trigger_types: [...session.triggerTypeIds].sort(compare),
      trigger_count: session.triggerCount,
      active_invocations: session.inFlight,
      principal: session.principal.isTrusted ? null : session.principal.id,
      configured_worker: this.#triggers.configuredWorkerOf(session.workerId) ?? null,
    };
  }

  #triggerView(binding: Binding): TriggerView {
    const { status, reason } = binding.state;
    return {
      id: binding.id,
      trigger_type: binding.type,
      function_id: binding.functionId,
      config: binding.config,
      metadata: binding.metadata ?? null,
      worker_name: nameOf(binding.workerName, binding.functionId),
      made_by: makerOf(binding.lastPrincipal),
      status,
      reason: reason ?? null,
      internal: isInternalId(binding.functionId),
    };
  }
}

function moduleView({ provider, summary, startedAtMs }: HostedModule): WorkerView {
  return {
    id: provider.workerId,
    name: provider.name,
    description: summary,
    runtime: "engine",
    version: null,
    os: null,
    ip_address: null,
    pid: process.pid,
    isolation: "in-process",
    features: [],
    kind: "module",
    internal: true,
    status: "available",
    connected_at_ms: startedAtMs,
    function_count: provider.functionIds.length,
    functions: provider.functionIds,
    trigger_types: [],
    trigger_count: 0,
    active_invocations: provider.inFlight,
    principal: null,
    configured_worker: null,
  };
}

function triggerTypeView(entries: TriggerTypeEntries, instanceCount: number): TriggerTypeView {
  const [{ id, description, requestFormat, callRequestFormat, check, provider }] = entries;
  return {
    id,
    description,
    worker_name: nameOf(provider.workerName, id),
    workers: entries.map((entry) => ({ id: entry.provider.workerId, name: nameOf(entry.provider.workerName, id) })),
    trigger_request_format: requestFormat ?? null,
    call_request_format: callRequestFormat ?? null,
    validated: provider.builtIn || (check?.isOn() ?? false),
    format_problem: check?.problem ?? null,
    instance_count: instanceCount,
    internal: id.startsWith("engine::"),
  };
}

function statusOf(entry: FunctionEntry): FunctionStatus {
  const refusals = entry.registrations.map(({ provider }) => (isGoing(provider) ? "draining" : provider.refusal()));
  if (refusals.includes(undefined)) return "available";
  return refusals.includes("overloaded") ? "busy" : "draining";
}

function isGoing({ isLeaving, remote }: Provider): boolean {
  return isLeaving === true || remote?.isDraining === true;
}

/** Returns the worker's name, or the first part of the id if the worker has not introduced itself yet. */
function nameOf(name: string, id: string): string {
  return name === "" ? (id.split("::")[0] ?? id) : name;
}

/** Returns whether providers registered different formats, e.g. a worker of an older build. */
function formatsDiffer({ registrations }: FunctionEntry): boolean {
  const [first, ...others] = registrations.map(({ description: { requestFormat, responseFormat } }) => [
    requestFormat ?? null,
    responseFormat ?? null,
  ]);
  return others.length > 0 && others.some((formats) => JSON.stringify(formats) !== JSON.stringify(first));
}

function isInternalId(id: string): boolean {
  return id.startsWith("engine::") && !id.startsWith("engine::queue::");
}

function isInternal(entry: FunctionEntry): boolean {
  if (isInternalId(entry.id)) return true;
  const metadata = entry.registrations[0]?.description.metadata;
  return typeof metadata === "object" && metadata !== null && "internal" in metadata && metadata.internal === true;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
