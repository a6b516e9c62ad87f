import {
  CallError,
  type Caller,
  encodeMessage,
  type Feature,
  type Frame,
  type FunctionId,
  type InvocationId,
  type Message,
  type MessageOf,
  Payload,
  type TriggerId,
  type TriggerTypeId,
  type UndecodableFrame,
  type WorkerId,
} from "@svc-runtime/protocol";
import { type Principal, TRUSTED } from "../access/principal.ts";
import type { ReservedIds } from "../access/reserved-ids.ts";
import type { SessionAccess } from "../access/session-access.ts";
import { refusalToSee } from "../access/target-refusal.ts";
import type { Call, Outcome, Provider, Refusal } from "./call.ts";
import { providerGone } from "./call-errors.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import type { LogFields, Logger } from "./logger.ts";
import { PendingCalls } from "./pending-calls.ts";
import type { Registry } from "./registry.ts";
import type { Router } from "./router.ts";
import { Scope, type Undo } from "./scope.ts";
import type { ThrottledLog } from "./throttled-log.ts";
import type { TriggerOwner, TriggerRequest, TriggerState } from "./triggers/trigger-binding.ts";
import type { BindingHold } from "./triggers/trigger-registry.ts";
import { frameOfAnswer, frameOfCall } from "./worker-frames.ts";
import type { WorkerLimits } from "./worker-limits.ts";

/** The parts of the kernel that a session uses. */
export interface SessionPorts {
  readonly router: Router;
  readonly registry: Registry;
  readonly reservedIds: ReservedIds;
  readonly limits: WorkerLimits;
  readonly identity: { readonly version: string; readonly instanceId: string };
  readonly log: Logger;
  readonly throttledLog: ThrottledLog;
  readonly changes: DirectoryChanges;
  /** Handles a message of the session. */
  readonly dispatch: (message: Message | UndecodableFrame, session: Session) => void;
}

/** The functions of the connection that the session uses. */
export interface SessionOutlet {
  send(frame: Frame): void;
  readonly isOpen: boolean;
  /** See `FrameSocket.trackNextFrame`. */
  trackNextFrame(): (() => boolean) | undefined;
  /** True while the peer's queue is full, so that no further call may be sent. */
  isFull(): boolean;
  /** True while the peer's queue has no room for large results of the peer's own calls. */
  isOverfull(): boolean;
  /** Closes the connection, and calls `end` of the session. */
  drop(reason: string): void;
  /** Ends the connection without a close frame, after the queued frames. */
  hangUp(reason: string): void;
  /** Pauses reading until the returned function is called. */
  pauseReading(): Undo;
}

/** The worker's own description, from its `engine::workers::register` call. */
export interface Introduction {
  readonly name: string;
  readonly description: string | undefined;
  readonly runtime: string;
  readonly version: string | undefined;
  readonly os: string | undefined;
  readonly pid: number | undefined;
  readonly isolation: string | undefined;
  readonly kind: "worker" | "cli" | "console";
}

/** A trigger that this connection registered. */
interface RegisteredTrigger {
  readonly hold: BindingHold;
  readonly leave: Undo;
  /** Stops watching the functions that the trigger names. */
  readonly unwatch: Undo;
}

const NOTHING: readonly never[] = [];
const NO_FEATURES: ReadonlySet<Feature> = new Set();

/**
 * The state of one worker's connection: handles its messages, and sends messages through the outlet. Has no dependency
 * on I/O or timers. All registrations of the worker are in its scope and end with it.
 */
export class Session implements Provider, TriggerOwner {
  readonly workerId: WorkerId;
  readonly reattachToken: string;
  readonly remoteAddress: string | undefined;
  /** On the wall clock, for display. */
  readonly connectedAtMs: number;
  /** On the monotonic clock. */
  readonly connectedAt: number;
  /** Permissions; undefined if the connection is not restricted. */
  readonly access: SessionAccess | undefined;
  /** Returns false if the access rules by which the connection was accepted have changed. */
  readonly isCurrent: () => boolean;
  readonly scope = new Scope();
  readonly builtIn = false;
  /** Set by `StandbyWorkers`. */
  isStandby = false;
  /** Set by `Drain`: the worker gets no new calls, except those that finish other in-flight work. */
  isLeaving = false;
  /** Calls in flight in this worker. */
  readonly held = new PendingCalls();
  /** Void calls in flight from this worker. They count towards the limit of calls in flight. */
  voidCalls = 0;
  introduction: Introduction | undefined;
  features: ReadonlySet<Feature> = NO_FEATURES;
  readonly #ports: SessionPorts;
  readonly #outlet: SessionOutlet;
  #caller: Caller;
  // Each Map is created for its first entry. This saves memory, because there may be ten thousand connections, and most
  // of them never need most of the Maps.
  #functions: Map<FunctionId, Undo> | undefined;
  #triggerTypes: Map<TriggerTypeId, Undo> | undefined;
  #triggers: Map<TriggerId, RegisteredTrigger> | undefined;
  #made: Map<InvocationId, Call> | undefined;

