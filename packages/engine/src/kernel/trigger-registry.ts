import { randomUUID } from "node:crypto";
import type { FunctionId, TriggerId, TriggerTypeId } from "@svc/protocol";
import type { Clock } from "./clock.ts";
import type { Undo } from "./scope.ts";
import { Binding, type BindingHost, bindingKey, type TriggerOwner, type TriggerRequest, type TriggerTypeProvider } from "./trigger-binding.ts";
import type { WorkerClaims } from "./worker-claims.ts";

/** How long the bindings of a remote worker stay listed after it went, in milliseconds (decision 11). */
export const KEEP_REMOTE_BINDINGS_MS = 60_000;

/** How many such bindings are kept at most, over all workers. */
const MAX_KEPT_REMOTE_BINDINGS = 10_000;

export interface TriggerTypeEntry {
  readonly id: TriggerTypeId;
  readonly description: string;
  readonly requestFormat: unknown;
  readonly callRequestFormat: unknown;
  readonly provider: TriggerTypeProvider;
}

/** One worker's hold on a binding. */
export interface BindingHold {
  readonly key: string;
  /** The worker took its request back: the binding goes at once if no other worker asked for it. */
  remove(): void;
  /** The worker went: its bindings of engine types are kept for its return. */
  leave(): void;
}

/** Trigger types, and the bindings that workers asked for. Bindings whose type is not there yet wait until it comes. */
export class TriggerRegistry implements WorkerClaims {
  readonly #types = new Map<TriggerTypeId, TriggerTypeEntry>();
  readonly #bindings = new Map<string, Binding>();
  /** By its own id and by those of the requests that led to it. An id that two workers chose leads to whose it was first. */
  readonly #byId = new Map<string, Binding>();
  /** Bindings kept for remote workers, oldest first. */
  readonly #keptRemote = new Set<Binding>();
  readonly #ofFunction = new Map<FunctionId, Set<Binding>>();
  readonly #configuredWorkers = new Map<string, string>();
  readonly #host: Omit<BindingHost, "changed">;
  readonly #clock: Clock;
  readonly #onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;

  constructor(options: {
    readonly host: Omit<BindingHost, "changed">;
    readonly clock: Clock;
    readonly onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;
  }) {
    this.#host = options.host;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
  }

  types(): IterableIterator<TriggerTypeEntry> {
    return this.#types.values();
  }

  typeById(id: TriggerTypeId): TriggerTypeEntry | undefined {
    return this.#types.get(id);
  }

  bindings(): IterableIterator<Binding> {
    return this.#bindings.values();
  }

  bindingsOf(functionId: FunctionId): Iterable<Binding> {
    return this.#ofFunction.get(functionId) ?? [];
  }

  /** By the id of any request that led to it. */
  bindingById(id: string): Binding | undefined {
    return this.#byId.get(id);
  }

