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
} from "@svc/protocol";
import { type Principal, TRUSTED } from "./access/principal.ts";
import type { SessionAccess } from "./access/session-access.ts";
import { refusalToSee } from "./access/target-refusal.ts";
import type { Call, Outcome, Provider, Refusal } from "./call.ts";
import type { TriggerStatus } from "./directory.ts";
import { dispatch } from "./handlers/index.ts";
import type { Kernel } from "./kernel.ts";
import type { LogFields, Logger } from "./logger.ts";
import { PendingCalls } from "./pending-calls.ts";
import { Scope, type Undo } from "./scope.ts";
import type { TriggerOwner, TriggerRequest } from "./trigger-binding.ts";
import type { BindingHold } from "./trigger-registry.ts";
import { frameOfAnswer, frameOfCall } from "./worker-frames.ts";

/** What a session needs of the connection below it. */
export interface SessionOutlet {
  send(frame: Frame): void;
  readonly isOpen: boolean;
  /** See `FrameSocket.trackNextFrame`. */
  trackNextFrame(): (() => boolean) | undefined;
  /** True while so much is waiting to be read by the peer that no further call may be added. */
  isFull(): boolean;
  /** Ends the connection; the session is told by `end`. */
  drop(reason: string): void;
  /** Ends it without a closing word, after what is queued. */
  hangUp(reason: string): void;
  /** Stops reading; the undo goes on. */
  pauseReading(): Undo;
}

/** How a worker introduced itself in its `engine::workers::register` call. */
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

/** A trigger that this connection asked for. */
interface StandingTrigger {
  readonly hold: BindingHold;
  readonly leave: Undo;
  /** Ends the watch over the functions that it names. */
  readonly unwatch: Undo;
}

const NOTHING: readonly never[] = [];
const NO_FEATURES: ReadonlySet<Feature> = new Set();

/**
 * What one worker's connection means: takes its messages, and hands back messages through the outlet. Does no I/O and
 * knows no time. Everything that the worker registered lies in its scope and goes with it.
 */
export class Session implements Provider, TriggerOwner {
  readonly workerId: WorkerId;
  readonly reattachToken: string;
  readonly remoteAddress: string | undefined;
  readonly connectedAtMs: number;
  /** What it may do; undefined when it is not restricted. */
  readonly access: SessionAccess | undefined;
  /** False once the rules changed by which its connection was let in. */
  readonly isCurrent: () => boolean;
  readonly scope = new Scope();
  readonly builtIn = false;
  /** Calls that this worker is running. */
  readonly held = new PendingCalls();
  /** Void calls on their way; they count towards the limit of calls in flight. */
  voidCalls = 0;
  introduction: Introduction | undefined;
  features: ReadonlySet<Feature> = NO_FEATURES;
  readonly #kernel: Kernel;
  readonly #outlet: SessionOutlet;
  #caller: Caller;
  // Tables are made when the first entry comes: many a connection never fills most of them, and there may be ten thousand connections.
  #functions: Map<FunctionId, Undo> | undefined;
  #triggerTypes: Map<TriggerTypeId, Undo> | undefined;
  #triggers: Map<TriggerId, StandingTrigger> | undefined;
  #made: Map<InvocationId, Call> | undefined;

  constructor(
    kernel: Kernel,
    outlet: SessionOutlet,
    identity: {
      readonly workerId: WorkerId;
      readonly reattachToken: string;
      readonly remoteAddress: string | undefined;
      readonly access: SessionAccess | undefined;
      readonly isCurrent: () => boolean;
    },
  ) {
    this.#kernel = kernel;
    this.#outlet = outlet;
    this.workerId = identity.workerId;
    this.reattachToken = identity.reattachToken;
    this.remoteAddress = identity.remoteAddress;
    this.connectedAtMs = kernel.clock.now();
    this.access = identity.access;
    this.isCurrent = identity.isCurrent;
    if (this.access?.grants.prefix !== undefined) this.scope.add(kernel.reservedIds.hold(this.access.grants.prefix));
    this.#caller = { worker_id: identity.workerId, name: "" };
  }

