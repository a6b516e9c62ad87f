import { CallError, type ChannelRef, DEFAULT_TIMEOUT_MS, encodeMessage, type InvocationId, type MessageOf, memberTexts, type WireError } from "@svc/protocol";
import { encodeCall, encodeFailure, encodeResult, oversize } from "./frames.ts";
import { decodeInbound, type Inbound, type InboundCall } from "./inbound.ts";
import { JsonPayload } from "./json-call.ts";
import { jsonTextOf } from "./json-text.ts";
import { encodeOutbound, type OutboundCall, queueFull } from "./outbound-call.ts";
import { callTimeout, PendingCall, PendingCalls } from "./pending-calls.ts";
import { type Binding, encodeBindingResult, ProvidedBindings } from "./provided-bindings.ts";
import { type FunctionRegistration, Registrations, type TriggerRegistration, type TriggerTypeRegistration } from "./registrations.ts";

/** What became of a trigger. `inactive`: it waits for its function or its type. `error`: `reason` says why. */
export interface TriggerResult {
  readonly status: "active" | "inactive" | "error";
  readonly reason?: string | undefined;
}

/** An inbound call that has been accepted; it always has an id to answer to. */
export interface AcceptedCall extends InboundCall {
  readonly invocationId: string;
  /** Ends of channels in the payload; they go when the call is given up. */
  readonly ends?: readonly { readonly ref: ChannelRef; readonly wasUsed?: boolean; breakOff(error: CallError): void }[];
}

/** Where the session hands out what it wants done. Nothing here may throw. */
export interface SessionOutput {
  /** Only called between `opened` and `closed`. */
  send(frame: string): void;
  /** `takesTelemetry`: it is an engine of svc, which keeps what this worker tells of its work. */
  registered(workerId: string, takesTelemetry: boolean): void;
  run(call: AcceptedCall): void;
  cancel(invocationId: string, reason: string): void;
  bind(binding: Binding): void;
  unbind(binding: Binding): void;
  triggerResult(id: string, result: TriggerResult): void;
  log(level: "debug" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface SessionOptions {
  readonly output: SessionOutput;
  /** Payload of the register call: how the worker introduces itself. */
  readonly introduction: Readonly<Record<string, unknown>>;
  /** Gives a new UUID. */
  readonly newId: () => string;
  /** Deadline of calls that name none, in milliseconds. Default 30,000, of which the engine is not told: it is its own default. */
  readonly callTimeoutMs?: number | undefined;
}

/**
 * The worker's side of the wire without any I/O: what to send and what to do for each frame, each open and close and each
 * passing of time. Times are milliseconds of one monotonic clock.
 */
export class Session {
  readonly #output: SessionOutput;
  readonly #newId: () => string;
  readonly #introduction: string;
  readonly #callTimeoutMs: number | undefined;
  /** Known when it has greeted. Whatever was not written, or to whom is not known yet, has the deadline of this side. */
  #engineKeepsDeadlines = false;
  readonly #registrations = new Registrations();
  readonly #pending = new PendingCalls();
  /** Inbound calls that are not answered yet, by invocation id, with the id of their function. */
  readonly #inbound = new Map<string, string>();
  readonly #bindings = new ProvidedBindings();
  /** Unregistered functions that are still run: the engine may have sent calls of them before it read that they are unregistered. */
  readonly #leaving = new Set<string>();
  #onDrained: (() => void) | undefined;
  #open = false;
  #previous: { readonly workerId: string; readonly token: string | undefined } | undefined;

  constructor(options: SessionOptions) {
    this.#output = options.output;
    this.#newId = options.newId;
    this.#callTimeoutMs = options.callTimeoutMs;
    this.#introduction = encodeCall({
      invocationId: undefined,
      functionId: "engine::workers::register",
      payload: JSON.stringify(options.introduction),
      traceparent: undefined,
      baggage: undefined,
      action: { type: "void" },
      metadata: undefined,
      timeoutMs: undefined,
    });
  }

  /** When `advance` is due next; infinite when nothing waits. */
  get nextDeadlineMs(): number {
    return this.#pending.earliestDeadlineMs;
  }

  get pendingCalls(): number {
    return this.#pending.size;
  }

  // --- the connection ---

