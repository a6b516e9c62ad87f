import { CallError, type MessageOf, type WireError } from "@svc-runtime/protocol/client";
import { type AcceptedCall, acceptedCall } from "../calls/accepted-call.ts";
import { encodeBindingResult, encodeFailure, oversizeError } from "../connection/frames.ts";
import type { InboundCall } from "../connection/inbound.ts";
import { jsonTextOf } from "../connection/json-text.ts";
import type { Session, SessionOutput } from "../connection/session.ts";
import { withExecuted } from "../with-executed.ts";
import { ProvidedBindings, type WireBinding } from "./provided-bindings.ts";

export interface ProviderSessionOptions {
  readonly session: Pick<Session, "isOpen" | "sendIfOpen">;
  readonly log: SessionOutput["log"];
  /** Returns a new UUID. */
  readonly newId: () => string;
}

/**
 * The part of a session for what the worker provides, without I/O. It stores the calls and bindings of the current
 * connection, and sends their outcomes.
 */
export class ProviderSession {
  readonly #session: Pick<Session, "isOpen" | "sendIfOpen">;
  readonly #log: SessionOutput["log"];
  readonly #newId: () => string;
  /** Calls without an outcome yet: the function id by invocation id. */
  readonly #calls = new Map<string, string>();
  readonly #bindings = new ProvidedBindings();

  constructor({ session, log, newId }: ProviderSessionOptions) {
    this.#session = session;
    this.#log = log;
    this.#newId = newId;
  }

  /** Returns the call to run. Returns undefined if it already runs. */
  accept(call: InboundCall): AcceptedCall | undefined {
    // Only an engine that expects no result sends no id. A new id is used, because the call must have one in this
    // worker.
    const invocationId = call.invocationId ?? this.#newId();
    if (this.#calls.has(invocationId)) {
      this.#log("warn", "a call arrived twice; running it once", {
        invocation_id: invocationId,
        function_id: call.functionId,
      });
      return undefined;
    }
    this.#calls.set(invocationId, call.functionId);
    return acceptedCall(call, invocationId);
  }

  /** Marks a call as cancelled, so that it needs no result. Returns true if it still needed one. */
  cancel(invocationId: string): boolean {
    return this.#calls.delete(invocationId);
  }

  /**
   * Sends the handler's result of a call. If it is undefined, no result is sent. If JSON cannot represent the result,
   * or if it is too large, an error is sent.
   */
  answer(invocationId: string, result: unknown): void {
    const functionId = this.#settle(invocationId);
    if (functionId === undefined) return;
    let text: string | undefined;
    try {
      text = jsonTextOf(result);
    } catch (cause) {
      const error = new CallError(
        "serialization_error",
        `the result of function ${functionId} cannot be written as JSON: ${(cause as Error).message}`,
      );
      this.#log("error", "failed to encode a handler's result as JSON", {
        function_id: functionId,
        invocation_id: invocationId,
        error,
      });
      this.#session.sendIfOpen(encodeFailure(invocationId, functionId, error.toWire()));
      return;
    }
    const frame = encodeResult(invocationId, functionId, text);
    const tooLarge = oversizeError(frame, `the result of function ${functionId}`);
    this.#session.sendIfOpen(
      tooLarge === undefined ? frame : encodeFailure(invocationId, functionId, withExecuted("yes", tooLarge).toWire()),
    );
  }

  fail(invocationId: string, error: WireError): void {
    const functionId = this.#settle(invocationId);
    if (functionId === undefined) return;
    const frame = encodeFailure(invocationId, functionId, error);
    const tooLarge = oversizeError(frame, `the error of function ${functionId}`);
    this.#session.sendIfOpen(
      tooLarge === undefined
        ? frame
        : encodeFailure(invocationId, functionId, {
            code: error.code,
            message: error.message.slice(0, 4096),
            // What the handler says about this must not be lost with its other details.
            details: { executed: error.details?.executed ?? "yes" },
          }),
    );
  }

  /**
   * Returns the function of a call that still needs a result. Calls that were cancelled and calls of an earlier
   * connection do not need one.
   */
  #settle(invocationId: string): string | undefined {
    const functionId = this.#calls.get(invocationId);
    if (functionId !== undefined) this.#calls.delete(invocationId);
    else {
      const connected = this.#session.isOpen;
      this.#log(connected ? "debug" : "warn", "a result was dropped: the call is no longer pending", {
        invocation_id: invocationId,
        connected,
      });
    }
    return functionId;
  }

  /** Returns the binding to make, together with the binding that it replaces. */
  bind(message: MessageOf<"registertrigger">): ReturnType<ProvidedBindings["add"]> {
    return this.#bindings.add(message);
  }

  /** Returns the binding to remove. */
  unbind(id: string): WireBinding | undefined {
    return this.#bindings.remove(id);
  }

  /** Reports to the engine that the provider bound the trigger, or that it failed to. */
  answerBinding(binding: WireBinding, error?: WireError): void {
    if (!this.#bindings.holds(binding)) return;
    if (error !== undefined) this.#bindings.remove(binding.id);
    this.#session.sendIfOpen(encodeBindingResult(binding, error));
  }

  /**
   * Removes the calls and bindings of a connection that has ended. Returns them, because they must be cancelled and
   * unbound.
   */
  disconnected(): { readonly invocationIds: readonly string[]; readonly bindings: readonly WireBinding[] } {
    const invocationIds = [...this.#calls.keys()];
    this.#calls.clear();
    return { invocationIds, bindings: this.#bindings.removeAll() };
  }
}

/** Encodes a result. `result` is JSON text. If it is undefined, the frame has neither a result nor an error. */
function encodeResult(invocationId: string, functionId: string, result: string | undefined): string {
  const head = `{"type":"invocationresult","invocation_id":"${invocationId}","function_id":${JSON.stringify(functionId)}`;
  return result === undefined ? `${head}}` : `${head},"result":${result}}`;
}