  /** For what the client can cause as often as it likes: see ThrottledLog. Connections of one restricted principal count together. */
  warn(message: string, fields: LogFields): void {
    const { isTrusted, id } = this.principal;
    this.#kernel.throttledLog.warn(this.log, isTrusted ? this.workerId : id, message, fields);
  }

  get log(): Logger {
    return this.#kernel.log.with({ workerId: this.workerId });
  }

  /** For those who only look: they make no tables. */
  get functionIds(): Iterable<FunctionId> {
    return this.#functions?.keys() ?? NOTHING;
  }

  get triggerTypeIds(): Iterable<TriggerTypeId> {
    return this.#triggerTypes?.keys() ?? NOTHING;
  }

  get triggerCount(): number {
    return this.#triggers?.size ?? 0;
  }

  /** Undo of each function that this connection registered. */
  get functions(): Map<FunctionId, Undo> {
    this.#functions ??= new Map();
    return this.#functions;
  }

  get triggerTypes(): Map<TriggerTypeId, Undo> {
    this.#triggerTypes ??= new Map();
    return this.#triggerTypes;
  }

  get triggers(): Map<TriggerId, StandingTrigger> {
    this.#triggers ??= new Map();
    return this.#triggers;
  }

  /** Calls that this worker made and waits for. Void calls are not among them. */
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

  get inFlight(): number {
    return this.held.size;
  }

  /** The first frame of every connection. */
  greet(): void {
    const { version, instanceId } = this.#kernel.identity;
    this.send({ type: "workerregistered", worker_id: this.workerId, reattach_token: this.reattachToken, engine: { version, instance_id: instanceId } });
  }

  introduce(introduction: Introduction, features: ReadonlySet<Feature>): void {
    this.introduction = introduction;
    this.features = features;
    this.#caller = { worker_id: this.workerId, name: introduction.name };
  }