  constructor(
    ports: SessionPorts,
    outlet: SessionOutlet,
    identity: {
      readonly workerId: WorkerId;
      readonly reattachToken: string;
      readonly remoteAddress: string | undefined;
      readonly connectedAtMs: number;
      readonly connectedAt: number;
      readonly access: SessionAccess | undefined;
      readonly isCurrent: () => boolean;
    },
  ) {
    this.#ports = ports;
    this.#outlet = outlet;
    this.workerId = identity.workerId;
    this.reattachToken = identity.reattachToken;
    this.remoteAddress = identity.remoteAddress;
    this.connectedAtMs = identity.connectedAtMs;
    this.connectedAt = identity.connectedAt;
    this.access = identity.access;
    this.isCurrent = identity.isCurrent;
    if (this.access?.grants.prefix !== undefined) this.scope.add(ports.reservedIds.hold(this.access.grants.prefix));
    this.#caller = { worker_id: identity.workerId, name: "" };
  }

  /**
   * Logs a warning that the client can cause at any rate; see ThrottledLog. Connections of one restricted principal are
   * limited together.
   */
  warn(message: string, fields: LogFields): void {
    const { isTrusted, id } = this.principal;
    this.#ports.throttledLog.warn(this.log, isTrusted ? this.workerId : id, message, fields);
  }

  get log(): Logger {
    return this.#ports.log.with({ workerId: this.workerId });
  }

  /** Ids of the functions. Unlike `functions`, does not create the Map. */
  get functionIds(): Iterable<FunctionId> {
    return this.#functions?.keys() ?? NOTHING;
  }

  get triggerTypeIds(): Iterable<TriggerTypeId> {
    return this.#triggerTypes?.keys() ?? NOTHING;
  }

  get triggerCount(): number {
    return this.#triggers?.size ?? 0;
  }

  /** The undo of each function that this connection registered. */
  get functions(): Map<FunctionId, Undo> {
    this.#functions ??= new Map();
    return this.#functions;
  }

  get triggerTypes(): Map<TriggerTypeId, Undo> {
    this.#triggerTypes ??= new Map();
    return this.#triggerTypes;
  }

  get triggers(): Map<TriggerId, RegisteredTrigger> {
    this.#triggers ??= new Map();
    return this.#triggers;
  }

  /** Calls that this worker has made and whose result is pending, without void calls. */
  get made(): Map<InvocationId, Call> {
    this.#made ??= new Map();
    return this.#made;
  }

  get name(): string {
    return this.introduction?.name ?? "";
  }

  get principal(): Principal {
    return this.access?.grants.principal ?? TRUSTED;
  }

  get caller(): Caller {
    return this.#caller;
  }

  /** True for a connection that declared no optional features. It gets only what the published protocol defines. */
  get isPublishedClient(): boolean {
    return this.features.size === 0;
  }

  get inFlight(): number {
    return this.held.size;
  }