  /** The socket opened: greets, replays all registrations, then writes the calls that waited and have not expired. */
  opened(nowMs: number): void {
    this.#open = true;
    if (this.#previous !== undefined) {
      this.#output.send(encodeMessage({ type: "reattach", previous_worker_id: this.#previous.workerId, reattach_token: this.#previous.token }));
    }
    this.#output.send(this.#introduction);
    for (const frame of this.#registrations.replay()) this.#output.send(frame);
    this.advance(nowMs);
    for (const call of this.#pending.takeWaiting()) if (call.waiting !== undefined) this.#write(call, call.waiting);
  }

  /**
   * The socket closed. Sent calls fail and are never sent again: the function may have run. Running handlers are cancelled,
   * since the engine has failed their calls; bindings are let go, since the engine delivers them anew.
   */
  closed(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#drained();
    this.#engineKeepsDeadlines = false;
    for (const call of this.#pending.takeWritten()) {
      call.reject(
        new CallError("disconnected", `the connection ended before function ${call.functionId} answered; it may have run`, {
          details: { function_id: call.functionId },
        }),
      );
    }
    const running = [...this.#inbound.keys()];
    this.#inbound.clear();
    for (const invocationId of running) this.#output.cancel(invocationId, "disconnected");
    for (const binding of this.#bindings.removeAll()) this.#output.unbind(binding);
  }

  /** Time passed: fails the calls whose deadline has come and tells the engine. */
  advance(nowMs: number): void {
    for (const call of this.#pending.takeExpired(nowMs)) {
      const written = call.waiting === undefined;
      if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "timeout");
      call.reject(written ? callTimeout(call) : neverSent(callTimeout(call)));
    }
  }

  /** One promise for each call without an answer, resolved when it ends. */
  callEnds(): readonly Promise<void>[] {
    return this.#pending.all().map(
      (call) =>
        new Promise<void>((resolve) => {
          const before = call.onEnd;
          call.onEnd = () => {
            before?.();
            resolve();
          };
        }),
    );
  }

  /** Fails every call that has no answer yet, sent or not. For the end of the worker. */
  failAll(error: CallError): void {
    for (const call of this.#pending.takeWritten()) call.reject(error);
    for (const call of this.#pending.takeWaiting()) call.reject(neverSent(error));
  }

  // --- registrations ---

  /** Throws TypeError for a bad or taken id. */
  registerFunction(registration: FunctionRegistration): void {
    this.#announce(this.#registrations.addFunction(registration));
  }

  unregisterFunction(id: string): void {
    if (this.#registrations.remove("functions", id)) this.#announce(JSON.stringify({ type: "unregisterfunction", id }));
  }

  /**
   * Unregisters all functions. Resolves when no more calls can arrive: the engine has read that, or the socket has closed. Calls that arrive
   * until then are run. The answer to a ping shows it, since the engine handles frames in order.
   */
  drain(): Promise<void> {
    const ids = this.#registrations.functionIds();
    for (const id of ids) this.unregisterFunction(id);
    if (!this.#open || ids.length === 0) return Promise.resolve();
    for (const id of ids) this.#leaving.add(id);
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#announce('{"type":"ping"}');
    });
  }

  #drained(): void {
    this.#leaving.clear();
    this.#onDrained?.();
    this.#onDrained = undefined;
  }

  /** Gives the trigger's id. Throws TypeError for a bad function id or type. */
  registerTrigger(registration: Omit<TriggerRegistration, "id">): string {
    const id = this.#newId();
    this.#announce(this.#registrations.addTrigger({ ...registration, id }));
    return id;
  }

  unregisterTrigger(id: string, type: string): void {
    if (this.#registrations.remove("triggers", id)) this.#announce(JSON.stringify({ type: "unregistertrigger", id, trigger_type: type }));
  }

  /** Throws TypeError for a bad or taken id. */
  registerTriggerType(registration: TriggerTypeRegistration): void {
    this.#announce(this.#registrations.addTriggerType(registration));
  }

  unregisterTriggerType(id: string): void {
    if (this.#registrations.remove("types", id)) this.#announce(JSON.stringify({ type: "unregistertriggertype", id }));
  }

  /** While the socket is closed nothing needs to be said: the next open replays what is registered then. */
  #announce(frame: string): void {
    if (this.#open) this.#output.send(frame);
  }

  // --- calls of this worker ---

  /** Throws CallError when the call cannot be made; otherwise it ends by `resolve` or `reject`. */
  call(request: OutboundCall, nowMs: number, resolve: (result: unknown) => void, reject: (error: CallError) => void): PendingCall {
    const invocationId = request.action?.type === "void" ? undefined : this.#newId();
    const named = request.timeoutMs ?? this.#callTimeoutMs;
    const timeoutMs = named ?? DEFAULT_TIMEOUT_MS;
    const frame = encodeOutbound(request, invocationId, named);
    const wantsText = request.payload instanceof JsonPayload;
    const call = new PendingCall(
      { functionId: request.functionId, invocationId, timeoutMs, namesDeadline: named !== undefined, deadlineMs: nowMs + timeoutMs, wantsText },
      resolve,
      reject,
    );
    if (this.#open) this.#write(call, frame);
    else if (this.#pending.full) throw queueFull(request.functionId);
    else this.#pending.addWaiting(call, frame);
    return call;
  }

  /** The caller no longer wants it. Nothing happens when it has ended. */
  abort(call: PendingCall): void {
    if (call.ended) return;
    const written = call.waiting === undefined;
    this.#pending.remove(call);
    if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "cancelled");
    const error = new CallError("call_cancelled", `the call of function ${call.functionId} was withdrawn by its caller`, {
      details: { function_id: call.functionId },
    });
    call.reject(written ? error : neverSent(error));
  }

  #write(call: PendingCall, frame: string): void {
    call.waiting = undefined;
    if (this.#engineKeepsDeadlines) call.leaveDeadlineToEngine();
    if (call.invocationId !== undefined) this.#pending.addWritten(call, call.invocationId);
    this.#output.send(frame);
    if (call.invocationId === undefined) call.resolve(undefined);
  }

  #sendCancel(invocationId: string, reason: string): void {
    this.#announce(encodeMessage({ type: "cancelinvocation", invocation_id: invocationId as InvocationId, reason }));
  }

  // --- calls to this worker ---

  /** The handler's result; undefined answers without one. A result that JSON cannot hold, or too large, answers with an error. */
  answer(invocationId: string, result: unknown): void {
    const functionId = this.#settleInbound(invocationId);
    if (functionId === undefined) return;
    let text: string | undefined;
    try {
      text = jsonTextOf(result);
    } catch (cause) {
      const error = new CallError("serialization_error", `the result of function ${functionId} cannot be written as JSON: ${(cause as Error).message}`);
      this.#output.log("error", "a handler's result cannot be written as JSON", { function_id: functionId, invocation_id: invocationId, error });
      this.#output.send(encodeFailure(invocationId, functionId, error.toWire()));
      return;
    }
    const frame = encodeResult(invocationId, functionId, text);
    const tooLarge = oversize(frame, `the result of function ${functionId}`);
    this.#output.send(tooLarge === undefined ? frame : encodeFailure(invocationId, functionId, tooLarge.toWire()));
  }

  fail(invocationId: string, error: WireError): void {
    const functionId = this.#settleInbound(invocationId);
    if (functionId === undefined) return;
    const frame = encodeFailure(invocationId, functionId, error);
    const tooLarge = oversize(frame, `the error of function ${functionId}`);
    this.#output.send(tooLarge === undefined ? frame : encodeFailure(invocationId, functionId, { code: error.code, message: error.message.slice(0, 4096) }));
  }

  /** The function of a call that still wants an answer. One that was cancelled, or came over a connection that is gone, does not. */
  #settleInbound(invocationId: string): string | undefined {
    const functionId = this.#inbound.get(invocationId);
    if (functionId !== undefined) this.#inbound.delete(invocationId);
    else this.#output.log(this.#open ? "debug" : "warn", "a result was dropped: its call has ended", { invocation_id: invocationId, connected: this.#open });
    return functionId;
  }

  // --- provider of trigger types ---

  /** The provider bound it, or failed to. */
  answerBinding(binding: Binding, error?: WireError): void {
    if (!this.#bindings.holds(binding)) return;
    if (error !== undefined) this.#bindings.remove(binding.id);
    this.#announce(encodeBindingResult(binding, error));
  }

  // --- frames from the engine ---

  readonly #handlers: { readonly [Type in Inbound["type"]]: (message: Extract<Inbound, { readonly type: Type }>) => void } = {
    invokefunction: (message) => this.#onCall(message),
    invocationresult: (message) => this.#onResult(message.invocationId, message.result, message.error, message.frame),
    cancelinvocation: (message) => {
      if (this.#inbound.delete(message.invocation_id)) this.#output.cancel(message.invocation_id, message.reason ?? "cancelled");
    },
    workerregistered: (message) => {
      this.#previous = { workerId: message.worker_id, token: message.reattach_token };
      this.#engineKeepsDeadlines = message.engine !== undefined;
      if (this.#engineKeepsDeadlines) for (const call of this.#pending.written()) call.leaveDeadlineToEngine();
      this.#output.registered(message.worker_id, this.#engineKeepsDeadlines);
    },
    registertrigger: (message) => this.#onBind(message),
    unregistertrigger: (message) => this.#onUnbind(message.id),
    triggerregistrationresult: (message) => this.#onTriggerResult(message),
    error: (message) => this.#onError(message.error),
    ping: () => this.#announce('{"type":"pong"}'),
    pong: () => this.#drained(),
    broken: (message) => this.#onBroken(message),
    ignored: () => {},
  };

  /** One text frame arrived. Never throws. */
  received(text: string): void {
    const message = decodeInbound(text);
    // The table is total by its type; that a message meets the entry of its own type is more than the type checker can see.
    (this.#handlers[message.type] as (message: Inbound) => void)(message);
  }

  #onCall(message: InboundCall): void {
    // Only an engine that wants no answer leaves the id out; the handler's bookkeeping needs one all the same.
    const invocationId = message.invocationId ?? this.#newId();
    if (!this.#registrations.has("functions", message.functionId) && !this.#leaving.has(message.functionId)) {
      const error = new CallError("function_not_found", `Function ${message.functionId} not found`);
      if (message.invocationId !== undefined) this.#announce(encodeFailure(invocationId, message.functionId, error.toWire()));
      return;
    }
    if (this.#inbound.has(invocationId)) {
      this.#output.log("warn", "a call came twice and is run once", { invocation_id: invocationId, function_id: message.functionId });
      return;
    }
    this.#inbound.set(invocationId, message.functionId);
    this.#output.run(message.invocationId === undefined ? { ...message, invocationId } : (message as AcceptedCall));
  }

  #onResult(invocationId: string, result: unknown, error: WireError | undefined, frame: string): void {
    const call = this.#pending.take(invocationId);
    if (call === undefined) return;
    if (error === undefined) call.resolve(call.wantsText ? (memberTexts(frame).get("result") ?? "null") : result);
    else call.reject(CallError.fromWire(error));
  }

  #onBind(message: MessageOf<"registertrigger">): void {
    if (!this.#registrations.has("types", message.trigger_type)) {
      this.#announce(encodeBindingResult(message, { code: "trigger_type_not_found", message: `Trigger type ${message.trigger_type} not found` }));
      return;
    }
    const { binding, replaced } = this.#bindings.add(message);
    if (replaced !== undefined) this.#output.unbind(replaced);
    this.#output.bind(binding);
  }

  #onUnbind(id: string): void {
    const binding = this.#bindings.remove(id);
    if (binding !== undefined) this.#output.unbind(binding);
  }

  #onTriggerResult(message: MessageOf<"triggerregistrationresult">): void {
    if (!this.#registrations.has("triggers", message.id)) return;
    const status = message.status ?? (message.error === undefined ? "active" : "error");
    this.#output.triggerResult(message.id, { status, reason: message.reason ?? message.error?.message });
  }

  #onError(error: MessageOf<"error">["error"]): void {
    const id = error.details?.id;
    if (error.details?.message_type === "registertrigger" && typeof id === "string" && this.#registrations.has("triggers", id)) {
      this.#output.triggerResult(id, { status: "error", reason: error.message });
      return;
    }
    this.#output.log("error", "the engine refused a message", { code: error.code, error: error.message, details: error.details });
  }

  #onBroken(message: Extract<Inbound, { type: "broken" }>): void {
    const { call, problem } = message;
    this.#output.log("warn", "a frame from the engine is malformed", { problem, invocation_id: call?.invocationId });
    if (call === undefined) return;
    const error: WireError = { code: "invalid_message", message: problem };
    if (call.type === "invokefunction") this.#announce(encodeFailure(call.invocationId, call.functionId, error));
    else this.#onResult(call.invocationId, undefined, error, "");
  }
}

/** The same error for a call that waited for the connection: the function cannot have run. */
function neverSent(error: CallError): CallError {
  return new CallError(error.code, error.message, { details: { ...error.details, executed: "no" } });
}
