import { backoffMs, CallError } from "@svc/protocol";
import { DeliveryAttempt, type DeliveryFailure, UNAVAILABLE_BACKOFF } from "../../../deliveries/call-failure.ts";
import { occasion } from "../../../deliveries/in-span.ts";
import type { Delivery, ItemChange, Outbox } from "../../../items/outbox.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { StartedCall, TriggerBinding } from "../../../kernel/module.ts";
import type { ActiveSpan, Telemetry } from "../../../kernel/telemetry-contract.ts";
import { type DeliveryBudget, DeliveryWindow, type Entry } from "./delivery-window.ts";
import { eventPayload } from "./event.ts";
import { FailureReport } from "./failure-report.ts";
import type { Firings } from "./firings.ts";
import { type DeliveryOrigin, decodeOrigin } from "./origin.ts";
import type { StateTriggerSettings } from "./settings.ts";

/** Events tell what this function would: who may not call it may not be told. */
export const READS_VALUES = "state::get";

/** So often in a row a worker went with one delivery in its hands before that is said. */
const SUSPICIOUS_TRIES = 5;

/** Items of one binding that are served at a time. */
const MAX_RUNNING = 16;

export interface DeliveriesParts {
  readonly binding: TriggerBinding<StateTriggerSettings>;
  readonly watcher: string;
  readonly outbox: Outbox;
  readonly firings: Firings;
  readonly budget: DeliveryBudget;
  readonly clock: Clock;
  readonly log: Logger;
  readonly telemetry: Pick<Telemetry, "startSpan">;
  /** Aborts when calls under way must end. */
  readonly signal: AbortSignal;
  /** Whether a worker hands the traceparent of a call on. */
  readonly tellsTraces: (workerId: string) => boolean;
  /** An earlier run for the same watcher has finished what it had in hand. */
  readonly after: Promise<void>;
}

/**
 * Serves the deliveries of one binding: those of an item one after another in order of version, those of different items side by side.
 *
 * A delivery is taken out of the outbox before the next one of its item begins, so after a crash only the last one of each item may come again.
 * Deliveries come from memory as long as they fit the window. When they do not, they are read from the outbox, page by page, until all that was
 * stored has been seen.
 */
export class Deliveries {
  readonly #parts: DeliveriesParts;
  readonly #window: DeliveryWindow;
  readonly #report: FailureReport;
  /** Calls off what waits for a time. */
  readonly #timers = new Set<() => void>();
  #running = 0;
  #stopped = false;
  readonly #idle: (() => void)[] = [];
  #pumpIsDue = false;
  /** There may be deliveries in the outbox that are not in memory. */
  #behind = true;
  #reading = false;
  /** Counts how often it was behind for reasons that a page read before cannot know. */
  #looks = 0;
  #readFailures = 0;
  /** Up to here everything was read from the outbox; it need not be told again. */
  #readTo = 0;
  /** The highest that was told while behind, and so must be read. */
  #toldTo = 0;
  /** Nobody provides the function; until the directory says otherwise. */
  #missing = false;
  /** Counts how often the directory said something. */
  #wakes = 0;
  /** Whoever provides the function takes no calls for a while. */
  #pause: (() => void) | undefined;
  #busyTries = 0;
  #isRefused = false;
  #mayBegin = false;

  constructor(parts: DeliveriesParts) {
    this.#parts = parts;
    this.#window = new DeliveryWindow(parts.budget);
    this.#report = new FailureReport(parts.clock, (problem) => parts.binding.report(problem));
    void parts.after.then(() => {
      this.#mayBegin = true;
      this.#pump();
    });
  }

