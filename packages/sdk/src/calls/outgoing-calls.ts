import { CallError } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import { type Connection, notConnected } from "../connection/connection.ts";
import type { Session } from "../connection/session.ts";
import { checkedOptions, type OptionNames, optionNames } from "../names/option-names.ts";
import { requestRefusal } from "../refusals.ts";
import { AbortWatch } from "./abort-watch.ts";
import type { Active, AsyncContext } from "./async-context.ts";
import { type CallRequest, functionIdOf } from "./call-request.ts";
import { type CallSite, CallSites, failedCall } from "./call-site.ts";
import { DeadlineTimer } from "./deadline-timer.ts";
import type { OutboundCall } from "./outbound-call.ts";

/** Maximum number of unsent bytes. If there are more, new calls fail with `overloaded`. */
export const MAX_BACKLOG_BYTES = 64 * 1024 * 1024;

const MEMBERS = ["function_id", "functionId", "payload", "timeoutMs", "signal", "metadata"];
const OLD_MEMBERS = { timeout_ms: "timeoutMs" };
const callMembers = optionNames("call", MEMBERS, OLD_MEMBERS);
export const enqueueMembers = optionNames("enqueue", [...MEMBERS, "queue"], OLD_MEMBERS);

interface Parts {
  readonly session: Session;
  readonly connection: Connection;
  readonly asyncContext: AsyncContext;
  readonly clock: Clock;
  readonly isShuttingDown: () => boolean;
}

/** Starts the calls that a worker makes. Ends a call when its deadline passes or its signal aborts. */
export class OutgoingCalls {
  readonly #parts: Parts;
  readonly #aborts: AbortWatch;
  readonly #deadlines: DeadlineTimer;
  readonly #sites = new CallSites();

  constructor(parts: Parts) {
    const { session, clock } = parts;
    this.#parts = parts;
    this.#aborts = new AbortWatch((call) => session.abort(call));
    this.#deadlines = new DeadlineTimer({
      clock,
      nextMs: () => session.nextDeadlineMs,
      expire: (nowMs) => session.advance(nowMs),
    });
  }

  /**
   * Starts a call. Rejects with CallError, at the call's deadline at the latest. Rejects with TypeError if the request
   * has unknown members. `parent` is the call or span that makes the call.
   */
  start(
    given: CallRequest,
    action: OutboundCall["action"],
    parent: Active | undefined,
    signal: AbortSignal | undefined,
    members: OptionNames = callMembers,
  ): Promise<unknown> {
    const nowMs = this.#parts.clock.monotonicMs();
    const site = this.#sites.capture(nowMs, this.start);
    const result = new Promise((resolve, reject) => {
      const request = checkedOptions(given, members);
      const functionId = functionIdOf(request);
      const refusal = this.#refusalOf(functionId, request.timeoutMs, parent, signal);
      if (refusal !== undefined) throw refusal;
      const headers = this.#parts.asyncContext.headers(parent);
      const pending = this.#parts.session.call(
        {
          action,
          functionId,
          payload: request.payload,
          metadata: request.metadata,
          timeoutMs: request.timeoutMs,
          traceparent: headers?.traceparent,
          baggage: headers?.baggage,
        },
        nowMs,
        resolve,
        reject,
      );
      if (pending.ended) return;
      if (signal !== undefined) this.#aborts.watch(signal, pending);
      this.#deadlines.update();
    });
    return result.catch(site === undefined ? failWithAwaiters : (error: unknown) => fail(error, site));
  }

  /** Stops the deadline timer. */
  stop(): void {
    this.#deadlines.stop();
  }

  /** Returns the reason why a call cannot start. Returns undefined if it can. */
  #refusalOf(
    id: string,
    timeoutMs: number | undefined,
    parent: Active | undefined,
    signal: AbortSignal | undefined,
  ): CallError | undefined {
    const refusal = requestRefusal(id, timeoutMs, signal);
    if (refusal !== undefined) return refusal;
    const { connection, isShuttingDown } = this.#parts;
    if (isShuttingDown() && (parent?.running !== true || connection.state === "closed")) {
      return new CallError(
        "draining",
        `the worker is shutting down and makes no new calls; function ${id} was not called`,
      );
    }
    if (connection.state === "failed")
      return notConnected(connection, `function ${id} was not called: gave up connecting to`);
    if (connection.bufferedBytes <= MAX_BACKLOG_BYTES) return undefined;
    return new CallError(
      "overloaded",
      `over ${MAX_BACKLOG_BYTES} bytes are unsent; function ${id} was not called: make fewer calls at a time`,
    );
  }
}

function fail(error: unknown, site: CallSite | undefined): never {
  throw CallError.is(error) ? failedCall(error, site) : error;
}

/**
 * Must run as a reaction to the call's promise, because only then a stack that is captured here contains the functions
 * that await the call.
 */
function failWithAwaiters(error: unknown): never {
  return fail(error, undefined);
}