  /** True if no call of or to this worker is in flight. */
  get isIdle(): boolean {
    return this.held.size === 0 && this.voidCalls === 0 && (this.#made?.size ?? 0) === 0;
  }

  /** Sends the first frame of every connection. */
  greet(): void {
    const { version, instanceId } = this.#ports.identity;
    this.send({
      type: "workerregistered",
      worker_id: this.workerId,
      reattach_token: this.reattachToken,
      engine: { version, instance_id: instanceId },
    });
  }

  introduce(introduction: Introduction, features: ReadonlySet<Feature>): void {
    this.introduction = introduction;
    this.features = features;
    this.#caller = { worker_id: this.workerId, name: introduction.name };
  }

  receive(message: Message | UndecodableFrame): void {
    if (this.access?.frames.isPaused) {
      if (!this.access.frames.add(message)) this.drop("too many frames arrived while a registration hook ran");
      return;
    }
    this.#ports.dispatch(message, this);
  }

  /**
   * Calls `proceed` when `answer` has resolved. Delays later frames of this connection until then. Only for restricted
   * connections. `answer` must not reject.
   */
  waitFor<T>(answer: Promise<T>, proceed: (value: T) => void): void {
    const frames = this.access?.frames;
    if (frames === undefined) throw new TypeError("only a restricted connection waits for hooks");
    frames.pause();
    const resume = this.#outlet.pauseReading();
    void answer.then((value) => {
      if (this.scope.ended) {
        frames.clear();
        return;
      }
      this.#guarded(() => proceed(value));
      frames.resume((message) => this.#guarded(() => this.#ports.dispatch(message, this)));
      resume();
    });
  }

  /** Handles a delayed frame. If a defect of the engine throws, only this frame fails, like in `Connection.onFrame`. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.log.error("a frame could not be handled", { error });
      this.sendError(
        new CallError("invocation_error", "the engine failed to handle the frame; its log has the reason"),
      );
    }
  }

  /** Withdraws a function. `id` is its id in the engine, with the prefix of a restricted connection. */
  withdrawFunction(id: FunctionId): void {
    const undo = this.#functions?.get(id);
    this.#functions?.delete(id);
    this.access?.functions.forget(id);
    undo?.();
    this.#registrationsChanged();
  }

  withdrawTriggerType(id: TriggerTypeId): void {
    const undo = this.#triggerTypes?.get(id);
    this.#triggerTypes?.delete(id);
    this.access?.triggerTypes.forget(id);
    undo?.();
    this.#registrationsChanged();
  }

  #registrationsChanged(): void {
    this.#ports.changes.emit({ kind: "registrations", id: this.workerId, op: "updated" });
  }

  send(message: Exclude<Message, MessageOf<"invokefunction"> | MessageOf<"invocationresult">>): void {
    this.#outlet.send(encodeMessage(message));
  }

  /** Reports a refused frame that has no other response. Published clients ignore the message. */
  sendError(error: CallError): void {
    this.send({
      type: "error",
      error: { code: error.code, message: error.message, stacktrace: undefined, details: error.details },
    });
  }

  /** Closes the connection from the engine's side. */
  drop(reason: string): void {
    this.#outlet.drop(reason);
  }

  /** Ends the connection without a close frame, after the queued frames. Used when the engine stops. */
  hangUp(reason: string): void {
    this.#outlet.hangUp(reason);
  }

  /**
   * Handles the end of the connection: removes its registrations, fails the calls that it ran, and cancels the calls
   * that it made.
   */
  end(): void {
    if (this.scope.ended) return;
    const stopped = this.held.all();
    this.scope.end();
    for (const call of [...(this.#made?.values() ?? [])])
      this.#ports.router.cancel(call, "the caller's connection ended");
    this.#made = undefined;
    for (const call of stopped) {
      const reason = "the worker's connection ended";
      this.#ports.router.settle(call, providerGone(call, { worker_id: this.workerId, worker_name: this.name, reason }));
    }
  }

  /** Removes a trigger that this connection registered. An unknown id has no effect. */
  removeTrigger(id: TriggerId): void {
    const trigger = this.#triggers?.get(id);
    if (trigger === undefined) return;
    trigger.unwatch();
    trigger.hold.remove();
    this.triggers.delete(id);
    trigger.leave();
    this.#registrationsChanged();
  }

  // Provider: this worker runs calls.

  refusal(): Refusal | undefined {
    if (this.scope.ended || !this.#outlet.isOpen) return "draining";
    return this.held.size >= this.#ports.limits.maxCallsHeld || this.#outlet.isFull() ? "overloaded" : undefined;
  }

  deliver(call: Call): CallError | undefined {
    if (this.held.has(call.id))
      return new CallError("invalid_message", `invocation_id ${call.id} is already in use by a call in flight`);
    const frame = frameOfCall(call, this);
    if (CallError.is(frame)) return frame;
    this.held.hold(call);
    call.isUnsent = this.#outlet.trackNextFrame();
    this.#outlet.send(frame);
    // The payload was sent. Without this, it would stay in the engine's memory until the worker responds.
    call.payload = Payload.null;
    return undefined;
  }

  withdraw(call: Call, reason: string): void {
    if (this.features.has("cancel") && !this.scope.ended)
      this.send({ type: "cancelinvocation", invocation_id: call.id, reason });
  }

  release(call: Call): void {
    this.held.release(call);
  }

  // TriggerOwner: this worker registered triggers.

  get ignoresUnknown(): boolean {
    return this.isPublishedClient;
  }

  callRefusal(functionId: FunctionId): string | undefined {
    return this.access === undefined ? undefined : refusalToSee(functionId, this.access, this.#ports.registry);
  }

  notify(request: TriggerRequest, state: TriggerState): void {
    if (this.scope.ended) return;
    const wantsAll = this.features.has("registration_results");
    const failure =
      state.error ??
      (state.status === "error"
        ? new CallError("trigger_registration_failed", state.reason ?? "the trigger does not work")
        : undefined);
    // The published protocol has no message for success.
    if (failure === undefined && !wantsAll) return;
    this.send({
      type: "triggerregistrationresult",
      id: request.id,
      trigger_type: request.type,
      function_id: this.access?.localFunctionId(request.functionId) ?? request.functionId,
      error:
        failure === undefined
          ? undefined
          : { code: failure.code, message: failure.message, stacktrace: undefined, details: undefined },
      status: wantsAll ? state.status : undefined,
      reason: wantsAll ? state.reason : undefined,
    });
  }

  /** Fails a call that this worker runs. */
  failHeld(call: Call, error: CallError): void {
    this.#ports.router.settle(call, { ok: false, error });
  }

  /**
   * Sends the result of a call that this worker made. `isTraced`: the call had a trace context. A client that did not
   * send one does not get the trace context of the callee.
   */
  answer(invocationId: InvocationId, functionId: string, outcome: Outcome, isTraced = true): void {
    if (this.scope.ended) return;
    this.#outlet.send(frameOfAnswer({ invocationId, functionId, outcome, isTraced }, this, this.#outlet));
  }
}
