import { backoffMs, CallError } from "@svc-runtime/protocol";
import { DeliveryAttempt, type DeliveryFailure, UNAVAILABLE_BACKOFF } from "../../../deliveries/call-failure.ts";
import { addTrigger } from "../../../deliveries/trigger-span.ts";
import type { Delivery, ItemChange, Outbox } from "../../../items/outbox.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { StartedCall, TriggerBinding } from "../../../kernel/module.ts";
import type { ActiveSpan, Telemetry } from "../../../kernel/telemetry-contract.ts";
import { DeliveryFailureReport } from "./delivery-failure-report.ts";
import { type DeliveryBudget, DeliveryWindow, type Entry } from "./delivery-window.ts";
import { eventPayload } from "./event.ts";
import { type DeliveryOrigin, decodeOrigin } from "./origin.ts";
import type { StateTriggerSettings } from "./settings.ts";
import type { WriteCauses } from "./write-causes.ts";

/** Function whose permission a state trigger requires, because its events contain the same data. */
export const READS_VALUES = "state::get";

/** Number of consecutive worker disconnects during one delivery after which a warning is logged. */
const SUSPICIOUS_TRIES = 5;

/** Maximum concurrent deliveries per binding. */
const MAX_RUNNING = 16;

export interface DeliveriesParts {
  readonly binding: TriggerBinding<StateTriggerSettings>;
  readonly watcher: string;
  readonly outbox: Outbox;
  readonly causes: WriteCauses;
  readonly budget: DeliveryBudget;
  readonly clock: Clock;
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, "startSpan">;
  /** Aborts when running calls must end. */
  readonly signal: AbortSignal;
  /** Whether a worker propagates the traceparent of a call to its own calls. */
  readonly propagatesTrace: (workerId: string) => boolean;
  /**
   * Resolves after all earlier writes, with true if this engine delivers the changes of the watcher. Undefined without
   * a cluster, because no other engine can deliver them.
   */
  readonly isClaimed: (() => Promise<boolean>) | undefined;
  /** Resolves when an earlier instance for the same watcher has no deliveries in flight. */
  readonly after: Promise<void>;
}

/**
 * Runs the deliveries of a binding. Deliveries of the same item run one after another, in order of version. Deliveries
 * of different items run concurrently.
 *
 * A delivery is acknowledged in the outbox before the next delivery of its item starts. So after a crash, only the last
 * delivery of each item may be repeated. Deliveries come from memory as long as they fit in the window. Otherwise they
 * are read from the outbox page by page, until all deliveries in the outbox are in memory.
 */
