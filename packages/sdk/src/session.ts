import {
  CallError,
  type ChannelRef,
  DEFAULT_TIMEOUT_MS,
  type ErrorCode,
  encodeMessage,
  type InvocationId,
  type MessageOf,
  type WireError,
} from "@svc-runtime/protocol/client";
import { encodeCall, encodeFailure, encodeResult, oversizeError } from "./frames.ts";
import { decodeInbound, type Inbound, type InboundCall } from "./inbound.ts";
import { JsonPayload } from "./json-call.ts";
import { jsonTextOf } from "./json-text.ts";
import { encodeOutbound, type OutboundCall, queueFull } from "./outbound-call.ts";
import { callTimeout, PendingCall, PendingCalls } from "./pending-calls.ts";
import { encodeBindingResult, ProvidedBindings, type WireBinding } from "./provided-bindings.ts";
import {
  type FunctionRegistration,
  Registrations,
  type TriggerRegistration,
  type TriggerTypeRegistration,
} from "./registrations.ts";

/**
 * Status of a trigger. `inactive`: its function or its type is not registered at present. `error`: `reason` gives the
 * cause.
 */
export interface TriggerResult {
  readonly status: "active" | "inactive" | "error";
  readonly reason?: string | undefined;
}

/** An accepted inbound call. Always has an id. */
export interface AcceptedCall extends InboundCall {
  readonly invocationId: string;
  /** Channel ends in the payload. They are aborted when the call is cancelled. */
  readonly ends?: readonly { readonly ref: ChannelRef; readonly wasUsed?: boolean; breakOff(error: CallError): void }[];
}

