import { setMaxListeners } from "node:events";
import type { CallOptions, Clock, Logger, OutboundRules, ProviderOf } from "@svc-runtime/engine/module";
import { Payload } from "@svc-runtime/protocol";
import type { Alert } from "./alert.ts";
import type { AlertEvent } from "./alert-event.ts";
import { takenActionOf } from "./alert-problem.ts";
import { Webhooks } from "./webhook.ts";

const MAX_IN_FLIGHT = 16;
/**
 * Maximum number of queued notifications. Further ones are dropped, logged, and counted as failures of their alerts.
 */
const MAX_WAITING = 1_000;
const CALL_TIMEOUT_MS = 30_000;

/** Rules that allow any address. They apply to addresses that the operator wrote in the config file. */
const NO_RESTRICTIONS: OutboundRules = { urlAllowlist: [], blockPrivateIps: false, requireHttps: false };

export interface NotifierParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<unknown>;
  readonly providerOf: ProviderOf;
  /** Rules for addresses that callers sent. */
  readonly outboundRules: () => OutboundRules;
}

/** Runs the actions of alerts that start or stop firing. It never throws and never delays an evaluation. */
export class Notifier {
  readonly #parts: NotifierParts;
  readonly #waiting: { readonly alert: Alert; readonly event: AlertEvent }[] = [];
  readonly #stopping = new AbortController();
  readonly #inFlight = new Set<Promise<void>>();
  #webhooks: Webhooks | undefined;

  constructor(parts: NotifierParts) {
    this.#parts = parts;
    // Each notification in flight adds a listener. Node's warning about many listeners is off, because their number is
    // limited.
    setMaxListeners(0, this.#stopping.signal);
  }

  send(alert: Alert, event: AlertEvent): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#failed(alert, event, new Error("too many queued notifications"));
      return;
    }
    this.#waiting.push({ alert, event });
    this.#startNext();
  }

  /** Cancels the notifications in flight. Resolves when they have ended. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the engine is stopping"));
    this.#waiting.length = 0;
    await Promise.all(this.#inFlight);
    this.#webhooks?.close();
  }

  #startNext(): void {
    while (this.#inFlight.size < MAX_IN_FLIGHT) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const { alert, event } = next;
      const work = this.#runAction(alert, event)
        .catch((error: unknown) => this.#failed(alert, event, error))
        .finally(() => {
          this.#inFlight.delete(work);
          this.#startNext();
        });
      this.#inFlight.add(work);
    }
  }

  async #runAction(alert: Alert, event: AlertEvent): Promise<void> {
    const { action } = alert.rule;
    const { call, clock, log, outboundRules, providerOf } = this.#parts;
    const { signal } = this.#stopping;
    const { name, metric, value, threshold, operator, labels, window_seconds } = event;
    if (event.firing)
      log.warn("an alert fires", { alert: name, metric, value, threshold, operator, labels, window_seconds });
    else log.info("an alert has resolved", { alert: name, metric, value, threshold, operator, labels, window_seconds });
    if (action.type === "log") return;
    // The specification names this member of a webhook's body `alert`.
    const body = { alert: name, ...event };
    if (action.type === "function") {
      const refusal = takenActionOf(alert.rule, providerOf);
      if (refusal !== undefined) throw refusal;
      await call(action.path, Payload.fromValue(body), { timeoutMs: CALL_TIMEOUT_MS, signal });
      return;
    }
    this.#webhooks ??= new Webhooks(clock);
    await this.#webhooks.post(action.url, body, {
      rules: alert.source === "config" ? () => NO_RESTRICTIONS : outboundRules,
      signal,
    });
  }

  #failed(alert: Alert, event: AlertEvent, error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const problem = error instanceof Error ? error.message : String(error);
    alert.failures++;
    alert.lastFailure = problem;
    this.#parts.log.error("alert notification failed", {
      alert: event.name,
      state: event.state,
      action: alert.rule.action.type,
      problem,
    });
  }
}
