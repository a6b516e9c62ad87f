import { randomUUID } from "node:crypto";
import type { FunctionId, TriggerId, TriggerTypeId } from "@svc/protocol";
import { isSamePrincipal } from "./access/principal.ts";
import { BindingsByFunction } from "./bindings-by-function.ts";
import { BoundedBindings } from "./bounded-bindings.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { Clock } from "./clock.ts";
import type { FormatCheck } from "./format-check.ts";
import { moduleHint } from "./module-of-type.ts";
import type { Undo } from "./scope.ts";
import { Binding, type BindingHost, bindingKey, type TriggerOwner, type TriggerRequest, type TriggerTypeProvider } from "./trigger-binding.ts";
import type { WorkerClaims } from "./worker-claims.ts";

/** How long the bindings of a remote worker stay listed after it went, in milliseconds (decision 11). */
export const KEEP_REMOTE_BINDINGS_MS = 60_000;

/** How many such bindings are kept at most, over all workers. */
const MAX_KEPT_REMOTE_BINDINGS = 10_000;
/** And so many characters of what they were asked with. */
const MAX_KEPT_REMOTE_CHARACTERS = 64 * 1024 * 1024;

/** How long the owners of a binding wait for the word of the worker that provides its type, in milliseconds. Then they hear how it stands without it. */
export const PROVIDER_ANSWER_MS = 10_000;

export interface TriggerTypeEntry {
  readonly id: TriggerTypeId;
  readonly description: string;
  readonly requestFormat: unknown;
  readonly callRequestFormat: unknown;
  /** Checks configs by the request format. */
  readonly check: FormatCheck | undefined;
  readonly provider: TriggerTypeProvider;
}

/** All who provide one type, the serving one first. Never empty. */
export type TriggerTypeEntries = readonly [TriggerTypeEntry, ...TriggerTypeEntry[]];

/** One worker's hold on a binding. */
export interface BindingHold {
  readonly key: string;
  /** The worker took its request back: the binding goes at once if no other worker asked for it. */
  remove(): void;
  /** The worker went: its bindings of engine types are kept for its return, unless it was restricted. */
  leave(): void;
}

/** Trigger types, and the bindings that workers asked for. Bindings whose type is not there yet wait until it comes. */
export class TriggerRegistry implements WorkerClaims {
  /** By type. The first entry serves; the others take over, in this order, when it goes. */
  readonly #types = new Map<TriggerTypeId, TriggerTypeEntries>();
  readonly #bindings = new Map<string, Binding>();
  /** By its own id and by those of the requests that led to it. An id that two workers chose leads to whose it was first. */
  readonly #byId = new Map<string, Binding>();
  /** Bindings kept for remote workers, oldest first. */
  readonly #keptRemote = new BoundedBindings(MAX_KEPT_REMOTE_BINDINGS, MAX_KEPT_REMOTE_CHARACTERS);
  readonly #ofFunction = new BindingsByFunction();
  /** Those that a function is not bound by, but that cannot do without it. */
  readonly #needing = new BindingsByFunction();
  readonly #configuredWorkers = new Map<string, string>();
  /** How to call off the wait for a provider's word. */
  readonly #awaited = new Map<Binding, () => void>();
  readonly #host: Omit<BindingHost, "changed" | "needs" | "whyUnattached">;
  readonly #clock: Clock;
  readonly #onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;
  readonly #onNeededByTrusted: (id: FunctionId) => void;

  constructor(options: {
    readonly host: Omit<BindingHost, "changed" | "needs" | "whyUnattached">;
    readonly clock: Clock;
    readonly onChange: (binding: Binding, op: "created" | "updated" | "removed") => void;
    /** A binding of a trusted worker cannot do without the function from now on. */
    readonly onNeededByTrusted: (id: FunctionId) => void;
  }) {
    this.#host = options.host;
    this.#clock = options.clock;
    this.#onChange = options.onChange;
    this.#onNeededByTrusted = options.onNeededByTrusted;
  }

  types(): IterableIterator<TriggerTypeEntries> {
    return this.#types.values();
  }

  /** The entry that serves. */
  typeById(id: TriggerTypeId): TriggerTypeEntry | undefined {
    return this.#types.get(id)?.[0];
  }

