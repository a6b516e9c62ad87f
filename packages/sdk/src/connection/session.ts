import {
  CallError,
  DEFAULT_TIMEOUT_MS,
  type ErrorCode,
  encodeMessage,
  type InvocationId,
  type MessageOf,
  type WireError,
} from "@svc-runtime/protocol/client";
import { JsonPayload } from "../calls/json-call.ts";
import { encodeOutbound, type OutboundCall, queueFull } from "../calls/outbound-call.ts";
import { callTimeout, PendingCall, PendingCalls } from "../calls/pending-calls.ts";
import {
  type FunctionRegistration,
  Registrations,
  type TriggerRegistration,
  type TriggerTypeRegistration,
} from "../registration/registrations.ts";
import { withExecuted } from "../with-executed.ts";
import { encodeBindingResult, encodeCall, encodeFailure } from "./frames.ts";
import { decodeInbound, type Inbound, type InboundCall } from "./inbound.ts";
import type { MalformedFrame } from "./malformed-frame.ts";

/**
 * Status of a trigger. `inactive` means that its function or its type is not registered now. For `error`, `reason` says
 * why.
 */
export interface TriggerResult {
  readonly status: "active" | "inactive" | "error";
  readonly reason?: string | undefined;
}

/** Receives the effects of the session. The methods must not throw. */
export interface SessionOutput {
  /** Sends a frame. It is called only between `opened` and `closed`. */
  send(frame: string): void;
  /** The engine has registered this worker. `takesTelemetry` is true if it is a svc engine, which stores telemetry. */
  registered(workerId: string, takesTelemetry: boolean): void;
  /** Runs a call of a function of this worker. The call needs a result or an error. */
  call(call: InboundCall): void;
  cancelCall(invocationId: string, reason: string): void;
  /** Binds a trigger of a type that this worker provides. The engine needs the outcome. */
  bind(message: MessageOf<"registertrigger">): void;
  unbind(id: string): void;
  /**
   * The connection has ended. The engine fails the calls that it had sent to this worker. After a reconnect, it sends
   * the bindings again.
   */
  disconnected(): void;
  triggerResult(id: string, result: TriggerResult): void;
  /**
   * Reads a frame that is not JSON. Calls `then`, possibly later, with the call to which the frame belongs; with
   * undefined if that is not known.
   */
  readMalformed(frame: string, then: (call: MalformedFrame | undefined) => void): void;
  log(level: "debug" | "warn" | "error", message: string, fields: Readonly<Record<string, unknown>>): void;
}

export interface SessionOptions {
  readonly output: SessionOutput;
  /** Payload of the register call. */
  readonly introduction: Readonly<Record<string, unknown>>;
  /** Returns a new UUID. */
  readonly newId: () => string;
  /**
   * Deadline of calls without `timeout_ms`, in milliseconds. Default `DEFAULT_TIMEOUT_MS`. If it is the default, it is not sent,
   * because it is also the engine's default.
   */
  readonly callTimeoutMs?: number | undefined;
}

/** Codes that the engine sends although the registration succeeded. They are warnings. */
const WARNINGS: ReadonlySet<string> = new Set<ErrorCode>(["format_not_enforced", "function_shared"]);

/**
 * The worker's side of the protocol, without I/O. For each frame, each open and close of the socket, and each passing
 * of time, it decides what to send and what to report. Times are milliseconds of one monotonic clock. `ProviderSession`
 * handles the calls and bindings of what the worker provides.
 */
export class Session {
  readonly #output: SessionOutput;
  readonly #newId: () => string;
  readonly #introduction: string;
  readonly #callTimeoutMs: number | undefined;
  /**
   * True if the engine ends calls at their deadline. It is known when the engine has registered this worker. Until
   * then, and for unsent calls, this side ends calls at their deadline.
   */
  #engineKeepsDeadlines = false;
  readonly #registrations = new Registrations();
  readonly #pending = new PendingCalls();
  /**
   * Unregistered functions whose calls are still run, because the engine may have sent calls before it read the
   * unregistration.
   */
  readonly #unregistering = new Set<string>();
  #onDrained: (() => void) | undefined;
  #open = false;
  /**
   * While true, new calls wait although the socket is open. They are sent on the next connection, or by `writeWaiting`.
   */
  isHolding = false;
  #previous: { readonly workerId: string; readonly token: string | undefined } | undefined;

