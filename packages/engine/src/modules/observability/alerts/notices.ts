import { setMaxListeners } from "node:events";
import { Payload } from "@svc/protocol";
import type { ProviderOf } from "../../../deliveries/function-owner.ts";
import type { Clock } from "../../../kernel/clock.ts";
import type { Logger } from "../../../kernel/logger.ts";
import type { CallOptions, OutboundRules } from "../../../kernel/module.ts";
import type { Alert } from "./alert.ts";
import type { AlertEvent } from "./alert-event.ts";
import { takenActionOf } from "./alert-problem.ts";
import { Webhooks } from "./webhook.ts";

/** At work at a time. */
const MAX_IN_FLIGHT = 16;
/** Waiting behind them; further ones are dropped, counted as failures of their alerts and logged. */
const MAX_WAITING = 1_000;
const CALL_TIMEOUT_MS = 30_000;

/** The operator wrote the address into the config file. */
const OPERATORS_WORD: OutboundRules = { urlAllowlist: [], blockPrivateIps: false, requireHttps: false };

export interface NoticesParts {
  readonly clock: Clock;
  readonly log: Logger;
  readonly call: (functionId: string, payload: Payload, options: CallOptions) => Promise<unknown>;
  readonly providerOf: ProviderOf;
  /** For addresses that came over the wire. */
  readonly outboundRules: () => OutboundRules;
}

/** Carries out what alerts are to do when they begin or cease to fire. Never throws, never keeps an evaluation waiting. */
export class Notices {
  readonly #parts: NoticesParts;
  readonly #waiting: { readonly alert: Alert; readonly event: AlertEvent }[] = [];
  readonly #stopping = new AbortController();
  readonly #atWork = new Set<Promise<void>>();
  #webhooks: Webhooks | undefined;

  constructor(parts: NoticesParts) {
    this.#parts = parts;
    // One for each notice at work, which are bounded.
    setMaxListeners(0, this.#stopping.signal);
  }

  send(alert: Alert, event: AlertEvent): void {
    if (this.#stopping.signal.aborted) return;
    if (this.#waiting.length >= MAX_WAITING) {
      this.#failed(alert, event, new Error("too many notices are waiting"));
      return;
    }
    this.#waiting.push({ alert, event });
    this.#work();
  }

  /** Withdraws what is under way; resolves when nothing is left. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error("the engine stops alerting"));
    this.#waiting.length = 0;
    await Promise.all(this.#atWork);
    this.#webhooks?.close();
  }

  #work(): void {
    while (this.#atWork.size < MAX_IN_FLIGHT) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const { alert, event } = next;
      const work = this.#carryOut(alert, event)
        .catch((error: unknown) => this.#failed(alert, event, error))
        .finally(() => {
          this.#atWork.delete(work);
          this.#work();
        });
      this.#atWork.add(work);
    }
  }

  async #carryOut(alert: Alert, event: AlertEvent): Promise<void> {
    const { action } = alert.rule;
    const { call, clock, log, outboundRules, providerOf } = this.#parts;
    const { signal } = this.#stopping;
    const { name, metric, value, threshold, operator, labels, window_seconds } = event;
    if (event.firing) log.warn("an alert fires", { alert: name, metric, value, threshold, operator, labels, window_seconds });
    else log.info("an alert has resolved", { alert: name, metric, value, threshold, operator, labels, window_seconds });
    if (action.type === "log") return;
    // Published webhooks name the alert `alert`.
    const told = { alert: name, ...event };
    if (action.type === "function") {
      const refusal = takenActionOf(alert.rule, providerOf);
      if (refusal !== undefined) throw refusal;
      await call(action.path, Payload.fromValue(told), { timeoutMs: CALL_TIMEOUT_MS, signal });
      return;
    }
    this.#webhooks ??= new Webhooks(clock);
    await this.#webhooks.post(action.url, told, { rules: alert.source === "config" ? () => OPERATORS_WORD : outboundRules, signal });
  }

  #failed(alert: Alert, event: AlertEvent, error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    const problem = error instanceof Error ? error.message : String(error);
    alert.failures++;
    alert.lastFailure = problem;
    this.#parts.log.error("the notice of an alert could not be delivered", { alert: event.name, state: event.state, action: alert.rule.action.type, problem });
  }
}
