import { CallError, Payload } from "@svc-runtime/protocol";
import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { TriggerFailureReport } from "../../deliveries/trigger-failure-report.ts";
import { addTrigger, inSpan } from "../../deliveries/trigger-span.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Quota, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { StreamJoin } from "../../kernel/stream-contract.ts";
import type { SpanStart, Telemetry } from "../../kernel/telemetry-contract.ts";
import { matchesNamePattern } from "./names.ts";
import {
  type ClientTriggerSettings,
  MAX_WAITING_BYTES,
  matchesFilter,
  needCondition,
  refuseWithoutRights,
} from "./trigger-settings.ts";

/** Maximum number of pending leaves (events of ended subscriptions) per leave trigger. Further leaves are dropped. */
const MAX_WAITING_LEAVES = 100_000;
const MAX_PARALLEL_LEAVES = 16;
/** Maximum time that stopping the module waits for pending leaves, in milliseconds. */
const SETTLE_MS = 2_000;
/** Size of a leave without the client's context, in bytes. */
const LEAVE_BYTES = 500;

type Binding = TriggerBinding<ClientTriggerSettings>;

function watches({ settings }: Binding, { stream, group }: StreamJoin): boolean {
  return matchesFilter(settings.stream_name, stream) && matchesFilter(settings.group_id, group);
}

/** Returns the payload for functions of `stream:join` and `stream:leave` triggers. */
function clientMessage({ subscriptionId, stream, group, id, context }: StreamJoin): Payload {
  return Payload.fromValue({
    subscription_id: subscriptionId,
    stream_name: stream,
    group_id: group,
    id: id ?? null,
    context: context ?? null,
  });
}

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, "startSpan">;
}

/** A subscription that ended. The message is created once for all triggers. */
interface Leave {
  readonly leave: StreamJoin;
  readonly message: Payload;
}

function spanOf(type: "stream:join" | "stream:leave", { id }: Binding, { stream, group }: StreamJoin): SpanStart {
  const attributes = addTrigger({ "svc.stream.name": stream, "svc.stream.group": group }, "stream", { type, id });
  return { name: `${type} ${stream}`, kind: "internal", attributes };
}

/** Config of join triggers. */
export interface JoinConfig {
  /** Total timeout of a join trigger's condition and function, in milliseconds. */
  readonly joinTimeoutMs: number;
  /** Streams that reject joins while they have no join trigger: names, or prefixes with `*`. */
  readonly guardedStreams: readonly string[];
}

const NOT_CHECKED = "the join could not be checked";
const UNAUTHORIZED = "not authorised to join";

