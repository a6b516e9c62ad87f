import type { MetricReader } from "../metrics/reader.ts";
import { type AlertEvent, alertEvent } from "./alert-event.ts";
import { metricOf } from "./metric-alias.ts";
import { operatorOf } from "./operator.ts";
import type { SavedRule } from "./saved-rules.ts";

export interface Evaluation {
  /** Set if the alert started or stopped firing. */
  readonly event: AlertEvent | undefined;
  /** The notification to send now. A silence or a cooldown may have delayed it, so it may differ from `event`. */
  readonly notification: AlertEvent | undefined;
}

const NOTHING: Evaluation = { event: undefined, notification: undefined };

/** One rule and its state. Times are milliseconds since 1970; durations are measured on the monotonic clock. */
export class Alert {
  rule: SavedRule;
  readonly source: "config" | "runtime";
  /** No notifications before this time. */
  silencedUntil: number | undefined;
  firing = false;
  value: number | null = null;
  lastEvaluated: number | undefined;
  lastTriggered: number | undefined;
  lastResolved: number | undefined;
  failures = 0;
  lastFailure: string | undefined;
  /** Monotonic time since which the condition has held. */
  #heldSince: number | undefined;
  /** True if the last notification reported that the alert fires. */
  #isNotified = false;
  /** Monotonic time of the last notification that reported firing. */
  #notifiedAt = Number.NEGATIVE_INFINITY;

  constructor(rule: SavedRule, source: "config" | "runtime") {
    this.rule = rule;
    this.source = source;
  }

  isSilenced(now: number): boolean {
    return this.silencedUntil !== undefined && now < this.silencedUntil;
  }

  /** Applies a changed rule. If the condition changed, its evaluation starts again. */
  change(rule: SavedRule): void {
    const { metric, threshold, operator, window_seconds, rate, for_seconds } = this.rule;
    const isSame =
      rule.enabled === this.rule.enabled &&
      rule.metric === metric &&
      rule.threshold === threshold &&
      rule.operator === operator &&
      rule.window_seconds === window_seconds &&
      rule.rate === rate &&
      rule.for_seconds === for_seconds &&
      JSON.stringify(rule.labels ?? {}) === JSON.stringify(this.rule.labels ?? {});
    this.rule = rule;
    if (isSame) return;
    this.#heldSince = undefined;
    this.value = null;
  }

  evaluate(
    reader: MetricReader,
    at: { readonly now: number; readonly monotonic: number; readonly instanceId: string },
  ): Evaluation {
    const { rule } = this;
    if (!rule.enabled) return this.#disabled(at);
    const { name, labels } = metricOf(rule.metric, rule.labels ?? {});
    this.value = reader.value(name, labels, rule.window_seconds, rule.rate);
    this.lastEvaluated = at.now;
    const holds = this.value !== null && operatorOf(rule).holds(this.value, rule.threshold);
    if (!holds) this.#heldSince = undefined;
    else this.#heldSince ??= at.monotonic;
    const fires =
      this.#heldSince !== undefined && (this.firing || at.monotonic - this.#heldSince >= rule.for_seconds * 1_000);
    const event = fires === this.firing ? undefined : this.#setFiring(fires, at);
    return { event, notification: this.#notificationFor(event, at) };
  }

  #setFiring(firing: boolean, at: { readonly now: number; readonly instanceId: string }): AlertEvent {
    this.firing = firing;
    if (firing) this.lastTriggered = at.now;
    else this.lastResolved = at.now;
    return this.#eventAt(at);
  }

  #notificationFor(
    event: AlertEvent | undefined,
    at: { readonly now: number; readonly monotonic: number; readonly instanceId: string },
  ): AlertEvent | undefined {
    if (!this.firing) {
      // A resolution is sent only after a firing notification. It is sent during a silence too; otherwise the receiver
      // would consider the alert firing indefinitely.
      if (event === undefined || !this.#isNotified) return undefined;
      this.#isNotified = false;
      return event;
    }
    if (this.#isNotified || this.isSilenced(at.now)) return undefined;
    if (at.monotonic - this.#notifiedAt < this.rule.cooldown_seconds * 1_000) return undefined;
    this.#isNotified = true;
    this.#notifiedAt = at.monotonic;
    return event ?? this.#eventAt(at);
  }

  #disabled(at: { readonly now: number; readonly monotonic: number; readonly instanceId: string }): Evaluation {
    this.#heldSince = undefined;
    this.value = null;
    if (!this.firing) return NOTHING;
    const event = this.#setFiring(false, at);
    return { event, notification: this.#notificationFor(event, at) };
  }

  #eventAt({ now, instanceId }: { readonly now: number; readonly instanceId: string }): AlertEvent {
    return alertEvent(this.rule, {
      firing: this.firing,
      value: this.value,
      timestamp: now,
      instanceId,
      silenced: this.isSilenced(now),
    });
  }
}