/** Receives the effects of the session. The methods must not throw. */
export interface SessionOutput {
  /** Called only between `opened` and `closed`. */
  send(frame: string): void;
  /** `takesTelemetry`: the engine is a svc engine, which stores telemetry. */
  registered(workerId: string, takesTelemetry: boolean): void;
  run(call: AcceptedCall): void;
  cancel(invocationId: string, reason: string): void;
  bind(binding: WireBinding): void;
  unbind(binding: WireBinding): void;
  triggerResult(id: string, result: TriggerResult): void;
  log(level: "debug" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface SessionOptions {
  readonly output: SessionOutput;
  /** Payload of the register call. */
  readonly introduction: Readonly<Record<string, unknown>>;
  /** Returns a new UUID. */
  readonly newId: () => string;
  /**
   * Deadline of calls without `timeout_ms`, in milliseconds. Default 30,000. The default is not sent, since it is also
   * the engine's.
   */
  readonly callTimeoutMs?: number | undefined;
}

/** Codes of errors about a registration that succeeded. */
const WARNINGS: ReadonlySet<string> = new Set<ErrorCode>(["format_not_enforced", "function_shared"]);

/**
 * The worker's side of the protocol, without I/O: decides what to send and to run for each frame, open, close and
 * passing of time. Times are milliseconds of one monotonic clock.
 */
export class Session {
  readonly #output: SessionOutput;
  readonly #newId: () => string;
  readonly #introduction: string;
  readonly #callTimeoutMs: number | undefined;
  /**
   * Whether the engine answers calls at their deadline. Known once it has registered this worker. Until then, and for
   * unsent calls, this side enforces the deadline.
   */
  #engineKeepsDeadlines = false;
  readonly #registrations = new Registrations();
  readonly #pending = new PendingCalls();
  /** Unanswered inbound calls: function id by invocation id. */
  readonly #inbound = new Map<string, string>();
  readonly #bindings = new ProvidedBindings();
  /** Unregistered functions whose calls still run: the engine may have sent calls before it read the unregistration. */
  readonly #unregistering = new Set<string>();
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

  /** Time at which `advance` is due next. Infinite if no call is pending. */
  get nextDeadlineMs(): number {
    return this.#pending.earliestDeadlineMs;
  }

  get pendingCalls(): number {
    return this.#pending.size;
  }

  // --- the connection ---

  /**
   * Handles the open of the socket: introduces the worker, replays all registrations, then sends the waiting calls that
   * have not expired.
   */
  opened(nowMs: number): void {
    this.#open = true;
    if (this.#previous !== undefined) {
      this.#output.send(
        encodeMessage({
          type: "reattach",
          previous_worker_id: this.#previous.workerId,
          reattach_token: this.#previous.token,
        }),
      );
    }
    this.#output.send(this.#introduction);
    for (const frame of this.#registrations.replay()) this.#output.send(frame);
    this.advance(nowMs);
    for (const call of this.#pending.takeWaiting()) if (call.waiting !== undefined) this.#write(call, call.waiting);
  }

  /**
   * Handles the close of the socket. Sent calls fail and are never sent again: the function may have run. Running
   * handlers are cancelled, since the engine has failed their calls. Bindings are unbound, since the engine sends them
   * again.
   */
  closed(): void {
    if (!this.#open) return;
    this.#open = false;
    this.#drained();
    this.#engineKeepsDeadlines = false;
    for (const call of this.#pending.takeSent()) {
      call.reject(
        new CallError(
          "disconnected",
          `the connection ended before function ${call.functionId} answered; it may have run`,
          {
            details: { function_id: call.functionId },
          },
        ),
      );
    }
    const running = [...this.#inbound.keys()];
    this.#inbound.clear();
    for (const invocationId of running) this.#output.cancel(invocationId, "disconnected");
    for (const binding of this.#bindings.removeAll()) this.#output.unbind(binding);
  }

  /** Fails the calls whose deadline has passed, and cancels them at the engine. */
  advance(nowMs: number): void {
    for (const call of this.#pending.takeExpired(nowMs)) {
      const written = call.waiting === undefined;
      if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "timeout");
      call.reject(written ? callTimeout(call) : neverSent(callTimeout(call)));
    }
  }

  /** Returns one promise per pending call, which resolves when the call ends. */
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

  /** Fails every pending call, sent or not. For the shutdown of the worker. */
  failAll(error: CallError): void {
    for (const call of this.#pending.takeSent()) call.reject(error);
    for (const call of this.#pending.takeWaiting()) call.reject(neverSent(error));
  }

  // --- registrations ---

  /**
   * @throws TypeError for an invalid or taken id.
   */
  registerFunction(registration: FunctionRegistration): void {
    this.#sendIfOpen(this.#registrations.addFunction(registration));
  }

  unregisterFunction(id: string): void {
    if (this.#registrations.remove("functions", id))
      this.#sendIfOpen(JSON.stringify({ type: "unregisterfunction", id }));
  }

  /**
   * Unregisters all functions. Resolves when no more calls can arrive: when the engine has read the unregistration, or
   * the socket has closed. Calls that arrive until then are run. Since the engine handles frames in order, its answer
   * to a ping proves that it has read the earlier frames.
   */
  drain(): Promise<void> {
    const ids = this.#registrations.functionIds();
    for (const id of ids) this.unregisterFunction(id);
    if (!this.#open || ids.length === 0) return Promise.resolve();
    for (const id of ids) this.#unregistering.add(id);
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.#sendIfOpen('{"type":"ping"}');
    });
  }

  #drained(): void {
    this.#unregistering.clear();
    this.#onDrained?.();
    this.#onDrained = undefined;
  }

  /**
   * Returns the trigger's id.
   *
   * @throws TypeError for an invalid function id or type.
   */
  registerTrigger(registration: Omit<TriggerRegistration, "id">): string {
    const id = this.#newId();
    this.#sendIfOpen(this.#registrations.addTrigger({ ...registration, id }));
    return id;
  }

  unregisterTrigger(id: string, type: string): void {
    if (this.#registrations.remove("triggers", id))
      this.#sendIfOpen(JSON.stringify({ type: "unregistertrigger", id, trigger_type: type }));
  }

  /**
   * @throws TypeError for an invalid or taken id.
   */
  registerTriggerType(registration: TriggerTypeRegistration): void {
    this.#sendIfOpen(this.#registrations.addTriggerType(registration));
  }

  unregisterTriggerType(id: string): void {
    if (this.#registrations.remove("types", id))
      this.#sendIfOpen(JSON.stringify({ type: "unregistertriggertype", id }));
  }

  /** Sends nothing while the socket is closed: the next open replays the present registrations. */
  #sendIfOpen(frame: string): void {
    if (this.#open) this.#output.send(frame);
  }

  // --- calls of this worker ---

  /**
   * Sends a call, or queues it while the socket is closed. It ends with `resolve` or `reject`.
   *
   * @throws CallError if the call cannot be made.
   */
  call(
    request: OutboundCall,
    nowMs: number,
    resolve: (result: unknown) => void,
    reject: (error: CallError) => void,
  ): PendingCall {
    const invocationId = request.action?.type === "void" ? undefined : this.#newId();
    const named = request.timeoutMs ?? this.#callTimeoutMs;
    const timeoutMs = named ?? DEFAULT_TIMEOUT_MS;
    const frame = encodeOutbound(request, invocationId, named);
    const wantsFrame = request.payload instanceof JsonPayload;
    const call = new PendingCall(
      {
        functionId: request.functionId,
        invocationId,
        timeoutMs,
        hasOwnDeadline: named !== undefined,
        deadlineMs: nowMs + timeoutMs,
        wantsFrame,
      },
      resolve,
      reject,
    );
    if (this.#open) this.#write(call, frame);
    else if (this.#pending.full) throw queueFull(request.functionId);
    else this.#pending.addWaiting(call, frame);
    return call;
  }

  /** Cancels a call. Does nothing if it has ended. */
  abort(call: PendingCall): void {
    if (call.ended) return;
    const written = call.waiting === undefined;
    this.#pending.remove(call);
    if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "cancelled");
    const error = new CallError(
      "call_cancelled",
      `the call of function ${call.functionId} was cancelled by its caller`,
      {
        details: { function_id: call.functionId },
      },
    );
    call.reject(written ? error : neverSent(error));
  }

  #write(call: PendingCall, frame: string): void {
    call.waiting = undefined;
    if (this.#engineKeepsDeadlines) call.leaveDeadlineToEngine();
    if (call.invocationId !== undefined) this.#pending.addSent(call, call.invocationId);
    this.#output.send(frame);
    if (call.invocationId === undefined) call.resolve(undefined);
  }

  #sendCancel(invocationId: string, reason: string): void {
    this.#sendIfOpen(encodeMessage({ type: "cancelinvocation", invocation_id: invocationId as InvocationId, reason }));
  }

  // --- calls to this worker ---

  /**
   * Answers a call with the handler's result. Undefined sends no result. If JSON cannot represent the result, or it is
   * too large, the answer is an error.
   */
  answer(invocationId: string, result: unknown): void {
    const functionId = this.#settleInbound(invocationId);
    if (functionId === undefined) return;
    let text: string | undefined;
    try {
      text = jsonTextOf(result);
    } catch (cause) {
      const error = new CallError(
        "serialization_error",
        `the result of function ${functionId} cannot be written as JSON: ${(cause as Error).message}`,
      );
      this.#output.log("error", "failed to encode a handler's result as JSON", {
        function_id: functionId,
        invocation_id: invocationId,
        error,
      });
      this.#output.send(encodeFailure(invocationId, functionId, error.toWire()));
      return;
    }
    const frame = encodeResult(invocationId, functionId, text);
    const tooLarge = oversizeError(frame, `the result of function ${functionId}`);
    this.#output.send(tooLarge === undefined ? frame : encodeFailure(invocationId, functionId, tooLarge.toWire()));
  }

  fail(invocationId: string, error: WireError): void {
    const functionId = this.#settleInbound(invocationId);
    if (functionId === undefined) return;
    const frame = encodeFailure(invocationId, functionId, error);
    const tooLarge = oversizeError(frame, `the error of function ${functionId}`);
    this.#output.send(
      tooLarge === undefined
        ? frame
        : encodeFailure(invocationId, functionId, { code: error.code, message: error.message.slice(0, 4096) }),
    );
  }

  /**
   * Returns the function of a call that still needs an answer. A cancelled call and a call of an earlier connection do
   * not.
   */
  #settleInbound(invocationId: string): string | undefined {
    const functionId = this.#inbound.get(invocationId);
    if (functionId !== undefined) this.#inbound.delete(invocationId);
    else
      this.#output.log(this.#open ? "debug" : "warn", "a result was dropped: the call is no longer pending", {
        invocation_id: invocationId,
        connected: this.#open,
      });
    return functionId;
  }

  // --- provider of trigger types ---

  /** Reports that the provider bound the trigger, or failed to. */
  answerBinding(binding: WireBinding, error?: WireError): void {
    if (!this.#bindings.holds(binding)) return;
    if (error !== undefined) this.#bindings.remove(binding.id);
    this.#sendIfOpen(encodeBindingResult(binding, error));
  }

  // --- frames from the engine ---

  readonly #handlers: {
    readonly [Type in Inbound["type"]]: (message: Extract<Inbound, { readonly type: Type }>) => void;
  } = {
    invokefunction: (message) => this.#onCall(message),
    invocationresult: (message) => this.#onResult(message.invocationId, message.result, message.error, message.frame),
    cancelinvocation: (message) => {
      if (this.#inbound.delete(message.invocation_id))
        this.#output.cancel(message.invocation_id, message.reason ?? "cancelled");
    },
    workerregistered: (message) => {
      this.#previous = { workerId: message.worker_id, token: message.reattach_token };
      this.#engineKeepsDeadlines = message.engine !== undefined;
      if (this.#engineKeepsDeadlines) for (const call of this.#pending.sent()) call.leaveDeadlineToEngine();
      this.#output.registered(message.worker_id, this.#engineKeepsDeadlines);
    },
    registertrigger: (message) => this.#onBind(message),
    unregistertrigger: (message) => this.#onUnbind(message.id),
    triggerregistrationresult: (message) => this.#onTriggerResult(message),
    error: (message) => this.#onError(message.error),
    ping: () => this.#sendIfOpen('{"type":"pong"}'),
    pong: () => this.#drained(),
    malformed: (message) => this.#onMalformed(message),
    ignored: () => {},
  };

  /** Handles a text frame. Never throws. */
  received(text: string): void {
    const message = decodeInbound(text);
    // The table has a handler for every type, but the type checker cannot relate a message to the handler of its own
    // type.
    (this.#handlers[message.type] as (message: Inbound) => void)(message);
  }

  #onCall(message: InboundCall): void {
    // Only an engine that expects no answer omits the id, but the handler's bookkeeping requires one.
    const invocationId = message.invocationId ?? this.#newId();
    if (!this.#registrations.has("functions", message.functionId) && !this.#unregistering.has(message.functionId)) {
      const error = new CallError("function_not_found", `Function ${message.functionId} not found`);
      if (message.invocationId !== undefined)
        this.#sendIfOpen(encodeFailure(invocationId, message.functionId, error.toWire()));
      return;
    }
    if (this.#inbound.has(invocationId)) {
      this.#output.log("warn", "a call arrived twice; running it once", {
        invocation_id: invocationId,
        function_id: message.functionId,
      });
      return;
    }
    this.#inbound.set(invocationId, message.functionId);
    this.#output.run(message.invocationId === undefined ? { ...message, invocationId } : (message as AcceptedCall));
  }

  #onResult(invocationId: string, result: unknown, error: WireError | undefined, frame: string): void {
    const call = this.#pending.take(invocationId);
    if (call === undefined) return;
    if (error === undefined) call.resolve(call.wantsFrame ? frame : result);
    else call.reject(CallError.fromWire(error));
  }

  #onBind(message: MessageOf<"registertrigger">): void {
    if (!this.#registrations.has("types", message.trigger_type)) {
      this.#sendIfOpen(
        encodeBindingResult(message, {
          code: "trigger_type_not_found",
          message: `Trigger type ${message.trigger_type} not found`,
        }),
      );
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
    if (
      error.details?.message_type === "registertrigger" &&
      typeof id === "string" &&
      this.#registrations.has("triggers", id)
    ) {
      this.#output.triggerResult(id, { status: "error", reason: error.message });
      return;
    }
    const [level, message] = WARNINGS.has(error.code)
      ? (["warn", "the engine warns about a registration of this worker"] as const)
      : (["error", "the engine rejected a message of this worker"] as const);
    this.#output.log(level, message, {
      code: error.code,
      error: error.message,
      details: error.details,
    });
  }

  #onMalformed(message: Extract<Inbound, { type: "malformed" }>): void {
    const { call, problem } = message;
    this.#output.log("warn", "the engine sent an invalid frame", { problem, invocation_id: call?.invocationId });
    if (call === undefined) return;
    const error: WireError = { code: "invalid_message", message: problem };
    if (call.type === "invokefunction") this.#sendIfOpen(encodeFailure(call.invocationId, call.functionId, error));
    else this.#onResult(call.invocationId, undefined, error, "");
  }
}

/** Returns the same error for an unsent call: the function cannot have run. */
function neverSent(error: CallError): CallError {
  return new CallError(error.code, error.message, { details: { ...error.details, executed: "no" } });
}
