import { CallError } from "@svc-runtime/protocol";
import type { StreamJoin, StreamSource } from "../kernel/stream-contract.ts";
import { CLOSE } from "./close-codes.ts";
import { MAX_SUBSCRIPTIONS } from "./limits.ts";
import type { Outbox } from "./outbox.ts";
import { left, problem, unauthorized } from "./server-messages.ts";
import type { StreamParts } from "./stream-parts.ts";
import { SYSTEM_GROUP, SYSTEM_PREFIX } from "./stream-path.ts";
import { type Since, Synchronizer } from "./synchronizer.ts";
import { type Receiver, Subscription } from "./topic.ts";
import { withTimeout } from "./with-timeout.ts";

/** Timeout for the decision about a join, in milliseconds. Sources have shorter timeouts of their own. */
const ADMIT_DEADLINE_MS = 30_000;
/** Maximum number of joins that wait for a decision, including joins that the client has replaced or left since. */
const MAX_DECIDING = MAX_SUBSCRIPTIONS;

export interface JoinsParts {
  readonly parts: StreamParts;
  readonly outbox: Outbox;
  readonly receiver: Receiver;
  readonly isExtended: () => boolean;
  readonly close: (code: number, reason: string) => void;
}

/** The subscriptions of one connection: checks, starts and ends them. */
export class Joins {
  readonly #parts: StreamParts;
  readonly #outbox: Outbox;
  readonly #receiver: Receiver;
  readonly #isExtended: () => boolean;
  readonly #close: JoinsParts["close"];
  readonly #synchronizer: Synchronizer;
  readonly #subscriptions = new Map<string, Subscription>();
  #deciding = 0;