export class Deliveries {
  readonly #parts: DeliveriesParts;
  readonly #window: DeliveryWindow;
  readonly #report: DeliveryFailureReport;
  /** Cancels pending timers. */
  readonly #timers = new Set<() => void>();
  #running = 0;
  #stopped = false;
  readonly #idle: (() => void)[] = [];
  #pumpIsDue = false;
  /** True if the outbox may contain deliveries that are not in memory. */
  #behind = true;
  #reading = false;
  /**
   * Number of `rereadOutbox` calls. A page that was requested before the last call may lack deliveries, so it does not
   * prove that all deliveries are in memory.
   */
  #rereads = 0;
  #readFailures = 0;
  /** All deliveries up to this sequence number were read from the outbox, so `add` ignores them. */
  #readTo = 0;
  /** Highest sequence number passed to `add` while `#behind` was true. That delivery must be read from the outbox. */
  #addedTo = 0;
  /** True if no worker provides the function. Reset by `wake`. */
  #missing = false;
  /** Number of `wake` calls. */
  #wakes = 0;
  /** Set while deliveries are paused, e.g. because the worker accepts no calls. Calling it ends the pause. */
  #pause: (() => void) | undefined;
  #busyTries = 0;
  #isForbidden = false;
  #mayStart = false;
  #isAsking = false;

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    this.#window = new DeliveryWindow(parts.budget);
    this.#report = new DeliveryFailureReport(parts.clock, (problem) => parts.binding.report(problem));
    void parts.after.then(() => {
      this.#mayStart = true;
      this.#pump();
    });
  }

  /** Must be called after a write was stored with this delivery. */
  add(delivery: Delivery): void {
    if (this.#stopped || delivery.seq <= this.#readTo) return;
    if (delivery.seq > this.#window.highest && (this.#behind || this.#window.isFull)) {
      this.#behind = true;
      this.#addedTo = Math.max(this.#addedTo, delivery.seq);
    } else {
      this.#window.add(delivery);
    }
    this.#pumpSoon();
  }

  /**
   * Must be called if a failed write may have stored a delivery. Later deliveries are then read from the outbox too, so
   * that the order is kept.
   */
  rereadOutbox(): void {
    this.#behind = true;
    this.#rereads += 1;
    this.#pumpSoon();
  }

  /** Must be called when the binding or its functions have changed. Ends a pause. */
  wake(): void {
    this.#wakes += 1;
    this.#missing = false;
    this.#pause?.();
    this.#pause = undefined;
    this.#pumpSoon();
  }

  /** Stops. Resolves when the running deliveries have ended. */
  stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#timers.clear();
    this.#window.clear();
    if (this.#running === 0) return Promise.resolve();
    return new Promise((resolve) => {
      this.#idle.push(resolve);
    });
  }

  /**
   * Waits until all deliveries of this event loop turn are added, so that they are sorted before the first one starts.
   */
  #pumpSoon(): void {
    if (this.#pumpIsDue) return;
    this.#pumpIsDue = true;
    setImmediate(() => {
      this.#pumpIsDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    if (!this.#mayStart || this.#stopped || this.#parts.signal.aborted || this.#pause !== undefined) return;
    if (this.#behind && !this.#reading && this.#window.wantsMore) void this.#readPage();
    if (!this.#canDeliver()) return;
    if (this.#parts.isClaimed === undefined) this.#begin();
    else if (this.#mayBegin && !this.#isAsking) void this.#beginIfClaimed(this.#parts.isClaimed);
  }

  #canDeliver(): boolean {
    const { binding, signal } = this.#parts;
    return !this.#stopped && !signal.aborted && !this.#missing && !binding.isAway && this.#isPermitted();
  }

  get #mayBegin(): boolean {
    return this.#running < MAX_RUNNING && this.#pause === undefined && this.#window.hasReady;
  }

  #begin(): void {
    while (this.#mayBegin) void this.#serve(this.#window.take() as Entry);
  }

  /** Asks the store first: an engine that was cut off may not know that another engine has delivered the changes. */
  async #beginIfClaimed(isClaimed: () => Promise<boolean>): Promise<void> {
    const { watcher, log } = this.#parts;
    this.#isAsking = true;
    try {
      if ((await isClaimed()) && this.#canDeliver()) this.#begin();
    } catch (error) {
      if (this.#stopped) return;
      log.debug("it is not known whether this engine delivers the changes of a state trigger", { watcher, error });
      this.#pauseFor(UNAVAILABLE_BACKOFF.maxMs);
    } finally {
      this.#isAsking = false;
    }
  }

  /** Checked before each delivery, because the owner of a binding may change to a connection with fewer rights. */
  #isPermitted(): boolean {
    const refusal = this.#parts.binding.callRefusal(READS_VALUES);
    if (refusal !== undefined || this.#isForbidden) this.#parts.binding.report(refusal?.message);
    this.#isForbidden = refusal !== undefined;
    return !this.#isForbidden;
  }

  async #readPage(): Promise<void> {
    this.#reading = true;
    const { outbox, watcher } = this.#parts;
    const after = this.#window.highest;
    const rereads = this.#rereads;
    const { entries, bytes } = this.#window.room;
    try {
      const page = await outbox.pending({ watcher, after, limit: Math.min(entries, 200), maxBytes: bytes });
      this.#readFailures = 0;
      if (this.#stopped) return;
      for (const delivery of page) this.#window.add(delivery);
      this.#readTo = this.#window.highest;
      if (page.length === 0 && this.#addedTo <= this.#readTo && rereads === this.#rereads) this.#behind = false;
      // The outbox has no more deliveries. Deliveries that were added but are not in it were acknowledged or discarded.
      if (page.length === 0) this.#addedTo = 0;
    } catch (error) {
      this.#readFailures += 1;
      if (this.#readFailures === 1)
        this.#parts.log.warn("failed to read deliveries of a state trigger; retrying", { watcher, error });
      this.#pauseFor(backoffMs(UNAVAILABLE_BACKOFF, this.#readFailures));
    } finally {
      this.#reading = false;
      this.#pumpSoon();
    }
  }

  async #serve(entry: Entry): Promise<void> {
    this.#running += 1;
    try {
      const outcome = await this.#try(entry);
      if (outcome === "finished") {
        await this.#acknowledge(entry);
        this.#window.done(entry);
      } else if (!this.#stopped) {
        this.#retry(entry, outcome);
      }
    } catch (error) {
      this.#parts.log.error("internal error in a delivery of a state trigger", { watcher: this.#parts.watcher, error });
      this.#retry(entry, { waitMs: UNAVAILABLE_BACKOFF.maxMs });
    } finally {
      this.#running -= 1;
      if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
      this.#pump();
    }
  }

  #retry(entry: Entry, { waitMs }: { readonly waitMs: number }): void {
    if (waitMs === 0) this.#window.again(entry);
    else this.#after(waitMs, () => this.#window.again(entry));
  }

  /** Runs the condition and the function once. Returns `finished`, or the time until the next attempt. */
  async #try(entry: Entry): Promise<"finished" | { readonly waitMs: number }> {
    const { binding, watcher, causes, signal, propagatesTrace } = this.#parts;
    const { change, origin: text } = entry.delivery;
    const { scope, key } = change;
    const origin = decodeOrigin(text);
    const span = this.#startSpan(change, origin, entry.attempts + 1);
    const tracked = causes.begin(
      origin,
      watcher,
      entry.item,
      { functionId: binding.functionId, scope, key },
      span.traceparent,
    );
    const wakes = this.#wakes;
    const attempt = new DeliveryAttempt();
    try {
      const payload = eventPayload(change);
      const trace = { traceparent: tracked.traceparent, baggage: tracked.baggage, signal };
      if (
        binding.settings.conditionFunctionId === undefined ||
        (await binding.passes(payload, attempt.callOptions(trace)))
      ) {
        const onStarted = ({ workerId }: StartedCall): void => tracked.runsOn(workerId, propagatesTrace(workerId));
        await binding.fire(payload, attempt.callOptions({ ...trace, onStarted }));
      }
      this.#busyTries = 0;
      this.#report.succeeded();
      span.end();
      return "finished";
    } catch (thrown) {
      const error = CallError.from(thrown);
      span.end({ error });
      return this.#failed(entry, error, attempt.failureOf(error), wakes);
    } finally {
      tracked.end();
    }
  }

  #startSpan({ kind, scope, key }: ItemChange, { traceparent, baggage }: DeliveryOrigin, attempt: number): ActiveSpan {
    const { binding, telemetry } = this.#parts;
    const attributes = addTrigger(
      { "svc.state.scope": scope, "svc.state.key": key, "svc.state.attempt": attempt },
      "state",
      { type: `state:${kind}`, id: binding.id },
    );
    return telemetry.startSpan({ name: `state:${kind} ${scope}`, kind: "consumer", traceparent, baggage, attributes });
  }

  #failed(
    entry: Entry,
    error: CallError,
    failure: DeliveryFailure,
    wakes: number,
  ): "finished" | { readonly waitMs: number } {
    const { binding, signal } = this.#parts;
    if (this.#stopped || signal.aborted) return { waitMs: 0 };
    entry.tries += 1;
    switch (failure) {
      case "missing":
        // If `wake` was called during the call, the function may have been registered. No further `wake` may come, so
        // retry.
        if (wakes !== this.#wakes) return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.tries) };
        this.#missing = true;
        entry.tries = 0;
        return { waitMs: 0 };
      case "unavailable":
        this.#busyTries += 1;
        this.#pauseFor(backoffMs(UNAVAILABLE_BACKOFF, this.#busyTries));
        return { waitMs: 0 };
      case "interrupted":
        if (entry.tries === SUSPICIOUS_TRIES) this.#warnOfDisconnects(entry);
        return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.tries) };
      case "failed":
        entry.attempts += 1;
        if (entry.attempts < binding.settings.maxAttempts)
          return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.attempts) };
        this.#giveUp(entry, error);
        return "finished";
      case "permanent":
        entry.attempts += 1;
        this.#giveUp(entry, error);
        return "finished";
    }
  }

  /** Only warns: the disconnects may be coincidence, but the change may also crash the worker. */
  #warnOfDisconnects({ delivery: { change }, tries }: Entry): void {
    const fields = { functionId: this.#parts.binding.functionId, ...whichChange(change), tries };
    this.#parts.log.warn("workers keep crashing while handling this change; retrying", fields);
  }

  #giveUp({ delivery: { change }, attempts }: Entry, error: CallError): void {
    const { binding, log } = this.#parts;
    const { code, message } = error;
    log.error("change not delivered: state trigger failed permanently or attempts are exhausted", {
      functionId: binding.functionId,
      ...whichChange(change),
      attempts,
      code,
      problem: message,
    });
    this.#report.failed(
      `${JSON.stringify(change.key)} in scope ${JSON.stringify(change.scope)} (version ${change.version}): ${code}: ${message}`,
    );
  }

  /** Acknowledges the delivery in the outbox. The next delivery of its item waits for this. */
  async #acknowledge({ delivery }: Entry): Promise<void> {
    const { outbox, log, watcher } = this.#parts;
    for (let failures = 1; ; failures++) {
      try {
        await outbox.acknowledge([{ seq: delivery.seq, watcher: delivery.watcher }]);
        return;
      } catch (error) {
        // The delivery stays in the outbox and is repeated after the next start.
        if (this.#stopped) return;
        if (failures === 1)
          log.warn("failed to acknowledge a delivery; retrying", { watcher, ...whichChange(delivery.change), error });
        await new Promise<void>((resolve) => this.#after(backoffMs(UNAVAILABLE_BACKOFF, failures), resolve));
      }
    }
  }

  #pauseFor(ms: number): void {
    this.#pause?.();
    this.#pause = this.#after(ms, () => {
      this.#pause = undefined;
    });
  }

  /** Runs `action` after the time, or at once on stop, because callers may wait for it. */
  #after(ms: number, action: () => void): () => void {
    const cancelTimer = this.#parts.clock.after(ms, () => {
      this.#timers.delete(end);
      action();
      this.#pump();
    });
    const end = (): void => {
      cancelTimer();
      action();
    };
    this.#timers.add(end);
    return () => {
      this.#timers.delete(end);
      cancelTimer();
    };
  }
}

function whichChange({ scope, key, version, kind }: ItemChange): Readonly<Record<string, unknown>> {
  return { scope, key, version, kind };
}