  receive(message: Message | UndecodableFrame): void {
    if (this.access?.line.held) {
      if (!this.access.line.add(message)) this.drop("too many frames came while a registration hook was asked");
      return;
    }
    dispatch(message, this, this.#kernel);
  }

  /** Later frames of this connection wait until the answer is there and dealt with. For restricted connections; `answer` must not reject. */
  waitFor<T>(answer: Promise<T>, goOn: (value: T) => void): void {
    const line = this.access?.line;
    if (line === undefined) throw new TypeError("only a restricted connection waits for hooks");
    line.hold();
    const resume = this.#outlet.pauseReading();
    void answer.then((value) => {
      if (this.scope.ended) {
        line.clear();
        return;
      }
      this.#guarded(() => goOn(value));
      line.release((message) => this.#guarded(() => dispatch(message, this, this.#kernel)));
      resume();
    });
  }

  /** As the connection does for frames that did not wait: a defect of the engine costs this frame only. */
  #guarded(action: () => void): void {
    try {
      action();
    } catch (error) {
      this.log.error("a frame could not be handled", { error });
      this.sendError(new CallError("invocation_error", "the engine failed to handle the frame; its log has the reason"));
    }
  }

  /** Takes back one function, by the id that the engine knows it by. */
  withdrawFunction(id: FunctionId): void {
    const undo = this.#functions?.get(id);
    this.#functions?.delete(id);
    this.access?.functions.forget(id);
    undo?.();
  }

  withdrawTriggerType(id: TriggerTypeId): void {
    const undo = this.#triggerTypes?.get(id);
    this.#triggerTypes?.delete(id);
    this.access?.triggerTypes.forget(id);
    undo?.();
  }

  send(message: Exclude<Message, MessageOf<"invokefunction"> | MessageOf<"invocationresult">>): void {
    this.#outlet.send(encodeMessage(message));
  }

  /** Says that a frame was refused, where no other answer exists for it. Published clients ignore the message. */
  sendError(error: CallError): void {
    this.send({ type: "error", error: { code: error.code, message: error.message, stacktrace: undefined, details: error.details } });
  }

  /** Ends the connection from our side. */
  drop(reason: string): void {
    this.#outlet.drop(reason);
  }

  /** The engine stops: ends the connection without a closing word, after what is queued. */
  hangUp(reason: string): void {
    this.#outlet.hangUp(reason);
  }

  /** The connection is gone: what it registered goes, what it ran fails, what it waited for is cancelled. */
  end(): void {
    if (this.scope.ended) return;
    const stopped = this.held.all();
    this.scope.end();
    for (const call of [...(this.#made?.values() ?? [])]) this.#kernel.router.cancel(call, "the caller's connection ended");
    this.#made = undefined;
    for (const call of stopped) {
      const details = { function_id: call.functionId, worker_id: this.workerId, worker_name: this.name, reason: "the worker's connection ended" };
      const isUnsent = call.isUnsent?.() ?? false;
      const error = new CallError("invocation_stopped", "Invocation stopped", { details: isUnsent ? { ...details, executed: "no" } : details });
      this.#kernel.router.settle(call, { ok: false, error, cause: isUnsent ? "not_delivered" : "provider_disconnected" });
    }
  }

  /** Takes back a trigger that this connection asked for; an id it does not know has no effect. */
  removeTrigger(id: TriggerId): void {
    const standing = this.#triggers?.get(id);
    if (standing === undefined) return;
    standing.unwatch();
    standing.hold.remove();
    this.triggers.delete(id);
    standing.leave();
  }

  // Provider: this worker runs calls.

  refusal(): Refusal | undefined {
    if (this.scope.ended || !this.#outlet.isOpen) return "draining";
    return this.held.size >= this.#kernel.limits.maxCallsHeld || this.#outlet.isFull() ? "overloaded" : undefined;
  }

  deliver(call: Call): CallError | undefined {
    if (this.held.has(call.id)) return new CallError("invalid_message", `invocation_id ${call.id} is already in use by a call in flight`);
    const frame = frameOfCall(call, this);
    if (CallError.is(frame)) return frame;
    this.held.hold(call);
    call.isUnsent = this.#outlet.trackNextFrame();
    this.#outlet.send(frame);
    // It is on its way; a worker that answers late must not keep it in the engine's memory.
    call.payload = Payload.null;
    return undefined;
  }

  withdraw(call: Call, reason: string): void {
    if (this.features.has("cancel") && !this.scope.ended) this.send({ type: "cancelinvocation", invocation_id: call.id, reason });
  }

  release(call: Call): void {
    this.held.release(call);
  }

  // TriggerOwner: this worker asked for bindings.

  callRefusal(functionId: FunctionId): string | undefined {
    return this.access === undefined ? undefined : refusalToSee(functionId, this.access, this.#kernel.registry);
  }

  notify(
    request: TriggerRequest,
    standing: { readonly status: TriggerStatus; readonly reason: string | undefined; readonly error: CallError | undefined },
  ): void {
    if (this.scope.ended) return;
    const wantsAll = this.features.has("registration_results");
    const failure =
      standing.error ??
      (standing.status === "error" ? new CallError("trigger_registration_failed", standing.reason ?? "the trigger does not work") : undefined);
    // On the published wire success is silent.
    if (failure === undefined && !wantsAll) return;
    this.send({
      type: "triggerregistrationresult",
      id: request.id,
      trigger_type: request.type,
      function_id: this.access?.localFunctionId(request.functionId) ?? request.functionId,
      error: failure === undefined ? undefined : { code: failure.code, message: failure.message, stacktrace: undefined, details: undefined },
      status: wantsAll ? standing.status : undefined,
      reason: wantsAll ? standing.reason : undefined,
    });
  }

  /** Fails a call that this worker runs. */
  failHeld(call: Call, error: CallError): void {
    this.#kernel.router.settle(call, { ok: false, error });
  }

  /** Answers a call that this worker made. `isTraced`: it was made within a trace. Clients of ours that have none are not told the callee's. */
  answer(invocationId: InvocationId, functionId: string, outcome: Outcome, isTraced = true): void {
    if (this.scope.ended) return;
    this.#outlet.send(frameOfAnswer({ invocationId, functionId, outcome, isTraced }, this, this.#outlet));
  }
}