  /** A write was stored together with this delivery. */
  add(delivery: Delivery): void {
    if (this.#stopped || delivery.seq <= this.#readTo) return;
    if (delivery.seq > this.#window.highest && (this.#behind || this.#window.isFull)) {
      this.#behind = true;
      this.#toldTo = Math.max(this.#toldTo, delivery.seq);
    } else {
      this.#window.add(delivery);
    }
    this.#pumpSoon();
  }

  /** A write may have stored a delivery that nobody tells of. What is told from now on was stored after it, and is read from the outbox behind it. */
  lookAgain(): void {
    this.#behind = true;
    this.#looks += 1;
    this.#pumpSoon();
  }

  /** Something has changed about the binding or its functions. */
  wake(): void {
    this.#wakes += 1;
    this.#missing = false;
    this.#pause?.();
    this.#pause = undefined;
    this.#pumpSoon();
  }

  /** Starts nothing more. Resolves when what was under way has ended. */
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

  /** All that one turn of the store brings is put in order before the first of it is served. */
  #pumpSoon(): void {
    if (this.#pumpIsDue) return;
    this.#pumpIsDue = true;
    setImmediate(() => {
      this.#pumpIsDue = false;
      this.#pump();
    });
  }

  #pump(): void {
    const { binding, signal } = this.#parts;
    if (!this.#mayBegin || this.#stopped || signal.aborted || this.#pause !== undefined) return;
    if (this.#behind && !this.#reading && this.#window.wantsMore) void this.#readPage();
    if (this.#missing || binding.isAway || !this.#mayTell()) return;
    while (this.#running < MAX_RUNNING && this.#pause === undefined) {
      const entry = this.#window.take();
      if (entry === undefined) return;
      void this.#serve(entry);
    }
  }

  /** Whoever asks for the binding may read values; it may have been asked for by somebody else, who has gone. */
  #mayTell(): boolean {
    const refusal = this.#parts.binding.callRefusal(READS_VALUES);
    if (refusal !== undefined || this.#isRefused) this.#parts.binding.report(refusal?.message);
    this.#isRefused = refusal !== undefined;
    return !this.#isRefused;
  }

  async #readPage(): Promise<void> {
    this.#reading = true;
    const { outbox, watcher } = this.#parts;
    const after = this.#window.highest;
    const looks = this.#looks;
    const { entries, bytes } = this.#window.room;
    try {
      const page = await outbox.pending({ watcher, after, limit: Math.min(entries, 200), maxBytes: bytes });
      this.#readFailures = 0;
      if (this.#stopped) return;
      for (const delivery of page) this.#window.add(delivery);
      this.#readTo = this.#window.highest;
      if (page.length === 0 && this.#toldTo <= this.#readTo && looks === this.#looks) this.#behind = false;
      // What was told and is not there was served or forgotten by somebody else.
      if (page.length === 0) this.#toldTo = 0;
    } catch (error) {
      this.#readFailures += 1;
      if (this.#readFailures === 1) this.#parts.log.warn("deliveries of a state trigger cannot be read at present", { watcher, error });
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
      if (outcome === "over") {
        await this.#record(entry);
        this.#window.done(entry);
      } else if (!this.#stopped) {
        this.#tryLater(entry, outcome);
      }
    } catch (error) {
      this.#parts.log.error("a delivery of a state trigger went wrong in the engine", { watcher: this.#parts.watcher, error });
      this.#tryLater(entry, { waitMs: UNAVAILABLE_BACKOFF.maxMs });
    } finally {
      this.#running -= 1;
      if (this.#running === 0) for (const resolve of this.#idle.splice(0)) resolve();
      this.#pump();
    }
  }

  #tryLater(entry: Entry, { waitMs }: { readonly waitMs: number }): void {
    if (waitMs === 0) this.#window.again(entry);
    else this.#after(waitMs, () => this.#window.again(entry));
  }

  /** Runs the condition and the function once. `over`: it is never to be delivered again. */
  async #try(entry: Entry): Promise<"over" | { readonly waitMs: number }> {
    const { binding, watcher, firings, signal, tellsTraces } = this.#parts;
    const { change, origin: text } = entry.delivery;
    const { scope, key } = change;
    const origin = decodeOrigin(text);
    const span = this.#startSpan(change, origin, entry.attempts + 1);
    const firing = firings.begin(origin, watcher, entry.item, { functionId: binding.functionId, scope, key }, span.traceparent);
    const wakes = this.#wakes;
    const attempt = new DeliveryAttempt();
    try {
      const payload = eventPayload(change);
      const trace = { traceparent: firing.traceparent, baggage: firing.baggage, signal };
      if (binding.settings.conditionFunctionId === undefined || (await binding.passes(payload, attempt.callOptions(trace)))) {
        const onStarted = ({ workerId }: StartedCall): void => firing.runsOn(workerId, tellsTraces(workerId));
        await binding.fire(payload, attempt.callOptions({ ...trace, onStarted }));
      }
      this.#busyTries = 0;
      this.#report.served();
      span.end();
      return "over";
    } catch (thrown) {
      const error = CallError.from(thrown);
      span.end({ error });
      return this.#failed(entry, error, attempt.failureOf(error), wakes);
    } finally {
      firing.end();
    }
  }

  #startSpan({ kind, scope, key }: ItemChange, { traceparent, baggage }: DeliveryOrigin, attempt: number): ActiveSpan {
    const { binding, telemetry } = this.#parts;
    const facts = { "svc.state.scope": scope, "svc.state.key": key, "svc.state.attempt": attempt };
    const attributes = { ...occasion("state", { type: `state:${kind}`, id: binding.id }), ...facts };
    return telemetry.startSpan({ name: `state:${kind} ${scope}`, kind: "consumer", traceparent, baggage, attributes });
  }

  #failed(entry: Entry, error: CallError, failure: DeliveryFailure, wakes: number): "over" | { readonly waitMs: number } {
    const { binding, signal } = this.#parts;
    if (this.#stopped || signal.aborted) return { waitMs: 0 };
    entry.tries += 1;
    switch (failure) {
      case "missing":
        // It may have come meanwhile; then nobody will say so again.
        if (wakes !== this.#wakes) return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.tries) };
        this.#missing = true;
        entry.tries = 0;
        return { waitMs: 0 };
      case "unavailable":
        this.#busyTries += 1;
        this.#pauseFor(backoffMs(UNAVAILABLE_BACKOFF, this.#busyTries));
        return { waitMs: 0 };
      case "interrupted":
        if (entry.tries === SUSPICIOUS_TRIES) this.#warnOfEnds(entry);
        return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.tries) };
      case "failed":
        entry.attempts += 1;
        if (entry.attempts < binding.settings.maxAttempts) return { waitMs: backoffMs(UNAVAILABLE_BACKOFF, entry.attempts) };
        this.#giveUp(entry, error);
        return "over";
      case "permanent":
        entry.attempts += 1;
        this.#giveUp(entry, error);
        return "over";
    }
  }

  /** Nothing is given up: it may be chance. But it may also be this change that its worker dies of. */
  #warnOfEnds({ delivery: { change }, tries }: Entry): void {
    const fields = { functionId: this.#parts.binding.functionId, ...whichChange(change), tries };
    this.#parts.log.warn("workers went again and again while they had this change in their hands; it is tried on", fields);
  }

  #giveUp({ delivery: { change }, attempts }: Entry, error: CallError): void {
    const { binding, log } = this.#parts;
    const { code, message } = error;
    log.error("a state trigger failed as often as it may, or for good; the change is not delivered", {
      functionId: binding.functionId,
      ...whichChange(change),
      attempts,
      code,
      problem: message,
    });
    this.#report.failed(`${JSON.stringify(change.key)} in scope ${JSON.stringify(change.scope)} (version ${change.version}): ${code}: ${message}`);
  }

  /** Takes it out of the outbox; until that is done the next one of its item waits. */
  async #record({ delivery }: Entry): Promise<void> {
    const { outbox, log, watcher } = this.#parts;
    for (let failures = 1; ; failures++) {
      try {
        await outbox.served([{ seq: delivery.seq, watcher: delivery.watcher }]);
        return;
      } catch (error) {
        // It stays in the outbox, and comes again after the next start.
        if (this.#stopped) return;
        if (failures === 1) log.warn("a served delivery cannot be recorded at present", { watcher, ...whichChange(delivery.change), error });
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

  /** Runs `action`, then goes on; also when the stop comes first, since someone may wait for it. */
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
