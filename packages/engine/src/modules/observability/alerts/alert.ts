import { type AlertEvent, alertEvent } from "./alert-event.ts";
import { metricOf } from "./metric-alias.ts";
import type { MetricReader } from "./metric-reader.ts";
import { operatorOf } from "./operator.ts";
import type { SavedRule } from "./saved-rules.ts";

/** What came of one evaluation. */
export interface Evaluation {
  /** It began or ceased to fire. */
  readonly event: AlertEvent | undefined;
  /** What is to be told by the rule's action now; need not be `event`, for a notice may have waited for the end of a silence or of the cooldown. */
  readonly notice: AlertEvent | undefined;
}

const NOTHING: Evaluation = { event: undefined, notice: undefined };

/** One rule and how it stands. Times are milliseconds since 1970; durations are measured on the monotonic clock. */
export class Alert {
  rule: SavedRule;
  readonly source: "config" | "runtime";
  /** No notices until then. */
  silencedUntil: number | undefined;
  firing = false;
  value: number | null = null;
  lastEvaluated: number | undefined;
  lastTriggered: number | undefined;
  lastResolved: number | undefined;
  /** Of notices that could not be delivered. */
  failures = 0;
  lastFailure: string | undefined;
  /** Monotonic: since when the condition holds. */
  #heldSince: number | undefined;
  /** Somebody was told that it fires. */
  #told = false;
  /** Monotonic: when that was the last time. */
  #toldAt = Number.NEGATIVE_INFINITY;

  constructor(rule: SavedRule, source: "config" | "runtime") {
    this.rule = rule;
    this.source = source;
  }

  isSilenced(now: number): boolean {
    return this.silencedUntil !== undefined && now < this.silencedUntil;
  }

  /** Takes a changed rule. What it measures anew begins anew. */
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

  evaluate(reader: MetricReader, at: { readonly now: number; readonly monotonic: number; readonly instanceId: string }): Evaluation {
    const { rule } = this;
    if (!rule.enabled) return this.#switchedOff(at);
    const { name, labels } = metricOf(rule.metric, rule.labels ?? {});
    this.value = reader.value(name, labels, rule.window_seconds, rule.rate);
    this.lastEvaluated = at.now;
    const holds = this.value !== null && operatorOf(rule).holds(this.value, rule.threshold);
    if (!holds) this.#heldSince = undefined;
    else this.#heldSince ??= at.monotonic;
    const fires = this.#heldSince !== undefined && (this.firing || at.monotonic - this.#heldSince >= rule.for_seconds * 1_000);
    const event = fires === this.firing ? undefined : this.#turn(fires, at);
    return { event, notice: this.#noticeAfter(event, at) };
  }

  #turn(firing: boolean, at: { readonly now: number; readonly instanceId: string }): AlertEvent {
    this.firing = firing;
    if (firing) this.lastTriggered = at.now;
    else this.lastResolved = at.now;
    return this.#eventAt(at);
  }

  #noticeAfter(event: AlertEvent | undefined, at: { readonly now: number; readonly monotonic: number; readonly instanceId: string }): AlertEvent | undefined {
    if (!this.firing) {
      // Who was not told that it fires need not hear that it ceased. Who was hears it through a silence as well: it would look on for ever.
      if (event === undefined || !this.#told) return undefined;
      this.#told = false;
      return event;
    }
    if (this.#told || this.isSilenced(at.now)) return undefined;
    if (at.monotonic - this.#toldAt < this.rule.cooldown_seconds * 1_000) return undefined;
    this.#told = true;
    this.#toldAt = at.monotonic;
    return event ?? this.#eventAt(at);
  }

  #switchedOff(at: { readonly now: number; readonly monotonic: number; readonly instanceId: string }): Evaluation {
    this.#heldSince = undefined;
    this.value = null;
    if (!this.firing) return NOTHING;
    const event = this.#turn(false, at);
    return { event, notice: this.#noticeAfter(event, at) };
  }

  #eventAt({ now, instanceId }: { readonly now: number; readonly instanceId: string }): AlertEvent {
    return alertEvent(this.rule, { firing: this.firing, value: this.value, timestamp: now, instanceId, silenced: this.isSilenced(now) });
  }
}