  /** Who serves the type, and who stands by. */
  providersOf(id: TriggerTypeId): readonly TriggerTypeProvider[] {
    return (this.#types.get(id) ?? []).map(({ provider }) => provider);
  }

  bindings(): IterableIterator<Binding> {
    return this.#bindings.values();
  }

  bindingsOf(functionId: FunctionId): Iterable<Binding> {
    return this.#ofFunction.of(functionId);
  }

  /** By the id of any request that led to it. */
  bindingById(id: string): Binding | undefined {
    return this.#byId.get(id);
  }

  /**
   * Adds a provider of a type; waiting bindings come alive. Of several providers the latest serves and the others stand by,
   * but a module always serves. When the serving one goes, its bindings move to the next.
   */
  provideType(entry: TriggerTypeEntry): Undo {
    const standing = this.#types.get(entry.id);
    const serving = standing?.[0];
    if (standing === undefined) this.#types.set(entry.id, [entry]);
    else if (standing[0].provider.builtIn && !entry.provider.builtIn) this.#types.set(entry.id, [standing[0], entry, ...standing.slice(1)]);
    else this.#types.set(entry.id, [entry, ...standing]);
    this.#serve(entry.id, serving);
    return () => {
      const [first, ...others] = (this.#types.get(entry.id) ?? []).filter((other) => other !== entry);
      const before = this.typeById(entry.id);
      if (first === undefined) this.#types.delete(entry.id);
      else this.#types.set(entry.id, [first, ...others]);
      this.#serve(entry.id, before);
    };
  }

  /** Hands the bindings of the type to whoever serves it now, if that has changed. */
  #serve(id: TriggerTypeId, before: TriggerTypeEntry | undefined): void {
    if (this.typeById(id) === before) return;
    for (const binding of this.#bindings.values()) {
      if (binding.type !== id) continue;
      const provider = this.#providerFor(binding);
      if (provider !== undefined) {
        this.#attach(binding, provider);
      } else {
        binding.detach();
        this.#tellOwners(binding, undefined);
      }
      this.#onChange(binding, "updated");
    }
  }

  /** Who serves the binding. A restricted provider does not receive bindings of trusted workers, whose configs may hold secrets. */
  #providerFor(binding: Binding): TriggerTypeProvider | undefined {
    const provider = this.typeById(binding.type)?.provider;
    return provider?.principal.isTrusted || binding.isRestricted ? provider : undefined;
  }

