import { CallError, type FunctionId, Payload, type TriggerId, type TriggerTypeId } from "@svc-runtime/protocol";
import { isSamePrincipal, type Principal, TRUSTED } from "../../access/principal.ts";
import type { RemoteNode } from "../call.ts";
import type { TriggerStatus } from "../directory.ts";
import type { CallOptions } from "../module.ts";
import type { Undo } from "../scope.ts";

export interface TriggerRequest {
  readonly id: TriggerId;
  readonly type: TriggerTypeId;
  readonly functionId: FunctionId;
  readonly config: unknown;
  readonly metadata: unknown;
}

export interface TriggerState {
  readonly status: TriggerStatus;
  readonly reason: string | undefined;
  readonly error: CallError | undefined;
}

/** A worker that registered a trigger. */
export interface TriggerOwner {
  readonly workerId: string;
  readonly name: string;
  readonly principal: Principal;
  /** True for a worker on standby. Its triggers are active only if a worker in service registered them too. */
  readonly isStandby?: boolean;
  /** True for a worker that is connected to another node. */
  readonly isRemote?: boolean;
  /** True for a published client. Unknown members in the configs of its triggers are ignored, not refused. */
  readonly ignoresUnknown: boolean;
  /** For a restricted worker: returns why it may not see the result of the function; undefined if it may see it. */
  callRefusal?(functionId: FunctionId): string | undefined;
  /** Informs the worker of the state of its trigger, or of a later failure. */
  notify(request: TriggerRequest, state: TriggerState): void;
}

/** Serves triggers of a type: a module or a worker. */
export interface TriggerTypeProvider {
  readonly workerId: string;
  readonly workerName: string;
  /**
   * True if the provider is a module. A binding of a module's type is kept for a while after its last owner
   * disconnected, and its result is known at once. A binding of a worker's type ends with its last owner, and its
   * result is known when the worker has responded.
   */
  readonly builtIn: boolean;
  /** True for a worker on standby. It serves the type only if there is no other provider. */
  readonly isStandby?: boolean;
  /** Set for a worker that is connected to another node. It serves the type only if this node has no provider. */
  readonly remote?: RemoteNode | undefined;
  /** True if triggers of other nodes' workers are bound here as well. */
  readonly onEveryNode?: boolean;
  /** The principal of the provider, which owns the type. */
  readonly principal: Principal;
  /** Activates the binding. Throws CallError if the config is refused. */
  attach(binding: Binding): Undo;
}

/** The functions of the registry that a binding uses. */
export interface BindingHost {
  call(functionId: FunctionId, payload: Payload, options: CallOptions): Promise<Payload>;
  functionIsLive(functionId: FunctionId): boolean;
  changed(binding: Binding): void;
  /** Returns a sentence that says why the binding has no provider. */
  whyUnattached(binding: Binding): string;
  /** Replaces the list of functions that the binding needs. */
  needs(binding: Binding, ids: readonly FunctionId[]): void;
}

/** Requests with the same key share one binding. An event calls its function once, not once for each owner. */
export function bindingKey(request: TriggerRequest): string {
  return canonicalJson([request.type, request.functionId, request.config ?? null]);
}

/** A binding of a function to a trigger, with all workers that registered it. */
export class Binding {
  readonly key: string;
  readonly type: TriggerTypeId;
  readonly functionId: FunctionId;
  readonly config: unknown;
  metadata: unknown;
  /** The principal whose metadata is used: the first, until a trusted worker registers the trigger. */
  metadataFrom: Principal;
  /** The owners with their requests. The key consists of the worker id and the trigger id of the request. */
  readonly owners = new Map<string, { readonly owner: TriggerOwner; readonly request: TriggerRequest }>();
  /**
   * Set while the last trusted owner is disconnected and the binding is kept for its return. The binding may still have
   * restricted owners.
   */
  kept: { readonly configuredWorker: string | undefined; readonly cancel: () => void } | undefined;
  /** How the binding ended. `withdrawn`: its owners unregistered it. `lapsed`: no owner came back in time. */
  ended: "withdrawn" | "lapsed" | undefined;
  /** True if the last trusted owner unregistered the trigger, and no trusted worker has registered it since. */
  isGivenUp = false;
  /**
   * True if unknown members of the config are ignored, because a published client was among the owners. Set when the
   * binding is attached; does not change if it has no owners then.
   */
  ignoresUnknown = false;
  /**
   * The error for owners that are not published clients, although the binding is attached. The provider of the type
   * sets it if it ignored unknown members of the config, because only published clients may have such members.
   */
  strictRefusal: CallError | undefined;
  #id: TriggerId;
  #workerName: string;
  #detach: Undo | undefined;
  #problem: string | undefined;
  /** The worker whose response to the binding is pending. */
  #unconfirmedBy: TriggerTypeProvider | undefined;
  #attaching = false;
  #needed: readonly FunctionId[] = [];
  #lastPrincipal: Principal;
  #awaitedOwner = false;
  /** The listeners of the provider, while the binding is attached. */
  #onPrincipalChange: (() => void) | undefined;
  #onAwayChange: (() => void) | undefined;
  readonly #host: BindingHost;