  constructor({ parts, outbox, receiver, isExtended, close }: JoinsParts) {
    this.#parts = parts;
    this.#outbox = outbox;
    this.#receiver = receiver;
    this.#isExtended = isExtended;
    this.#close = close;
    this.#synchronizer = new Synchronizer({
      parts,
      outbox,
      isExtended,
      failed: (subscription, error) => this.#openFailed(subscription, error),
    });
  }

  all(): readonly Subscription[] {
    return [...this.#subscriptions.values()];
  }

  find(subscriptionId: string): Subscription | undefined {
    return this.#subscriptions.get(subscriptionId);
  }

  /**
   * Handles a join. It replaces the subscription with the same id. `systemStreams`: true if the connection may join the
   * engine's own streams.
   */
  join(join: StreamJoin, options: { readonly since: Since | undefined; readonly systemStreams: boolean }): void {
    this.#end(join.subscriptionId);
    const source = isSystem(join) ? undefined : this.#parts.source();
    if (!isSystem(join) && source === undefined && this.#parts.sourceIsAway()) {
      this.#close(CLOSE.restart, "the provider of user-defined streams is restarting; reconnect");
      return;
    }
    const refusal = this.#refusalOf(join, source, options.systemStreams);
    if (refusal !== undefined) {
      this.#refuse(refusal, join);
      return;
    }
    const subscription = new Subscription(join, this.#receiver, source);
    this.#subscriptions.set(join.subscriptionId, subscription);
    if (source === undefined) {
      this.#subscribe(subscription, options.since);
      return;
    }
    this.#ask(subscription, source, options.since).catch((error: unknown) => {
      this.#parts.log.error("a join could not be handled", { stream: join.stream, group: join.group, error });
      this.#close(CLOSE.internal, "the engine failed; its log has the reason");
    });
  }

  /** Handles a leave. A leave with an unknown subscription id has no effect, but is confirmed as well. */
  leave(subscriptionId: string): void {
    const join = this.#end(subscriptionId);
    if (this.#isExtended())
      this.#outbox.reply(left(subscriptionId), {
        stream: join?.stream ?? null,
        group: join?.group ?? null,
        type: "left",
      });
  }

  /** Handles a slow client: events after `since` were dropped. The client gets a snapshot when its buffer has room. */
  fellBehind(subscription: Subscription, since: number): void {
    this.#synchronizer.reopen(subscription, { since, reason: "overflow" });
  }

  /** Sends a snapshot, because something may have changed without an event after `since`. */
  resync(subscription: Subscription, since: number): void {
    this.#synchronizer.reopen(subscription, { since, reason: "unclear" });
  }

  /** Ends a subscription that the engine can no longer serve. */
  drop(subscription: Subscription, error: CallError): void {
    this.#forget(subscription);
    if (this.#isExtended()) this.#refuse(error, subscription.join);
  }

  /** Ends all subscriptions; the connection has ended. */
  endAll(): void {
    for (const subscription of this.all()) this.#forget(subscription);
  }

  /** Returns why a join is refused before its source is asked, or undefined. */
  #refusalOf(
    { stream, group }: StreamJoin,
    source: StreamSource | undefined,
    systemStreams: boolean,
  ): CallError | undefined {
    if (this.#subscriptions.size >= MAX_SUBSCRIPTIONS)
      return new CallError("overloaded", `a connection may have ${MAX_SUBSCRIPTIONS} subscriptions`);
    if (stream.startsWith(SYSTEM_PREFIX)) {
      const { system } = this.#parts;
      if (!systemStreams) return new CallError("FORBIDDEN", "this connection may not join the engine's own streams");
      if (system.find(stream) !== undefined && group === SYSTEM_GROUP) return undefined;
      return new CallError(
        "NOT_FOUND",
        `there is no stream ${stream} with group ${group}; here are ${system.names.join(", ")}, each with group ${SYSTEM_GROUP}`,
      );
    }
    if (source === undefined)
      return new CallError(
        "NOT_FOUND",
        "no module provides user-defined streams; add svc-stream to the config (svc worker add svc-stream)",
      );
    if (this.#deciding >= MAX_DECIDING)
      return new CallError("overloaded", `${MAX_DECIDING} joins of this connection are already being decided`);
    return undefined;
  }

  async #ask(subscription: Subscription, source: StreamSource, since: Since | undefined): Promise<void> {
    const { join } = subscription;
    this.#deciding++;
    let refusal: string | undefined;
    try {
      const answer = await withTimeout(this.#parts.clock, ADMIT_DEADLINE_MS, "deciding over a join", () =>
        source.admit(join),
      );
      refusal = answer?.refusal;
    } catch (error) {
      refusal = `the join could not be decided: ${(error as Error).message}`;
    } finally {
      this.#deciding--;
    }
    if (refusal !== undefined) {
      if (subscription.hasEnded) return;
      this.#forget(subscription);
      this.#refuse(new CallError("FORBIDDEN", refusal), join);
      return;
    }
    subscription.admitted = true;
    // If the subscription has ended in the meantime, the source must be notified, because it admitted the subscription.
    if (subscription.hasEnded) this.#parts.end(subscription);
    else this.#subscribe(subscription, since);
  }

  #subscribe(subscription: Subscription, since: Since | undefined): void {
    this.#parts.subscribe(subscription);
    this.#synchronizer.open(subscription, since);
  }

  /** Ends the subscription with this id, if there is one. */
  #end(subscriptionId: string): StreamJoin | undefined {
    const subscription = this.#subscriptions.get(subscriptionId);
    if (subscription !== undefined) this.#forget(subscription);
    return subscription?.join;
  }

  #forget(subscription: Subscription): void {
    const { subscriptionId } = subscription.join;
    if (this.#subscriptions.get(subscriptionId) === subscription) this.#subscriptions.delete(subscriptionId);
    this.#parts.end(subscription);
  }

  #openFailed(subscription: Subscription, error: CallError): void {
    const { stream, group } = subscription.join;
    this.#parts.log.warn("a stream could not be read for a client", {
      stream,
      group,
      code: error.code,
      reason: error.message,
    });
    if (this.#isExtended()) this.drop(subscription, error);
    else this.#close(CLOSE.internal, "the stream could not be read");
  }

  /** Refuses a join. The published protocol has only the message `unauthorized` for all reasons. */
  #refuse({ code, message }: CallError, join: StreamJoin): void {
    const { subscriptionId, stream, group } = join;
    if (this.#isExtended())
      this.#outbox.reply(problem(code, message, subscriptionId), { stream, group, type: "error" });
    else this.#outbox.reply(unauthorized(join, this.#parts.clock.now()), { stream, group, type: "unauthorized" });
    this.#parts.log.debug("a join was refused", { stream, group, code, reason: message });
  }
}

function isSystem({ stream }: StreamJoin): boolean {
  return stream.startsWith(SYSTEM_PREFIX);
}
