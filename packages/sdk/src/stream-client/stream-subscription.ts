import { CallError } from "@svc-runtime/protocol/client";
import type { Clock } from "../clock.ts";
import { Backoff } from "../connection/backoff.ts";
import type { Logger } from "../logger.ts";
import type { InboundEvent } from "./inbound-message.ts";
import type {
  StreamChoice,
  StreamGap,
  StreamHandlers,
  StreamSubscription,
  StreamUpdate,
  SubscriptionStatus,
} from "./stream-handlers.ts";

/**
 * Timeout of a join, in milliseconds. The engine responds within half of this time, even if functions that it calls for
 * the join are slow.
 */
export const JOIN_DEADLINE_MS = 60_000;

/** The services of the client that a subscription uses. */
export interface SubscriptionHost {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Id of the current run of the engine. Undefined while the client is not connected. */
  epoch(): string | undefined;
  send(message: Readonly<Record<string, unknown>>): void;
  /** Removes the ended subscription. */
  drop(subscription: Subscription): void;
}

/** Position of a subscription. Sequence numbers are valid only within one run of the engine (epoch). */
interface Position {
  readonly epoch: string;
  readonly seq: number;
}

/** The client's side of a subscription. It continues after reconnects. */
export class Subscription implements StreamSubscription {
  readonly streamName: string;
  readonly groupId: string;
  readonly id: string | undefined;
  readonly #name: string;
  readonly #host: SubscriptionHost;
  readonly #handlers: StreamHandlers<unknown, unknown>;
  readonly #backoff = new Backoff();
  #status: SubscriptionStatus = "joining";
  #position: Position | undefined;
  /** While true, events are ignored, because the sync that follows contains them. */
  #awaitsSync = true;
  #cancelRetry: (() => void) | undefined;
  #cancelDeadline: (() => void) | undefined;

  constructor(
    name: string,
    choice: StreamChoice & { readonly id?: string | undefined },
    handlers: StreamHandlers<unknown, unknown>,
    host: SubscriptionHost,
  ) {
    this.#name = name;
    this.streamName = choice.streamName;
    this.groupId = choice.groupId;
    this.id = choice.id;
    this.#handlers = handlers;
    this.#host = host;
  }

  get status(): SubscriptionStatus {
    return this.#status;
  }

  get seq(): number | undefined {
    return this.#position?.seq;
  }

  leave(): void {
    if (this.#status === "closed") return;
    if (this.#host.epoch() !== undefined) this.#host.send({ type: "leave", data: this.#address() });
    this.#close();
  }

  /** Sends the join. Called when the client is connected. */
  join(): void {
    this.#cancelTimers();
    this.#awaitsSync = true;
    const late = new CallError(
      "call_timeout",
      `the engine did not answer the join of stream ${this.streamName} within ${JOIN_DEADLINE_MS} ms`,
    );
    this.#cancelDeadline = this.#host.clock.after(JOIN_DEADLINE_MS, () => this.refused(late));
    this.#host.send({ type: "join", data: { ...this.#address(), since: this.#position } });
  }

  /** Called when the connection is lost. */
  lost(): void {
    this.#cancelTimers();
    this.#enter("joining");
  }

  /** Ends the subscription with an error. */
  fail(error: CallError): void {
    this.#notify("onError", (handlers) => handlers.onError?.(error));
    this.#close();
  }

  joined(resumed: boolean): void {
    this.#cancelTimers();
    this.#backoff.reset();
    if (!resumed) return;
    this.#awaitsSync = false;
    this.#enter("live");
  }

  missed(gap: StreamGap): void {
    this.#awaitsSync = true;
    this.#enter("joining");
    this.#notify("onGap", (handlers) => handlers.onGap?.(gap));
  }

  /** Moves the position without an event, because other items of the group have changed. */
  advanceTo(seq: number): void {
    if (this.#awaitsSync || this.#position === undefined || seq <= this.#position.seq) return;
    this.#position = { epoch: this.#position.epoch, seq };
  }

  /** Called when the engine has rejected a join, or has ended a joined subscription. */
  refused(error: CallError): void {
    if (this.#status === "closed" || this.#cancelRetry !== undefined) return;
    // A retry of an invalid join would fail again.
    if (error.code.startsWith("invalid_")) {
      this.fail(error);
      return;
    }
    this.#cancelTimers();
    this.#cancelRetry = this.#host.clock.after(this.#backoff.next() ?? 0, () => {
      if (this.#host.epoch() === undefined) return;
      this.#enter("joining");
      this.join();
    });
    this.#enter("refused");
    this.#notify("onError", (handlers) => handlers.onError?.(error));
  }

  received(event: InboundEvent): void {
    const epoch = this.#host.epoch();
    if (this.#status === "closed" || epoch === undefined) return;
    const { type, seq } = event;
    if (type === "sync") {
      this.#awaitsSync = false;
      this.#position = { epoch, seq };
      this.#notify("onSync", (handlers) => handlers.onSync?.(event.data, { seq, itemIds: event.itemIds }));
      this.#enter("live");
      return;
    }
    if (type === "unauthorized") {
      this.refused(
        new CallError("FORBIDDEN", `joining group ${this.groupId} of stream ${this.streamName} is not allowed`),
      );
      return;
    }
    const update = updateOf(event);
    if (update === undefined || this.#awaitsSync || (this.#position?.epoch === epoch && seq <= this.#position.seq))
      return;
    this.#position = { epoch, seq };
    this.#notify("onEvent", (handlers) => handlers.onEvent?.(update));
  }

  #address(): Readonly<Record<string, unknown>> {
    return { subscriptionId: this.#name, streamName: this.streamName, groupId: this.groupId, id: this.id };
  }

  #close(): void {
    this.#cancelTimers();
    this.#host.drop(this);
    this.#enter("closed");
  }

  #cancelTimers(): void {
    this.#cancelRetry?.();
    this.#cancelDeadline?.();
    this.#cancelRetry = undefined;
    this.#cancelDeadline = undefined;
  }

  #enter(status: SubscriptionStatus): void {
    if (this.#status === status || this.#status === "closed") return;
    this.#status = status;
    this.#notify("onStatus", (handlers) => handlers.onStatus?.(status));
  }

  /**
   * Calls a handler and logs its error. The error must not reach the socket's event loop or prevent the call of another
   * handler.
   */
  #notify(
    what: keyof StreamHandlers<unknown, unknown>,
    call: (handlers: StreamHandlers<unknown, unknown>) => void,
  ): void {
    try {
      call(this.#handlers);
    } catch (error) {
      this.#host.logger.error("a handler of a stream subscription failed", {
        stream: this.streamName,
        group: this.groupId,
        handler: what,
        error,
      });
    }
  }
}

function updateOf({ type, id, data, event, seq, version, timestamp }: InboundEvent): StreamUpdate | undefined {
  if (type === "create" || type === "update" || type === "delete")
    return { type, id: id ?? "", data, seq, version, timestamp };
  if (type !== "event" || typeof event !== "object" || event === null) return undefined;
  const { type: kind, data: notice } = event as { readonly type?: unknown; readonly data?: unknown };
  return { type: "event", id, event: { type: String(kind), data: notice }, seq, timestamp };
}