  constructor(id: TriggerId, request: TriggerRequest, owner: TriggerOwner, host: BindingHost) {
    this.key = bindingKey(request);
    this.type = request.type;
    this.functionId = request.functionId;
    this.config = request.config ?? null;
    this.metadata = request.metadata;
    this.#id = id;
    this.#workerName = owner.name;
    this.metadataFrom = owner.principal;
    this.#lastPrincipal = owner.principal;
    this.#host = host;
  }

  /** Approximate memory, in characters of the request. */
  get size(): number {
    return this.key.length + (JSON.stringify(this.metadata)?.length ?? 0);
  }

  /**
   * The id of the first request, or a new one if another binding had that id. It does not change while the binding
   * exists, even if the first owner leaves.
   */
  get id(): TriggerId {
    return this.#id;
  }

  get workerName(): string {
    const [first] = this.owners.values();
    if (first !== undefined) this.#workerName = first.owner.name;
    return this.#workerName;
  }

  /**
   * The principal that registered the trigger. It is the trusted principal if a trusted worker is an owner, or was one
   * and may come back. Otherwise it is the principal of the first owner.
   */
  get principal(): Principal {
    if (this.kept !== undefined) return TRUSTED;
    let first: Principal | undefined;
    for (const { owner } of this.owners.values()) {
      if (owner.principal.isTrusted) return owner.principal;
      first ??= owner.principal;
    }
    return first ?? this.#lastPrincipal;
  }

  /**
   * Like `principal`, but stored at the last change of owners, because a binding may have ten thousand owners, and
   * lists of triggers read the principal often.
   */
  get lastPrincipal(): Principal {
    return this.#lastPrincipal;
  }

  /** True if only restricted connections registered the trigger. It must not replace a binding of a trusted worker. */
  get isRestricted(): boolean {
    return !this.principal.isTrusted;
  }

  /** True if all owners are disconnected. */
  get isAway(): boolean {
    return this.owners.size === 0;
  }

  /** True if all owners are on standby. */
  get isStandby(): boolean {
    for (const { owner } of this.owners.values()) if (owner.isStandby !== true) return false;
    return !this.isAway;
  }

  /** True if all owners are connected to other nodes. */
  get isElsewhere(): boolean {
    for (const { owner } of this.owners.values()) if (owner.isRemote !== true) return false;
    return !this.isAway;
  }

  /** True while the last trusted owner is disconnected and may come back, even if restricted owners are connected. */
  get awaitsOwner(): boolean {
    return this.kept !== undefined;
  }

  /**
   * True if the binding is not attached because all owners are on standby. The owners get no result until this ends.
   */
  get isHeldBack(): boolean {
    return !this.attached && this.#problem === undefined && this.isStandby;
  }

  /**
   * Returns an error if none of the owners may see the result of the function. Returns undefined if one of them may, or
   * if the binding is kept for a trusted owner.
   */
  callRefusal(functionId: FunctionId): CallError | undefined {
    if (!this.isRestricted) return undefined;
    let refusal: string | undefined;
    for (const { owner } of this.owners.values()) {
      const reason = owner.callRefusal === undefined ? undefined : owner.callRefusal(functionId);
      if (reason === undefined) return undefined;
      refusal ??= reason;
    }
    return refusal === undefined ? undefined : new CallError("FORBIDDEN", refusal);
  }

  /**
   * Returns an error if the bound function must not be called later on behalf of the owners, e.g. by a job; undefined
   * if it may be.
   */
  deferRefusal(): CallError | undefined {
    return this.#endRefusal() ?? this.callRefusal(this.functionId);
  }

