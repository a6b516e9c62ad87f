import { CallError, type FunctionId, Payload, type TriggerId, type TriggerTypeId } from "@svc/protocol";
import { isSamePrincipal, type Principal, TRUSTED } from "./access/principal.ts";
import { canonicalJson } from "./canonical-json.ts";
import type { TriggerStatus } from "./directory.ts";
import type { CallOptions } from "./module.ts";
import type { Undo } from "./scope.ts";

export interface TriggerRequest {
  readonly id: TriggerId;
  readonly type: TriggerTypeId;
  readonly functionId: FunctionId;
  readonly config: unknown;
  readonly metadata: unknown;
}

/** A worker that asked for a binding. */
export interface TriggerOwner {
  readonly workerId: string;
  readonly name: string;
  readonly principal: Principal;
  /** Where access is restricted: why it may not see what the function returns; undefined when it may. */
  callRefusal?(functionId: FunctionId): string | undefined;
  /** Tells the worker how its request stands, or that a standing one went wrong. */
  notify(
    request: TriggerRequest,
    standing: { readonly status: TriggerStatus; readonly reason: string | undefined; readonly error: CallError | undefined },
  ): void;
}

/** Whoever fires triggers of a type: a module, or a worker. */
export interface TriggerTypeProvider {
  readonly workerId: string;
  readonly workerName: string;
  /**
   * Bindings of a worker's type end with their last owner, and how a binding went is known once the worker has answered;
   * those of the engine are kept for a while (decision 11) and answered at once.
   */
  readonly builtIn: boolean;
  /** Whose type it is. */
  readonly principal: Principal;
  /** Starts to watch for the occasion; throws CallError when the config is refused. */
  attach(binding: Binding): Undo;
}

/** What a binding needs of its surroundings. */
export interface BindingHost {
  call(functionId: FunctionId, payload: Payload, options: CallOptions): Promise<Payload>;
  functionIsLive(functionId: FunctionId): boolean;
  changed(binding: Binding): void;
  /** Why nobody serves the binding, in a sentence. */
  whyUnattached(binding: Binding): string;
  /** From now on the binding cannot do without these functions, instead of those in `needed`. */
  needs(binding: Binding, ids: readonly FunctionId[]): void;
}

/** Two requests with the same key are one binding, fired once, however many workers ask for it (decision 10). */
export function bindingKey(request: TriggerRequest): string {
  return canonicalJson([request.type, request.functionId, request.config ?? null]);
}

