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
import { encodeBindingResult, encodeCall, encodeFailure } from "./frames.ts";
import { decodeInbound, type Inbound, type InboundCall } from "./inbound.ts";
import type { MalformedFrame } from "./malformed-frame.ts";

/**
 * Status of a trigger. `inactive`: its function or its type is not registered at present. `error`: `reason` gives the
 * cause.
 */
export interface TriggerResult {
  readonly status: "active" | "inactive" | "error";
  readonly reason?: string | undefined;
}

/** Receives the effects of the session. The methods must not throw. */
export interface SessionOutput {
  /** Called only between `opened` and `closed`. */
  send(frame: string): void;
  /** `takesTelemetry`: the engine is a svc engine, which stores telemetry. */
  registered(workerId: string, takesTelemetry: boolean): void;
  /** Receives a call of a function of this worker, which must be answered. */
  call(call: InboundCall): void;
  cancelCall(invocationId: string, reason: string): void;
  /** Receives a trigger of a type of this worker, whose binding must be answered. */
  bind(message: MessageOf<"registertrigger">): void;
  unbind(id: string): void;
  /** The connection ended. The engine has failed the calls to this worker, and sends the bindings again. */
  disconnected(): void;
  triggerResult(id: string, result: TriggerResult): void;
  /** Calls `then` with the call that a frame that is not JSON belongs to, or with undefined. May do so later. */
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
   * Deadline of calls without `timeout_ms`, in milliseconds. Default 30,000. The default is not sent, since it is also
   * the engine's.
   */
  readonly callTimeoutMs?: number | undefined;
}

/** Codes of errors about a registration that succeeded. */
const WARNINGS: ReadonlySet<string> = new Set<ErrorCode>(["format_not_enforced", "function_shared"]);

/**
 * The worker's side of the protocol, without I/O: decides what to send and to report for each frame, open, close and
 * passing of time. Times are milliseconds of one monotonic clock. `ProviderSession` answers the calls and bindings of
 * what the worker provides.
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
  /** Unregistered functions whose calls still run: the engine may have sent calls before it read the unregistration. */
  readonly #unregistering = new Set<string>();
  #onDrained: (() => void) | undefined;
  #open = false;
  /** While true, new calls wait although the socket is open: for the next connection, or for `writeWaiting`. */
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

  /** Time at which `advance` is due next. Infinite if no call is pending. */
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
   * Handles the open of the socket: introduces the worker, replays all registrations, then sends the waiting calls that
   * have not expired.
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

  /** Sends the calls that wait. The socket must be open. */
  writeWaiting(): void {
    for (const call of this.#pending.takeWaiting()) if (call.waiting !== undefined) this.#write(call, call.waiting);
  }

  /**
   * Handles the close of the socket. Sent calls fail and are never sent again: the function may have run.
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

  /** Fails the calls whose deadline has passed, and cancels them at the engine. */
  advance(nowMs: number): void {
    for (const call of this.#pending.takeExpired(nowMs)) {
      const written = call.waiting === undefined;
      if (written && call.invocationId !== undefined) this.#sendCancel(call.invocationId, "timeout");
      call.reject(written ? callTimeout(call) : neverSent(callTimeout(call, NOT_CONNECTED)));
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
    this.sendIfOpen(this.#registrations.addFunction(registration));
  }

  unregisterFunction(id: string): void {
    if (this.#registrations.remove("functions", id))
      this.sendIfOpen(JSON.stringify({ type: "unregisterfunction", id }));
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

  /** Sends nothing while the socket is closed: the next open replays the present registrations. */
  sendIfOpen(frame: string): void {
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
    if (this.#open && !this.isHolding) this.#write(call, frame);
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
      { details: { function_id: call.functionId } },
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
    this.sendIfOpen(encodeMessage({ type: "cancelinvocation", invocation_id: invocationId as InvocationId, reason }));
  }

  // --- calls and bindings of what this worker provides ---

  /** Answers a call that cannot run with an error. */
  refuseCall({ invocationId, functionId }: Pick<InboundCall, "invocationId" | "functionId">, error: WireError): void {
    // An engine that omits the id expects no answer.
    if (invocationId !== undefined) this.sendIfOpen(encodeFailure(invocationId, functionId, error));
  }

  /** Answers that a trigger is not bound. */
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
    // The table has a handler for every type, but the type checker cannot relate a message to the handler of its own
    // type.
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
    const error: WireError = { code: "invalid_message", message: problem };
    if (call.type === "invokefunction") this.refuseCall(call, error);
    else this.#onResult(call.invocationId, undefined, error, "");
  }
}

/** Addition to the message of an unsent call's timeout: the function is not what was slow. */
const NOT_CONNECTED = ": there was no connection to the engine, the call was not sent";

/** Returns the same error for an unsent call: the function cannot have run. */
function neverSent(error: CallError): CallError {
  return new CallError(error.code, error.message, { details: { ...error.details, executed: "no" } });
}

export function functionNotFound(id: string): WireError {
  return { code: "function_not_found", message: `Function ${id} not found` };
}

export function triggerTypeNotFound(id: string): WireError {
  return { code: "trigger_type_not_found", message: `Trigger type ${id} not found` };
}