  /**
   * Returns an error if the binding must not call functions any more; undefined if it may. This is checked before each
   * call, because a binding of a restricted principal ends when another principal takes over its function, and a
   * delivery may then still be waiting for its condition or its turn.
   */
  #endRefusal(): CallError | undefined {
    if (this.ended === undefined || !this.isRestricted) return undefined;
    return new CallError("call_cancelled", `a trigger of ${this.functionId} was removed before it called`, {
      details: { executed: "no" },
    });
  }

  /** Calls `listener` when `principal` has changed. The provider of the type is the only listener. */
  onPrincipalChange(listener: () => void): Undo {
    this.#onPrincipalChange = listener;
    return () => {
      if (this.#onPrincipalChange === listener) this.#onPrincipalChange = undefined;
    };
  }

  /** Calls `listener` when `awaitsOwner` has changed. The provider of the type is the only listener. */
  onAwayChange(listener: () => void): Undo {
    this.#onAwayChange = listener;
    return () => {
      if (this.#onAwayChange === listener) this.#onAwayChange = undefined;
    };
  }

  /** Must be called when owners were added or removed. */
  ownersChanged(): void {
    const { principal, awaitsOwner } = this;
    const isOther = !isSamePrincipal(principal, this.#lastPrincipal);
    const isOtherwiseAway = awaitsOwner !== this.#awaitedOwner;
    this.#lastPrincipal = principal;
    this.#awaitedOwner = awaitsOwner;
    if (isOther) this.#onPrincipalChange?.();
    if (isOtherwiseAway) this.#onAwayChange?.();
  }

  get attached(): boolean {
    return this.#detach !== undefined;
  }

  /** True while the worker that provides the type has received the binding and has not responded. */
  get isUnconfirmed(): boolean {
    return this.#unconfirmedBy !== undefined;
  }

  get state(): { readonly status: TriggerStatus; readonly reason: string | undefined } {
    if (this.attached && this.isAway) return { status: "inactive", reason: "the worker that asked for it is away" };
    if (this.#problem !== undefined) return { status: "error", reason: this.#problem };
    if (this.isHeldBack) return { status: "inactive", reason: "another process of its worker is in service" };
    if (!this.attached) return { status: "inactive", reason: this.#host.whyUnattached(this) };
    if (!this.#host.functionIsLive(this.functionId))
      return { status: "inactive", reason: `no live worker provides ${this.functionId}` };
    const missing = this.#needed.find((id) => !this.#host.functionIsLive(id));
    if (missing !== undefined)
      return { status: "inactive", reason: `no live worker provides ${missing}, without which it cannot run` };
    return {
      status: "active",
      reason:
        this.#unconfirmedBy === undefined
          ? undefined
          : `the worker ${this.#unconfirmedBy.workerName} has not confirmed it`,
    };
  }

  /** Passes the binding to the provider of its type. If the provider refuses it, stores the error and returns it. */
  attach(provider: TriggerTypeProvider): CallError | undefined {
    this.detach();
    if (!this.isAway) this.ignoresUnknown = [...this.owners.values()].some(({ owner }) => owner.ignoresUnknown);
    this.#attaching = true;
    try {
      this.#detach = provider.attach(this);
      if (!provider.builtIn) this.#unconfirmedBy = provider;
    } catch (thrown) {
      const cause = CallError.from(thrown);
      const error =
        cause.code === "invocation_failed"
          ? new CallError("trigger_registration_failed", cause.message, { cause })
          : cause;
      this.#problem = error.message;
      this.needs([]);
      return error;
    } finally {
      this.#attaching = false;
    }
    return undefined;
  }

  detach(): void {
    const detach = this.#detach;
    this.#detach = undefined;
    this.#problem = undefined;
    this.#unconfirmedBy = undefined;
    this.strictRefusal = undefined;
    this.needs([]);
    detach?.();
  }

  /**
   * Records the response of the worker that provides the type. If the worker refused the binding, the binding shows the
   * problem and waits until a worker registers the type or the trigger again.
   */
  answered(problem: string | undefined): void {
    this.#unconfirmedBy = undefined;
    this.#problem = problem;
    if (problem !== undefined) this.#detach = undefined;
  }

  /** Records a problem that the provider found; undefined clears it. */
  report(problem: string | undefined): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    // While the binding is being attached, the code that attaches it notifies the owners.
    if (!this.#attaching) this.#host.changed(this);
  }

  /** Functions that the binding needs besides the bound function. */
  get needed(): readonly FunctionId[] {
    return this.#needed;
  }

  /** Sets `needed`. Called by the provider of the type. */
  needs(ids: readonly FunctionId[]): void {
    if (ids.length === 0 && this.#needed.length === 0) return;
    const { reason } = this.state;
    this.#host.needs(this, ids);
    this.#needed = ids;
    if (!this.#attaching && this.attached && this.state.reason !== reason) this.#host.changed(this);
  }

  fire(payload: Payload, options: CallOptions = {}): Promise<Payload> {
    const metadata = fireMetadata(this.metadata, options.metadata);
    return this.call(this.functionId, payload, metadata === options.metadata ? options : { ...options, metadata });
  }

  async passes(payload: Payload, options: CallOptions = {}): Promise<boolean> {
    const { config } = this;
    if (typeof config !== "object" || config === null || !("condition_function_id" in config)) return true;
    const condition = config.condition_function_id;
    if (typeof condition !== "string") return true;
    const answer = await this.call(condition as FunctionId, payload, options);
    return answer.text().trim() !== "false";
  }

  /** Calls a function that the config names, e.g. middleware. Rejects if the trigger is restricted and has ended. */
  call(functionId: FunctionId, payload: Payload, options: CallOptions): Promise<Payload> {
    const refusal = this.#endRefusal();
    return refusal === undefined ? this.#host.call(functionId, payload, options) : Promise.reject(refusal);
  }
}

/**
 * Returns the metadata of a trigger's call: the trigger's own metadata plus the members that the provider of the type
 * adds. Metadata that is not an object is left unchanged.
 */
function fireMetadata(own: unknown, added: Payload | undefined): Payload | undefined {
  if (own === undefined || own === null) return added;
  if (added === undefined || typeof own !== "object" || Array.isArray(own)) return Payload.fromValue(own);
  return Payload.fromValue({ ...own, ...(added.value() as object) });
}

/**
 * Returns JSON text that is the same for equal values: object keys are in code-unit order. For comparing configs, not
 * for the wire.
 */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`);
  return `{${members.join(",")}}`;
}