/** Triggers of type `stream:join`. All matching triggers are called before a client joins; each may reject the join. */
export class JoinTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #config: () => JoinConfig;
  readonly #bindings = new Map<Binding, TriggerFailureReport>();

  constructor(options: Parts & { readonly config: () => JoinConfig }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#telemetry = options.telemetry;
    this.#config = options.config;
  }

  bind(binding: Binding): Undo {
    refuseWithoutRights(binding);
    needCondition(binding);
    const notes = new TriggerFailureReport(binding, "stream:join", { clock: this.#clock, log: this.#log });
    this.#bindings.set(binding, notes);
    return () => {
      this.#bindings.delete(binding);
      notes.stop();
    };
  }

  /**
   * Returns undefined if all triggers admit the client. Fails closed: a trigger that fails or returns no verdict
   * rejects the join.
   */
  async admit(join: StreamJoin): Promise<{ readonly refusal: string } | undefined> {
    const asked = [...this.#bindings].filter(([binding]) => watches(binding, join));
    if (asked.length === 0) {
      const isGuarded = this.#config().guardedStreams.some((pattern) => matchesNamePattern(pattern, join.stream));
      return isGuarded ? { refusal: NOT_CHECKED } : undefined;
    }
    const message = clientMessage(join);
    const verdicts = await Promise.all(asked.map(([binding, notes]) => this.#ask(binding, join, message, notes)));
    const refusal = verdicts.find((verdict) => verdict !== undefined);
    return refusal === undefined ? undefined : { refusal };
  }

  async #ask(
    binding: Binding,
    join: StreamJoin,
    message: Payload,
    notes: TriggerFailureReport,
  ): Promise<string | undefined> {
    const timeoutMs = this.#config().joinTimeoutMs;
    const deadline = this.#clock.monotonic() + timeoutMs;
    try {
      if (binding.isAway) throw new CallError("function_not_found", "the worker of the join trigger is disconnected");
      const answer = await inSpan(this.#telemetry, spanOf("stream:join", binding, join), async ({ traceparent }) => {
        if (!(await binding.passes(message, { timeoutMs, traceparent }))) return undefined;
        return binding.fire(message, { timeoutMs: Math.max(1, deadline - this.#clock.monotonic()), traceparent });
      });
      if (answer === undefined) return undefined;
      const verdict = verdictOf(answer.value());
      if (verdict === "malformed")
        throw new CallError(
          "invalid_answer",
          "a join trigger must return {unauthorized: true} to reject the join, or null or an object to allow it",
        );
      notes.succeeded();
      return verdict === "refused" ? UNAUTHORIZED : undefined;
    } catch (thrown) {
      notes.failed(thrown);
      return NOT_CHECKED;
    }
  }
}

/** Null allows the join, for compatibility with published clients. An object without `unauthorized` allows it too. */
function verdictOf(answer: unknown): "allowed" | "refused" | "malformed" {
  if (answer === null) return "allowed";
  if (typeof answer !== "object" || Array.isArray(answer)) return "malformed";
  const unauthorized = Object.hasOwn(answer, "unauthorized")
    ? (answer as { unauthorized: unknown }).unauthorized
    : undefined;
  if (unauthorized === undefined || unauthorized === null || unauthorized === false) return "allowed";
  return unauthorized === true ? "refused" : "malformed";
}

/**
 * Triggers of type `stream:leave`. Called once for each subscription that ends because its client left or disconnected.
 */
export class LeaveTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #queues = new Map<Binding, DeliveryQueue<Leave>>();
  readonly #waitingBytes: Quota;
  #leaves = 0;

  constructor({ clock, log, telemetry, waitingBytes }: Parts & { readonly waitingBytes: Quota }) {
    this.#clock = clock;
    this.#log = log;
    this.#telemetry = telemetry;
    this.#waitingBytes = waitingBytes;
  }

  bind(binding: Binding): Undo {
    refuseWithoutRights(binding);
    needCondition(binding);
    const notes = new TriggerFailureReport(binding, "stream:leave", { clock: this.#clock, log: this.#log });
    const queue = new DeliveryQueue<Leave>({
      deliver: async ({ leave, message }) => {
        if (binding.isAway) return;
        refuseWithoutRights(binding);
        await inSpan(this.#telemetry, spanOf("stream:leave", binding, leave), async ({ traceparent }) => {
          if (await binding.passes(message, { traceparent })) await binding.fire(message, { traceparent });
        });
        notes.succeeded();
      },
      onFailed: (_message, error) => notes.failed(error),
      onDropped: () => notes.dropped(),
      maxWaiting: MAX_WAITING_LEAVES,
      maxBytes: MAX_WAITING_BYTES,
      quota: this.#waitingBytes,
      principal: () => binding.principal,
      maxParallel: MAX_PARALLEL_LEAVES,
    });
    this.#queues.set(binding, queue);
    return () => {
      this.#queues.delete(binding);
      queue.clear();
      notes.stop();
    };
  }

  /** Resolves when all pending leaves are delivered, or after 2 s. */
  async settle(): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(SETTLE_MS, resolve);
    });
    await Promise.race([Promise.all([...this.#queues.values()].map((queue) => queue.idle())), late]);
    cancel();
  }

  left(leave: StreamJoin): void {
    let message: Payload | undefined;
    for (const [binding, queue] of this.#queues) {
      if (!watches(binding, leave)) continue;
      message ??= clientMessage(leave);
      // The key of each leave is unique, because leaves need no order: only deliveries with the same key are in order.
      queue.push(String(this.#leaves++), { leave, message }, LEAVE_BYTES + message.byteLength);
    }
  }
}