  /** Registers or replaces the provider of a type; waiting bindings come alive. The undo removes it only while it is the provider. */
  provideType(entry: TriggerTypeEntry): Undo {
    this.#types.set(entry.id, entry);
    for (const binding of this.#bindings.values()) {
      if (binding.type !== entry.id) continue;
      const error = binding.attach(entry.provider);
      this.#notifyOwners(binding, error);
      this.#onChange(binding, "updated");
    }
    return () => {
      if (this.#types.get(entry.id) !== entry) return;
      this.#types.delete(entry.id);
      for (const binding of this.#bindings.values()) {
        if (binding.type !== entry.id) continue;
        binding.detach();
        this.#onChange(binding, "updated");
      }
    };
  }

  /** Takes a worker's request and tells the worker how it stands. */
  register(owner: TriggerOwner, request: TriggerRequest): BindingHold {
    const key = bindingKey(request);
    const ownerKey = `${owner.workerId} ${request.id}`;
    let binding = this.#bindings.get(key);
    const isNew = binding === undefined;
    if (binding === undefined) {
      const id = this.#byId.has(request.id) ? (randomUUID() as TriggerId) : request.id;
      binding = new Binding(id, request, owner, { ...this.#host, changed: (changed) => this.#reported(changed) });
      this.#bindings.set(key, binding);
      this.#byId.set(id, binding);
      const siblings = this.#ofFunction.get(request.functionId);
      if (siblings === undefined) this.#ofFunction.set(request.functionId, new Set([binding]));
      else siblings.add(binding);
    }
    if (!this.#byId.has(request.id)) this.#byId.set(request.id, binding);
    this.#keptRemote.delete(binding);
    binding.kept?.cancel();
    binding.kept = undefined;
    // A restricted worker that asks for what another has already does not change what the other's function is told.
    const mayChange = owner.principal === undefined || owner.principal === binding.firstPrincipal;
    if (request.metadata !== undefined && mayChange) binding.metadata = request.metadata;
    binding.owners.set(ownerKey, { owner, request });
    const provider = this.#types.get(request.type)?.provider;
    const error = provider !== undefined && !binding.attached ? binding.attach(provider) : undefined;
    this.#onChange(binding, isNew ? "created" : "updated");
    owner.notify(request, { ...binding.standing, error });
    const held = binding;
    return {
      key,
      remove: () => this.#release(held, ownerKey, owner, "explicit"),
      leave: () => this.#release(held, ownerKey, owner, "gone"),
    };
  }

  /** A function came or went, so the status of its bindings may have changed. */
  functionChanged(id: FunctionId): void {
    for (const binding of this.bindingsOf(id)) this.#onChange(binding, "updated");
  }

  /** A worker that provides the type answered a binding with an error. */
  refused(binding: Binding, problem: string): void {
    binding.report(problem);
  }

  claim(workerId: string, configuredName: string): void {
    this.#configuredWorkers.set(workerId, configuredName);
  }

  configuredWorkerOf(workerId: string): string | undefined {
    return this.#configuredWorkers.get(workerId);
  }

  settled(configuredName: string): void {
    this.#dropKept(configuredName);
  }

  release(configuredName: string): void {
    this.#dropKept(configuredName);
    for (const [workerId, name] of this.#configuredWorkers) if (name === configuredName) this.#configuredWorkers.delete(workerId);
  }

  /** The connection is gone for good; its claim is no longer needed. Call after its holds were released. */
  forgetWorker(workerId: string): void {
    this.#configuredWorkers.delete(workerId);
  }

  #dropKept(configuredName: string): void {
    for (const binding of [...this.#bindings.values()]) {
      if (binding.kept?.configuredWorker === configuredName) this.#remove(binding);
    }
  }

  #release(binding: Binding, ownerKey: string, owner: TriggerOwner, how: "explicit" | "gone"): void {
    const hold = binding.owners.get(ownerKey);
    if (hold?.owner !== owner) return;
    binding.owners.delete(ownerKey);
    const { id } = hold.request;
    if (id !== binding.id && this.#byId.get(id) === binding) this.#byId.delete(id);
    if (binding.owners.size > 0) {
      this.#onChange(binding, "updated");
      return;
    }
    const builtIn = this.#types.get(binding.type)?.provider.builtIn ?? false;
    if (how === "explicit" || !builtIn) {
      this.#remove(binding);
      return;
    }
    const configuredWorker = this.#configuredWorkers.get(owner.workerId);
    const cancel = configuredWorker === undefined ? this.#clock.after(KEEP_REMOTE_BINDINGS_MS, () => this.#remove(binding)) : () => {};
    binding.kept = { configuredWorker, cancel };
    if (configuredWorker === undefined) this.#keepRemote(binding);
    this.#onChange(binding, "updated");
  }

  /** Over the limit the one that waited longest goes: workers that come and go must not pile up bindings. */
  #keepRemote(binding: Binding): void {
    this.#keptRemote.add(binding);
    if (this.#keptRemote.size <= MAX_KEPT_REMOTE_BINDINGS) return;
    const [oldest] = this.#keptRemote;
    if (oldest !== undefined) this.#remove(oldest);
  }

  #remove(binding: Binding): void {
    if (this.#bindings.get(binding.key) !== binding) return;
    binding.kept?.cancel();
    this.#bindings.delete(binding.key);
    this.#keptRemote.delete(binding);
    if (this.#byId.get(binding.id) === binding) this.#byId.delete(binding.id);
    const siblings = this.#ofFunction.get(binding.functionId);
    siblings?.delete(binding);
    if (siblings?.size === 0) this.#ofFunction.delete(binding.functionId);
    binding.detach();
    this.#onChange(binding, "removed");
  }

  #reported(binding: Binding): void {
    if (this.#bindings.get(binding.key) !== binding) return;
    this.#notifyOwners(binding, undefined);
    this.#onChange(binding, "updated");
  }

  #notifyOwners(binding: Binding, error: Parameters<TriggerOwner["notify"]>[1]["error"]): void {
    for (const { owner, request } of binding.owners.values()) owner.notify(request, { ...binding.standing, error });
  }
}
