import { randomUUID } from "node:crypto";
import type { CallError, FunctionId, TriggerId, TriggerTypeId } from "@svc-runtime/protocol";
import { isSamePrincipal } from "../../access/principal.ts";
import type { Clock } from "../clock.ts";
import type { Undo } from "../scope.ts";
import type { WorkerClaims } from "../worker-claims.ts";
import { BindingsByFunction } from "./bindings-by-function.ts";
import { BoundedBindings } from "./bounded-bindings.ts";
import { moduleHint } from "./module-hint.ts";
import {
  Binding,
  type BindingHost,
  bindingKey,
  canonicalJson,
  type TriggerOwner,
  type TriggerRequest,
  type TriggerTypeProvider,
} from "./trigger-binding.ts";
import { type TriggerTypeEntries, type TriggerTypeEntry, TriggerTypes } from "./trigger-types.ts";

/**
 * How long the bindings of a worker stay listed after it disconnected, in milliseconds. Applies to workers that this
 * engine did not start, here called remote.
 */
export const KEEP_REMOTE_BINDINGS_MS = 60_000;

/** Maximum number of bindings that are kept for disconnected remote workers. */
const MAX_KEPT_REMOTE_BINDINGS = 10_000;
/** Maximum total size of these bindings, in characters. */
const MAX_KEPT_REMOTE_CHARACTERS = 64 * 1024 * 1024;

/**
 * How long the engine waits for the response of a type's provider to a binding, in milliseconds. After this time, the
 * owners of the binding are notified without the response.
 */
export const PROVIDER_ANSWER_MS = 10_000;

/** One worker's reference to a binding. */
export interface BindingHold {
  readonly key: string;
  /** The worker unregistered the trigger: the binding is removed at once if no other worker registered it. */
  remove(): void;
  /** The worker disconnected: its bindings of modules' types are kept until it returns, unless it was restricted. */
  leave(): void;
}

/** The trigger types and the bindings. A binding whose type has no provider waits for a provider. */
export class TriggerRegistry implements WorkerClaims {
  readonly #types: TriggerTypes;
  readonly #bindings = new Map<string, Binding>();
  /**
   * Bindings by their own id and by the ids of their requests. If several workers chose the same id, it maps to the
   * binding that was first.
   */
  readonly #byId = new Map<string, Binding>();
  /** Bindings kept for remote workers, the oldest first. */
  readonly #keptRemote = new BoundedBindings(MAX_KEPT_REMOTE_BINDINGS, MAX_KEPT_REMOTE_CHARACTERS);
  readonly #ofFunction = new BindingsByFunction();
  /** Bindings by the functions that they need besides the bound function. */
  readonly #needing = new BindingsByFunction();
  readonly #configuredWorkers = new Map<string, string>();
  /** For each binding that waits for the provider's response: a function that cancels the wait. */
  readonly #awaited = new Map<Binding, () => void>();
  readonly #host: Omit<BindingHost, "changed" | "needs" | "whyUnattached">;
  readonly #clock: Clock;
  readonly #onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;
  readonly #onNeededByTrusted: (id: FunctionId) => void;

  constructor(options: {
    readonly host: Omit<BindingHost, "changed" | "needs" | "whyUnattached">;
    readonly clock: Clock;
    readonly onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;
    /** Called when a binding of a trusted worker begins to need the function. */
    readonly onNeededByTrusted: (id: FunctionId) => void;
    /** Called when providers of a type have changed. */
    readonly onTypeChange: (id: TriggerTypeId) => void;
  }) {
    this.#types = new TriggerTypes((id) => this.#served(id), options.onTypeChange);
    this.#host = options.host;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#onNeededByTrusted = options.onNeededByTrusted;
  }

  types(): IterableIterator<TriggerTypeEntries> {
    return this.#types.all();
  }

  /** Returns the entry of the provider that serves the type. */
  typeById(id: TriggerTypeId): TriggerTypeEntry | undefined {
    return this.#types.byId(id);
  }

  /** Returns the entries of all providers of the type. The one that serves it is first. */
  entriesOf(id: TriggerTypeId): readonly TriggerTypeEntry[] {
    return this.#types.entriesOf(id);
  }

