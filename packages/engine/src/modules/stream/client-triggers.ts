import { CallError, Payload } from "@svc/protocol";
import { DeliveryQueue } from "../../deliveries/delivery-queue.ts";
import { FailureNotes } from "../../deliveries/failure-notes.ts";
import { inSpan, occasion } from "../../deliveries/in-span.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Logger } from "../../kernel/logger.ts";
import type { Quota, TriggerBinding } from "../../kernel/module.ts";
import type { Undo } from "../../kernel/scope.ts";
import type { StreamJoin } from "../../kernel/stream-contract.ts";
import type { SpanStart, Telemetry } from "../../kernel/telemetry-contract.ts";
import { namePatternFits } from "./names.ts";
import { type ClientTriggerSettings, lets, needCondition, refuseWithoutRights } from "./trigger-settings.ts";
import { MAX_WAITING_BYTES } from "./waiting-bytes.ts";

/** Subscriptions that ended and may wait for one leave trigger; what comes on top is dropped. */
const MAX_WAITING_LEAVES = 100_000;
const MAX_PARALLEL_LEAVES = 16;
/** How long the module's stop waits for leaves to be told, in milliseconds. */
const SETTLE_MS = 2_000;
/** What a leave weighs besides the client's context, in bytes. */
const LEAVE_BYTES = 500;

type Binding = TriggerBinding<ClientTriggerSettings>;

function watches({ settings }: Binding, { stream, group }: StreamJoin): boolean {
  return lets(settings.stream_name, stream) && lets(settings.group_id, group);
}

/** What triggers of type `stream:join` and `stream:leave` hand to their functions. */
function clientMessage({ subscriptionId, stream, group, id, context }: StreamJoin): Payload {
  return Payload.fromValue({ subscription_id: subscriptionId, stream_name: stream, group_id: group, id: id ?? null, context: context ?? null });
}

interface Parts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, "startSpan">;
}

/** A subscription that ended; the message is made once for all triggers. */
interface Leave {
  readonly leave: StreamJoin;
  readonly message: Payload;
}

function spanOf(type: "stream:join" | "stream:leave", { id }: Binding, { stream, group }: StreamJoin): SpanStart {
  const attributes = { ...occasion("stream", { type, id }), "svc.stream.name": stream, "svc.stream.group": group };
  return { name: `${type} ${stream}`, kind: "internal", attributes };
}

/** The part of the module's config that is about joins. */
export interface JoinConfig {
  /** How long condition and function of a join trigger may take together, in milliseconds. */
  readonly joinTimeoutMs: number;
  /** Streams that nobody joins while no join trigger is there for them: names, or beginnings with `*`. */
  readonly guardedStreams: readonly string[];
}

const NOT_CHECKED = "the join could not be checked";
const UNAUTHORIZED = "not authorised to join";

/** Triggers of type `stream:join`: each that matches is asked before a client joins, and one refusal is enough. */
export class JoinTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #config: () => JoinConfig;
  readonly #bindings = new Map<Binding, FailureNotes>();

  constructor(options: Parts & { readonly config: () => JoinConfig }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#telemetry = options.telemetry;
    this.#config = options.config;
  }

  bind(binding: Binding): Undo {
    refuseWithoutRights(binding);
    needCondition(binding);
    const notes = new FailureNotes(binding, "stream:join", { clock: this.#clock, log: this.#log });
    this.#bindings.set(binding, notes);
    return () => {
      this.#bindings.delete(binding);
      notes.stop();
    };
  }

  /** Undefined when all let the client in. Fails closed: who cannot be asked, or answers something else than a verdict, refuses. */
  async admit(join: StreamJoin): Promise<{ readonly refusal: string } | undefined> {
    const asked = [...this.#bindings].filter(([binding]) => watches(binding, join));
    if (asked.length === 0) {
      const isGuarded = this.#config().guardedStreams.some((pattern) => namePatternFits(pattern, join.stream));
      return isGuarded ? { refusal: NOT_CHECKED } : undefined;
    }
    const message = clientMessage(join);
    const verdicts = await Promise.all(asked.map(([binding, notes]) => this.#ask(binding, join, message, notes)));
    const refusal = verdicts.find((verdict) => verdict !== undefined);
    return refusal === undefined ? undefined : { refusal };
  }

  async #ask(binding: Binding, join: StreamJoin, message: Payload, notes: FailureNotes): Promise<string | undefined> {
    const timeoutMs = this.#config().joinTimeoutMs;
    const deadline = this.#clock.monotonic() + timeoutMs;
    try {
      if (binding.isAway) throw new CallError("function_not_found", "the worker that asked for the join trigger is away");
      const answer = await inSpan(this.#telemetry, spanOf("stream:join", binding, join), async ({ traceparent }) => {
        if (!(await binding.passes(message, { timeoutMs, traceparent }))) return undefined;
        return binding.fire(message, { timeoutMs: Math.max(1, deadline - this.#clock.monotonic()), traceparent });
      });
      if (answer === undefined) return undefined;
      const verdict = verdictOf(answer.value());
      if (verdict === "malformed")
        throw new CallError("invalid_answer", "a join trigger answers {unauthorized: true} to refuse, and nothing or an object to allow");
      notes.succeeded();
      return verdict === "refused" ? UNAUTHORIZED : undefined;
    } catch (thrown) {
      notes.failed(thrown);
      return NOT_CHECKED;
    }
  }
}

/** Nothing allows, as published; so does an object that does not say `unauthorized`. */
function verdictOf(answer: unknown): "allowed" | "refused" | "malformed" {
  if (answer === null) return "allowed";
  if (typeof answer !== "object" || Array.isArray(answer)) return "malformed";
  const unauthorized = Object.hasOwn(answer, "unauthorized") ? (answer as { unauthorized: unknown }).unauthorized : undefined;
  if (unauthorized === undefined || unauthorized === null || unauthorized === false) return "allowed";
  return unauthorized === true ? "refused" : "malformed";
}

/** Triggers of type `stream:leave`: told once of each subscription that has ended, by the client or with its connection. */
export class LeaveTriggers {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #telemetry: Pick<Telemetry, "startSpan">;
  readonly #told = new Map<Binding, DeliveryQueue<Leave>>();
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
    const notes = new FailureNotes(binding, "stream:leave", { clock: this.#clock, log: this.#log });
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
    this.#told.set(binding, queue);
    return () => {
      this.#told.delete(binding);
      queue.clear();
      notes.stop();
    };
  }

  /** Resolves when all were told of what has ended, or after 2 s. */
  async settle(): Promise<void> {
    let cancel = (): void => {};
    const late = new Promise<void>((resolve) => {
      cancel = this.#clock.after(SETTLE_MS, resolve);
    });
    await Promise.race([Promise.all([...this.#told.values()].map((queue) => queue.idle())), late]);
    cancel();
  }

  left(leave: StreamJoin): void {
    let message: Payload | undefined;
    for (const [binding, queue] of this.#told) {
      if (!watches(binding, leave)) continue;
      message ??= clientMessage(leave);
      // Leaves of different subscriptions have no order among them.
      queue.push(String(this.#leaves++), { leave, message }, LEAVE_BYTES + message.byteLength);
    }
  }
}