  #whyUnattached(type: TriggerTypeId): string {
    if (this.typeById(type) === undefined) return `no one provides the trigger type ${type}${moduleHint(type)}`;
    return `only a restricted connection provides the trigger type ${type}; it does not receive bindings of trusted workers`;
  }

  /** Attaches the binding and tells its owners, at once or when the provider has answered. */
  #attach(binding: Binding, provider: TriggerTypeProvider): void {
    const error = binding.attach(provider);
    if (binding.isUnconfirmed) this.#awaitAnswer(binding);
    else this.#tellOwners(binding, error);
  }

  #awaitAnswer(binding: Binding): void {
    this.#awaited.get(binding)?.();
    const cancel = this.#clock.after(PROVIDER_ANSWER_MS, () => {
      this.#awaited.delete(binding);
      this.#tellOwners(binding, undefined);
    });
    this.#awaited.set(binding, cancel);
  }

  #stopAwaiting(binding: Binding): void {
    this.#awaited.get(binding)?.();
    this.#awaited.delete(binding);
  }

  /** The worker that provides the type says how a binding went. */
  answered(binding: Binding, problem: string | undefined): void {
    const wasUnconfirmed = binding.isUnconfirmed;
    const { reason } = binding.standing;
    binding.answered(problem);
    if (!wasUnconfirmed && binding.standing.reason === reason) return;
    this.#tellOwners(binding, undefined);
    this.#onChange(binding, "updated");
  }

  /** Takes a worker's request and tells the worker how it stands. */
  register(owner: TriggerOwner, request: TriggerRequest): BindingHold {
    const key = bindingKey(request);
    const ownerKey = `${owner.workerId} ${request.id}`;
    let binding = this.#bindings.get(key);
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
    // What an unrestricted worker may come back to stays so when a restricted one joins and goes.
    if (owner.principal.isTrusted) {
      this.#cancelKeeping(binding);
      binding.isGivenUp = false;
    }
    const isRemarked = remark(binding, owner, request);
    binding.owners.set(ownerKey, { owner, request });
    binding.ownersChanged();
    if (owner.principal.isTrusted) for (const id of binding.needed) this.#onNeededByTrusted(id);
    const provider = this.#providerFor(binding);
    if (provider === undefined) binding.detach();
    // A worker that provides the type hands on the metadata itself, so it must hear of new ones.
    if (provider !== undefined && (!binding.attached || (isRemarked && !provider.builtIn))) this.#attach(binding, provider);
    else if (!binding.isUnconfirmed) owner.notify(request, { ...binding.standing, error: undefined });
    this.#onChange(binding, isNew ? "created" : "updated");
    const held = binding;
    return {
      key,
      remove: () => this.#release(held, ownerKey, owner, "explicit"),
      leave: () => this.#release(held, ownerKey, owner, "gone"),
    };
  }

  /** Whether a binding of a trusted worker cannot do without the function, e.g. its condition. */
  isNeededByTrusted(id: FunctionId): boolean {
    for (const binding of this.#needing.of(id)) if (!binding.isRestricted) return true;
    return false;
  }

  /** Returns whether a binding of a trusted worker calls the function. */
  isCalledByTrusted(id: FunctionId): boolean {
    for (const binding of this.#ofFunction.of(id)) if (!binding.isRestricted) return true;
    return false;
  }

  /** A function came or went, so the status of its bindings may have changed. */
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
    for (const [workerId, name] of this.#configuredWorkers) if (name === configuredName) this.#configuredWorkers.delete(workerId);
  }

  /** The connection is gone for good; its claim is no longer needed. Call after its holds were released. */
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
    binding.owners.delete(ownerKey);
    const { id } = hold.request;
    if (id !== binding.id && this.#byId.get(id) === binding) this.#byId.delete(id);
    const builtIn = this.typeById(binding.type)?.provider.builtIn ?? false;
    const wasLastTrusted = owner.principal.isTrusted && ![...binding.owners.values()].some((other) => other.owner.principal.isTrusted);
    if (how === "explicit" && wasLastTrusted) binding.isGivenUp = true;
    if (how === "gone" && builtIn && wasLastTrusted) this.#keep(binding, this.#configuredWorkers.get(owner.workerId));
    if (binding.isAway && binding.kept === undefined) {
      this.#remove(binding, "withdrawn");
      return;
    }
    binding.ownersChanged();
    this.#onChange(binding, "updated");
  }

  #keep(binding: Binding, configuredWorker: string | undefined): void {
    const cancel = configuredWorker === undefined ? this.#clock.after(KEEP_REMOTE_BINDINGS_MS, () => this.#endKeeping(binding, "lapsed")) : () => {};
    binding.kept = { configuredWorker, cancel };
    // Over the limit those go that waited longest: workers that come and go must not pile up bindings.
    if (configuredWorker === undefined) for (const oldest of this.#keptRemote.add(binding)) this.#endKeeping(oldest, "lapsed");
  }

  #cancelKeeping(binding: Binding): void {
    this.#keptRemote.delete(binding);
    binding.kept?.cancel();
    binding.kept = undefined;
  }

  /** It is kept no longer: it goes, unless somebody else asked for it meanwhile. */
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
    this.#tellOwners(binding, undefined);
    this.#onChange(binding, "updated");
  }

  #tellOwners(binding: Binding, error: Parameters<TriggerOwner["notify"]>[1]["error"]): void {
    this.#stopAwaiting(binding);
    for (const { owner, request } of binding.owners.values()) owner.notify(request, { ...binding.standing, error });
  }
}

/**
 * Takes the request's metadata for the binding's; true when that changed it. A restricted worker that asks for what another has does not change
 * what the other's function is told, and an unrestricted one does not leave it at a restricted one's word.
 */
function remark(binding: Binding, { principal }: TriggerOwner, { metadata }: TriggerRequest): boolean {
  const isTakenOver = !isSamePrincipal(principal, binding.metadataFrom);
  if (isTakenOver && !principal.isTrusted) return false;
  binding.metadataFrom = principal;
  if (metadata === undefined && !isTakenOver) return false;
  if (canonicalJson(metadata ?? null) === canonicalJson(binding.metadata ?? null)) return false;
  binding.metadata = metadata;
  return true;
}