  /** Adds a provider of a type; see `TriggerTypes`. If it serves the type now, the bindings of the type move to it. */
  provideType(entry: TriggerTypeEntry): Undo {
    return this.#types.provide(entry);
  }

  bindings(): IterableIterator<Binding> {
    return this.#bindings.values();
  }

  bindingsOf(functionId: FunctionId): Iterable<Binding> {
    return this.#ofFunction.of(functionId);
  }

  /** Returns a binding by the id of any of its requests. */
  bindingById(id: string): Binding | undefined {
    return this.#byId.get(id);
  }

  /** Passes the bindings of the type to the provider that serves the type now. */
  #served(id: TriggerTypeId): void {
    for (const binding of this.#bindings.values()) {
      if (binding.type !== id) continue;
      const provider = this.#providerFor(binding);
      if (provider !== undefined) {
        this.#attach(binding, provider);
      } else {
        binding.detach();
        this.#notifyOwners(binding, undefined);
      }
      this.#onChange(binding, "updated");
    }
  }

  /**
   * Returns the provider for the binding. A restricted provider does not receive bindings of trusted workers, whose
   * configs may contain secrets.
   */
  #providerFor(binding: Binding): TriggerTypeProvider | undefined {
    if (binding.isStandby && !binding.attached) return undefined;
    const provider = this.typeById(binding.type)?.provider;
    return provider?.principal.isTrusted || binding.isRestricted ? provider : undefined;
  }

  #whyUnattached(type: TriggerTypeId): string {
    if (this.typeById(type) === undefined) return `no one provides the trigger type ${type}${moduleHint(type)}`;
    return `only a restricted connection provides the trigger type ${type}; it does not receive bindings of trusted workers`;
  }

  /** Attaches the binding and notifies its owners, at once or when the provider has responded. */
  #attach(binding: Binding, provider: TriggerTypeProvider): void {
    const error = binding.attach(provider);
    if (error === undefined) this.#refuseStrictOwners(binding);
    if (binding.isUnconfirmed) this.#awaitAnswer(binding);
    else this.#notifyOwners(binding, error);
  }

  /**
   * If the config has unknown members, removes the owners that are not published clients, because only published
   * clients may have them. So the binding ends with its last published client.
   */
  #refuseStrictOwners(binding: Binding): void {
    const { strictRefusal } = binding;
    if (strictRefusal === undefined) return;
    for (const [ownerKey, { owner, request }] of binding.owners) {
      if (owner.ignoresUnknown) continue;
      this.#disown(binding, ownerKey, request.id);
      notifyRefused(owner, request, strictRefusal);
    }
    binding.ownersChanged();
  }

  #disown(binding: Binding, ownerKey: string, id: TriggerId): void {
    binding.owners.delete(ownerKey);
    if (id !== binding.id && this.#byId.get(id) === binding) this.#byId.delete(id);
  }

  #awaitAnswer(binding: Binding): void {
    this.#awaited.get(binding)?.();
    const cancel = this.#clock.after(PROVIDER_ANSWER_MS, () => {
      this.#awaited.delete(binding);
      this.#notifyOwners(binding, undefined);
    });
    this.#awaited.set(binding, cancel);
  }

  #stopAwaiting(binding: Binding): void {
    this.#awaited.get(binding)?.();
    this.#awaited.delete(binding);
  }

  /** Records the response of the worker that provides the type. */
  answered(binding: Binding, problem: string | undefined): void {
    const wasUnconfirmed = binding.isUnconfirmed;
    const { reason } = binding.state;
    binding.answered(problem);
    if (!wasUnconfirmed && binding.state.reason === reason) return;
    this.#notifyOwners(binding, undefined);
    this.#onChange(binding, "updated");
  }

  /** Registers a worker's trigger and notifies the worker of its state. A worker on standby is notified later. */
  register(owner: TriggerOwner, request: TriggerRequest): BindingHold {
    const key = bindingKey(request);
    const ownerKey = `${owner.workerId} ${request.id}`;
    let binding = this.#bindings.get(key);
    if (binding?.attached && binding.strictRefusal !== undefined && !owner.ignoresUnknown) {
      notifyRefused(owner, request, binding.strictRefusal);
      return { key, remove: () => {}, leave: () => {} };
    }
    const isNew = binding === undefined;
    if (binding === undefined) {
      const id = this.#byId.has(request.id) ? (randomUUID() as TriggerId) : request.id;
      binding = new Binding(id, request, owner, {
        ...this.#host,
        changed: (changed) => this.#reported(changed),
        needs: (needing, ids) => this.#needs(needing, ids),
        whyUnattached: ({ type }) => this.#whyUnattached(type),
      });
      this.#bindings.set(key, binding);
      this.#byId.set(id, binding);
      this.#ofFunction.add(request.functionId, binding);
    }
    if (!this.#byId.has(request.id)) this.#byId.set(request.id, binding);
    // Only a trusted owner ends the keeping: a binding that is kept for a trusted worker must stay kept when a
    // restricted worker registers it and leaves.
    if (owner.principal.isTrusted) {
      this.#cancelKeeping(binding);
      binding.isGivenUp = false;
    }
    const metadataChanged = updateMetadata(binding, owner, request);
    binding.owners.set(ownerKey, { owner, request });
    binding.ownersChanged();
    if (owner.principal.isTrusted) for (const id of binding.needed) this.#onNeededByTrusted(id);
    const provider = this.#providerFor(binding);
    if (provider === undefined) binding.detach();
    // If a worker provides the type, it calls the function with the metadata itself. So it must get changed metadata.
    if (provider !== undefined && (!binding.attached || (metadataChanged && !provider.builtIn)))
      this.#attach(binding, provider);
    else if (!binding.isUnconfirmed && !binding.isHeldBack)
      owner.notify(request, { ...binding.state, error: undefined });
    this.#onChange(binding, isNew ? "created" : "updated");
    const held = binding;
    return {
      key,
      remove: () => this.#release(held, ownerKey, owner, "explicit"),
      leave: () => this.#release(held, ownerKey, owner, "gone"),
    };
  }

  /** Returns whether a binding of a trusted worker needs the function, e.g. as its condition. */
  isNeededByTrusted(id: FunctionId): boolean {
    for (const binding of this.#needing.of(id)) if (!binding.isRestricted) return true;
    return false;
  }

  /** Returns whether a binding of a trusted worker calls the function. */
  isCalledByTrusted(id: FunctionId): boolean {
    for (const binding of this.#ofFunction.of(id)) if (!binding.isRestricted) return true;
    return false;
  }

  /**
   * Activates the triggers of the workers that are now in service. Removes active triggers that only workers on standby
   * have, because these workers were replaced.
   */
  standbyChanged(workers: ReadonlySet<TriggerOwner>): void {
    const affected = [...this.#bindings.values()].filter((binding) =>
      [...binding.owners.values()].some(({ owner }) => workers.has(owner)),
    );
    // Remove triggers first, because a new trigger may conflict with one that it replaces, e.g. have the same HTTP
    // route.
    for (const binding of affected) if (binding.isStandby && binding.attached) this.#remove(binding, "withdrawn");
    this.#types.standbyChanged(new Set([...workers].map(({ workerId }) => workerId)));
    for (const binding of affected) {
      if (binding.isStandby || binding.attached) continue;
      const provider = this.#providerFor(binding);
      if (provider !== undefined) this.#attach(binding, provider);
      else this.#notifyOwners(binding, undefined);
      this.#onChange(binding, "updated");
    }
  }

  /** A function was added or removed, so the status of its bindings may have changed. */
  functionChanged(id: FunctionId): void {
    for (const binding of this.#ofFunction.of(id)) this.#onChange(binding, "updated");
    for (const binding of this.#needing.of(id)) if (binding.functionId !== id) this.#onChange(binding, "updated");
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
    for (const [workerId, name] of this.#configuredWorkers)
      if (name === configuredName) this.#configuredWorkers.delete(workerId);
  }

  /** Forgets the claim of a connection that has ended. To be called after the connection's triggers were released. */
  forgetWorker(workerId: string): void {
    this.#configuredWorkers.delete(workerId);
  }

  #dropKept(configuredName: string): void {
    for (const binding of [...this.#bindings.values()]) {
      if (binding.kept?.configuredWorker === configuredName) this.#endKeeping(binding, "withdrawn");
    }
  }

  #release(binding: Binding, ownerKey: string, owner: TriggerOwner, how: "explicit" | "gone"): void {
    const hold = binding.owners.get(ownerKey);
    if (hold?.owner !== owner) return;
    this.#disown(binding, ownerKey, hold.request.id);
    const builtIn = this.typeById(binding.type)?.provider.builtIn ?? false;
    const wasLastTrusted =
      owner.principal.isTrusted && ![...binding.owners.values()].some((other) => other.owner.principal.isTrusted);
    if (how === "explicit" && wasLastTrusted) binding.isGivenUp = true;
    // A trigger is not kept if its worker was on standby and the trigger was not active.
    const wasInService = binding.attached || owner.isStandby !== true;
    if (how === "gone" && builtIn && wasLastTrusted && wasInService)
      this.#keep(binding, this.#configuredWorkers.get(owner.workerId));
    if (binding.isAway && binding.kept === undefined) {
      this.#remove(binding, "withdrawn");
      return;
    }
    binding.ownersChanged();
    this.#onChange(binding, "updated");
  }

  #keep(binding: Binding, configuredWorker: string | undefined): void {
    const cancel =
      configuredWorker === undefined
        ? this.#clock.after(KEEP_REMOTE_BINDINGS_MS, () => this.#endKeeping(binding, "lapsed"))
        : () => {};
    binding.kept = { configuredWorker, cancel };
    // Above the limit, the oldest kept bindings are removed. So workers that connect and disconnect repeatedly cannot
    // pile up bindings.
    if (configuredWorker === undefined)
      for (const oldest of this.#keptRemote.add(binding)) this.#endKeeping(oldest, "lapsed");
  }

  #cancelKeeping(binding: Binding): void {
    this.#keptRemote.delete(binding);
    binding.kept?.cancel();
    binding.kept = undefined;
  }

  /** Stops keeping the binding. Removes it, unless it has an owner. */
  #endKeeping(binding: Binding, how: "withdrawn" | "lapsed"): void {
    this.#cancelKeeping(binding);
    if (binding.isAway) this.#remove(binding, how);
    else binding.ownersChanged();
  }

  #remove(binding: Binding, how: "withdrawn" | "lapsed"): void {
    if (this.#bindings.get(binding.key) !== binding) return;
    binding.ended = how;
    this.#cancelKeeping(binding);
    this.#bindings.delete(binding.key);
    if (this.#byId.get(binding.id) === binding) this.#byId.delete(binding.id);
    this.#ofFunction.delete(binding.functionId, binding);
    this.#stopAwaiting(binding);
    binding.detach();
    this.#onChange(binding, "removed");
  }

  #needs(binding: Binding, ids: readonly FunctionId[]): void {
    for (const id of binding.needed) this.#needing.delete(id, binding);
    for (const id of ids) this.#needing.add(id, binding);
    if (!binding.isRestricted) for (const id of ids) this.#onNeededByTrusted(id);
  }

  #reported(binding: Binding): void {
    if (this.#bindings.get(binding.key) !== binding) return;
    this.#notifyOwners(binding, undefined);
    this.#onChange(binding, "updated");
  }

  #notifyOwners(binding: Binding, error: Parameters<TriggerOwner["notify"]>[1]["error"]): void {
    this.#stopAwaiting(binding);
    if (binding.isHeldBack) return;
    for (const { owner, request } of binding.owners.values()) owner.notify(request, { ...binding.state, error });
  }
}

function notifyRefused(owner: TriggerOwner, request: TriggerRequest, error: CallError): void {
  owner.notify(request, { status: "error", reason: error.message, error });
}

/**
 * Updates the binding's metadata from the request. Returns whether the metadata changed. A restricted worker cannot
 * change metadata that another principal set. A trusted worker replaces metadata that a restricted worker set.
 */
function updateMetadata(binding: Binding, { principal }: TriggerOwner, { metadata }: TriggerRequest): boolean {
  const isTakenOver = !isSamePrincipal(principal, binding.metadataFrom);
  if (isTakenOver && !principal.isTrusted) return false;
  binding.metadataFrom = principal;
  if (metadata === undefined && !isTakenOver) return false;
  if (canonicalJson(metadata ?? null) === canonicalJson(binding.metadata ?? null)) return false;
  binding.metadata = metadata;
  return true;
}