  constructor(options: SessionOptions) {
    this.#output = options.output;
    this.#newId = options.newId;
    this.#callTimeoutMs = options.callTimeoutMs;
    this.#introduction = encodeCall({
      functionId: "engine::workers::register",
      payload: JSON.stringify(options.introduction),
      action: { type: "void" },
    });
  }

  /** Time at which `advance` must be called next. Infinite if no call is pending. */
  get nextDeadlineMs(): number {
    return this.#pending.earliestDeadlineMs;
  }

  get pendingCalls(): number {
    return this.#pending.size;
  }

  // --- the connection ---

  get isOpen(): boolean {
    return this.#open;
  }

  /**
   * Called when the socket has opened. Introduces the worker, sends all registrations again, then sends the waiting
   * calls that have not expired.
   */
  opened(nowMs: number): void {
    this.#open = true;
    this.isHolding = false;
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
    this.writeWaiting();
  }

  /** Sends the waiting calls. The socket must be open. */
  writeWaiting(): void {
    for (const call of this.#pending.takeWaiting()) if (call.waiting !== undefined) this.#write(call, call.waiting);
  }

  /**
   * Called when the socket has closed. Calls that were sent fail. They are not sent again, because the function may
   * have run.
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
          { details: { function_id: call.functionId } },
        ),
      );
    }
    this.#output.disconnected();
  }

  /** Fails the calls whose deadline has passed. Also cancels them at the engine. */
  advance(nowMs: number): void {
    for (const call of this.#pending.takeExpired(nowMs)) {
      const written = call.waiting === undefined;
      if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "timeout");
      call.reject(written ? callTimeout(call) : withExecuted("no", callTimeout(call, NOT_CONNECTED)));
    }
  }

  /** Returns one promise per pending call. Each resolves when its call ends. */
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

  /** Fails all pending calls, both sent and unsent. It is used when the worker shuts down. */
  failAll(error: CallError): void {
    for (const call of this.#pending.takeSent()) call.reject(error);
    for (const call of this.#pending.takeWaiting()) call.reject(withExecuted("no", error));
  }

  // --- registrations ---

  /**
   * @throws TypeError for an invalid or taken id.
   */
  registerFunction(registration: FunctionRegistration): void {
    this.sendIfOpen(this.#registrations.addFunction(registration));
  }

  unregisterFunction(id: string): void {
    if (this.#registrations.remove("functions", id))
      this.sendIfOpen(JSON.stringify({ type: "unregisterfunction", id }));
  }

  /**
   * Unregisters all functions. Resolves when no more calls can arrive, which is the case when the engine has read the
   * unregistration or the socket has closed. Calls that arrive before that are run. The engine handles frames in order,
   * so its response to a ping proves that it has read all earlier frames.
   */
  drain(): Promise<void> {
    const ids = this.#registrations.functionIds();
    for (const id of ids) this.unregisterFunction(id);
    if (!this.#open || ids.length === 0) return Promise.resolve();
    for (const id of ids) this.#unregistering.add(id);
    return new Promise((resolve) => {
      this.#onDrained = resolve;
      this.sendIfOpen('{"type":"ping"}');
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
    this.sendIfOpen(this.#registrations.addTrigger({ ...registration, id }));
    return id;
  }

  unregisterTrigger(id: string, type: string): void {
    if (this.#registrations.remove("triggers", id))
      this.sendIfOpen(JSON.stringify({ type: "unregistertrigger", id, trigger_type: type }));
  }

  /**
   * @throws TypeError for an invalid or taken id.
   */
  registerTriggerType(registration: TriggerTypeRegistration): void {
    this.sendIfOpen(this.#registrations.addTriggerType(registration));
  }

  unregisterTriggerType(id: string): void {
    if (this.#registrations.remove("types", id)) this.sendIfOpen(JSON.stringify({ type: "unregistertriggertype", id }));
  }

  /**
   * Sends a frame of a registration if the socket is open. Otherwise nothing is lost, because all registrations are
   * sent when the socket opens.
   */
  sendIfOpen(frame: string): void {
    if (this.#open) this.#output.send(frame);
  }

  // --- calls of this worker ---

  /**
   * Sends a call, or queues it while the socket is closed. When the call ends, `resolve` or `reject` is called.
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
    if (this.#open && !this.isHolding) this.#write(call, frame);
    else if (this.#pending.full) throw queueFull(request.functionId);
    else this.#pending.addWaiting(call, frame);
    return call;
  }

  /** Cancels a call. Does nothing if the call has ended. */
  abort(call: PendingCall): void {
    if (call.ended) return;
    const written = call.waiting === undefined;
    this.#pending.remove(call);
    if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "cancelled");
    const error = new CallError(
      "call_cancelled",
      `the call of function ${call.functionId} was cancelled by its caller`,
      { details: { function_id: call.functionId } },
    );
    call.reject(written ? error : withExecuted("no", error));
  }

  #write(call: PendingCall, frame: string): void {
    call.waiting = undefined;
    if (this.#engineKeepsDeadlines) call.leaveDeadlineToEngine();
    if (call.invocationId !== undefined) this.#pending.addSent(call, call.invocationId);
    this.#output.send(frame);
    if (call.invocationId === undefined) call.resolve(undefined);
  }

  #sendCancel(invocationId: string, reason: string): void {
    this.sendIfOpen(encodeMessage({ type: "cancelinvocation", invocation_id: invocationId as InvocationId, reason }));
  }

  // --- calls and bindings of what this worker provides ---

  /** Sends an error as the outcome of a call that cannot run. The error says that the function has not run. */
  refuseCall({ invocationId, functionId }: Pick<InboundCall, "invocationId" | "functionId">, error: WireError): void {
    // An engine that sends no id expects no result.
    if (invocationId !== undefined)
      this.sendIfOpen(
        encodeFailure(invocationId, functionId, { ...error, details: { ...error.details, executed: "no" } }),
      );
  }

  /** Sends an error as the outcome of a trigger that cannot be bound. */
  refuseBinding(message: MessageOf<"registertrigger">, error: WireError): void {
    this.sendIfOpen(encodeBindingResult(message, error));
  }

  // --- frames from the engine ---

  readonly #handlers: {
    readonly [Type in Inbound["type"]]: (message: Extract<Inbound, { readonly type: Type }>) => void;
  } = {
    invokefunction: (message) => this.#onCall(message),
    invocationresult: (message) => this.#onResult(message.invocationId, message.result, message.error, message.frame),
    cancelinvocation: (message) => this.#output.cancelCall(message.invocation_id, message.reason ?? "cancelled"),
    workerregistered: (message) => {
      this.#previous = { workerId: message.worker_id, token: message.reattach_token };
      this.#engineKeepsDeadlines = message.engine !== undefined;
      if (this.#engineKeepsDeadlines) for (const call of this.#pending.sent()) call.leaveDeadlineToEngine();
      this.#output.registered(message.worker_id, this.#engineKeepsDeadlines);
    },
    registertrigger: (message) => this.#onBind(message),
    unregistertrigger: (message) => this.#output.unbind(message.id),
    triggerregistrationresult: (message) => this.#onTriggerResult(message),
    error: (message) => this.#onError(message.error),
    ping: () => this.sendIfOpen('{"type":"pong"}'),
    pong: () => this.#drained(),
    not_json: ({ frame, problem }) =>
      this.#output.readMalformed(frame, (call) =>
        this.#onMalformed(call === undefined ? `the frame is not JSON: ${problem}` : "the payload is not JSON", call),
      ),
    malformed: ({ problem, call }) => this.#onMalformed(problem, call),
    ignored: () => {},
  };

  /** Handles a text frame. Never throws. */
  received(text: string): void {
    const message = decodeInbound(text);
    // The table has a handler for each type. The cast is needed because the type checker cannot relate a message to the
    // handler of its type.
    (this.#handlers[message.type] as (message: Inbound) => void)(message);
  }

  #onCall(call: InboundCall): void {
    const { functionId } = call;
    if (this.#registrations.has("functions", functionId) || this.#unregistering.has(functionId))
      this.#output.call(call);
    else this.refuseCall(call, functionNotFound(functionId));
  }

  #onResult(invocationId: string, result: unknown, error: WireError | undefined, frame: string): void {
    const call = this.#pending.take(invocationId);
    if (call === undefined) return;
    if (error === undefined) call.resolve(call.wantsFrame ? frame : result);
    else call.reject(CallError.fromWire(error));
  }

  #onBind(message: MessageOf<"registertrigger">): void {
    if (this.#registrations.has("types", message.trigger_type)) this.#output.bind(message);
    else this.refuseBinding(message, triggerTypeNotFound(message.trigger_type));
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

  #onMalformed(problem: string, call: MalformedFrame | undefined): void {
    this.#output.log("warn", "the engine sent an invalid frame", { problem, invocation_id: call?.invocationId });
    if (call === undefined) return;
    // A result comes only from a function that ran. `refuseCall` replaces the detail.
    const error: WireError = { code: "invalid_message", message: problem, details: { executed: "yes" } };
    if (call.type === "invokefunction") this.refuseCall(call, error);
    else this.#onResult(call.invocationId, undefined, error, "");
  }
}

/**
 * Text that is added to the timeout message of an unsent call. It says that the connection was the cause, and not a
 * slow function.
 */
const NOT_CONNECTED = ": there was no connection to the engine, the call was not sent";

export function functionNotFound(id: string): WireError {
  return { code: "function_not_found", message: `Function ${id} not found` };
}

export function triggerTypeNotFound(id: string): WireError {
  return { code: "trigger_type_not_found", message: `Trigger type ${id} not found` };
}