/** One binding of a function to an occasion, with all the workers that asked for it. */
export class Binding {
  readonly key: string;
  readonly type: TriggerTypeId;
  readonly functionId: FunctionId;
  readonly config: unknown;
  metadata: unknown;
  /** Whose word the metadata is: who asked first, until a trusted worker asks. */
  metadataFrom: Principal;
  /** Each owner's request, by owner and trigger id. */
  readonly owners = new Map<string, { readonly owner: TriggerOwner; readonly request: TriggerRequest }>();
  /** Set while the last unrestricted owner is away and the binding is kept for its return; restricted ones may hold it meanwhile. */
  kept: { readonly configuredWorker: string | undefined; readonly cancel: () => void } | undefined;
  /** How it ended: somebody took it back, or nobody came back for it in time. */
  ended: "withdrawn" | "lapsed" | undefined;
  /** The last trusted owner took its request back, and no trusted one has asked since. */
  isGivenUp = false;
  #id: TriggerId;
  #workerName: string;
  #detach: Undo | undefined;
  #problem: string | undefined;
  /** The worker that was asked to bind and has not answered. */
  #unconfirmedBy: TriggerTypeProvider | undefined;
  #attaching = false;
  #needed: readonly FunctionId[] = [];
  #toldPrincipal: Principal;
  /** The provider's, while it is attached. */
  #onPrincipalChange: (() => void) | undefined;
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
    this.#toldPrincipal = owner.principal;
    this.#host = host;
  }

  /** About how much of memory it takes, in characters of what it was asked with. */
  get size(): number {
    return this.key.length + (JSON.stringify(this.metadata)?.length ?? 0);
  }

  /** The first request's id, unless another binding has it; it stays while the binding lives, whichever owner goes. */
  get id(): TriggerId {
    return this.#id;
  }

  get workerName(): string {
    const [first] = this.owners.values();
    if (first !== undefined) this.#workerName = first.owner.name;
    return this.#workerName;
  }

  /** Who asks for it: the trusted one where a trusted worker does or may come back, else the first. */
  get principal(): Principal {
    if (this.kept !== undefined) return TRUSTED;
    let first: Principal | undefined;
    for (const { owner } of this.owners.values()) {
      if (owner.principal.isTrusted) return owner.principal;
      first ??= owner.principal;
    }
    return first ?? this.#toldPrincipal;
  }

  /** The same, as of the last change of owners: a binding may have ten thousand, and lists ask often. */
  get lastPrincipal(): Principal {
    return this.#toldPrincipal;
  }

  /** Only restricted connections ask for it: it must not keep anything from what a trusted one asks for. */
  get isRestricted(): boolean {
    return !this.principal.isTrusted;
  }

  /** Nobody who asked for it is there. */
  get isAway(): boolean {
    return this.owners.size === 0;
  }

  /** Why none of its owners may see what the function returns; undefined when one of them may, or it is kept for an unrestricted one. */
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

  /** Why the bound function must not be called later on behalf of its owners, e.g. by a job; undefined when it may be. */
  deferRefusal(): CallError | undefined {
    return this.#endRefusal() ?? this.callRefusal(this.functionId);
  }

  /**
   * Why it calls no function any more; undefined while it does. A binding of a restricted principal ends when its function becomes another's; a delivery
   * may be waiting for the condition or for its turn at that moment.
   */
  #endRefusal(): CallError | undefined {
    if (this.ended === undefined || !this.isRestricted) return undefined;
    return new CallError("call_cancelled", `a trigger of ${this.functionId} was removed before it called`, { details: { executed: "no" } });
  }

  /** One listener at a time, that of the provider; called when `principal` has become another. */
  onPrincipalChange(listener: () => void): Undo {
    this.#onPrincipalChange = listener;
    return () => {
      if (this.#onPrincipalChange === listener) this.#onPrincipalChange = undefined;
    };
  }

  /** Call when owners came or went. */
  ownersChanged(): void {
    const { principal } = this;
    if (isSamePrincipal(principal, this.#toldPrincipal)) return;
    this.#toldPrincipal = principal;
    this.#onPrincipalChange?.();
  }

  get attached(): boolean {
    return this.#detach !== undefined;
  }

  /** True while the worker that provides the type has been told of the binding and has not said how it went. */
  get isUnconfirmed(): boolean {
    return this.#unconfirmedBy !== undefined;
  }

  get standing(): { readonly status: TriggerStatus; readonly reason: string | undefined } {
    if (this.#problem !== undefined) return { status: "error", reason: this.#problem };
    if (!this.attached) return { status: "inactive", reason: this.#host.whyUnattached(this) };
    if (this.owners.size === 0) return { status: "inactive", reason: "the worker that asked for it is away" };
    if (!this.#host.functionIsLive(this.functionId)) return { status: "inactive", reason: `no live worker provides ${this.functionId}` };
    const missing = this.#needed.find((id) => !this.#host.functionIsLive(id));
    if (missing !== undefined) return { status: "inactive", reason: `no live worker provides ${missing}, without which it cannot run` };
    return { status: "active", reason: this.#unconfirmedBy === undefined ? undefined : `the worker ${this.#unconfirmedBy.workerName} has not confirmed it` };
  }

  /** Hands the binding to the provider of its type. A refusal is kept as its problem and returned. */
  attach(provider: TriggerTypeProvider): CallError | undefined {
    this.detach();
    this.#attaching = true;
    try {
      this.#detach = provider.attach(this);
      if (!provider.builtIn) this.#unconfirmedBy = provider;
    } catch (thrown) {
      const cause = CallError.from(thrown);
      const error = cause.code === "invocation_failed" ? new CallError("trigger_registration_failed", cause.message, { cause }) : cause;
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
    this.needs([]);
    detach?.();
  }

  /**
   * The worker that provides the type says how it went. What it refused it does not hold: the binding waits, with the
   * problem shown, until the type is provided anew or somebody asks for it again.
   */
  answered(problem: string | undefined): void {
    this.#unconfirmedBy = undefined;
    this.#problem = problem;
    if (problem !== undefined) this.#detach = undefined;
  }

  /** The provider found, now or later, that the binding does not work; undefined takes that back. */
  report(problem: string | undefined): void {
    if (this.#problem === problem) return;
    this.#problem = problem;
    // While it is being attached, whoever attaches it tells the owners how it ended.
    if (!this.#attaching) this.#host.changed(this);
  }

  /** Functions besides the bound one that it cannot do without. */
  get needed(): readonly FunctionId[] {
    return this.#needed;
  }

  /** The provider says which those are. */
  needs(ids: readonly FunctionId[]): void {
    if (ids.length === 0 && this.#needed.length === 0) return;
    const { reason } = this.standing;
    this.#host.needs(this, ids);
    this.#needed = ids;
    if (!this.#attaching && this.attached && this.standing.reason !== reason) this.#host.changed(this);
  }

  fire(payload: Payload, options: CallOptions = {}): Promise<Payload> {
    const metadata = fireMetadata(this.metadata, options.metadata);
    return this.#call(this.functionId, payload, metadata === options.metadata ? options : { ...options, metadata });
  }

  async passes(payload: Payload, options: CallOptions = {}): Promise<boolean> {
    const { config } = this;
    if (typeof config !== "object" || config === null || !("condition_function_id" in config)) return true;
    const condition = config.condition_function_id;
    if (typeof condition !== "string") return true;
    const answer = await this.#call(condition as FunctionId, payload, options);
    return answer.text().trim() !== "false";
  }

  #call(functionId: FunctionId, payload: Payload, options: CallOptions): Promise<Payload> {
    const refusal = this.#endRefusal();
    return refusal === undefined ? this.#host.call(functionId, payload, options) : Promise.reject(refusal);
  }
}

/**
 * What the function of a trigger is told besides its payload: the trigger's own metadata and, beside its members, those that the provider of
 * the type adds. Metadata that is no object has no place for them, and stays as it is.
 */
function fireMetadata(own: unknown, added: Payload | undefined): Payload | undefined {
  if (own === undefined || own === null) return added;
  if (added === undefined || typeof own !== "object" || Array.isArray(own)) return Payload.fromValue(own);
  return Payload.fromValue({ ...own, ...(added.value() as object) });
}
