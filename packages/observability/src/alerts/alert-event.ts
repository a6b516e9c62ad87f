import type { AlertRule } from "../config.ts";
import { type OperatorName, operatorOf } from "./operator.ts";

/**
 * Reports that an alert started or stopped firing. The members that the specification defines come first, then our own.
 */
export interface AlertEvent {
  readonly name: string;
  readonly metric: string;
  /** Null if the alert ended because the metric has no value any more. */
  readonly value: number | null;
  readonly threshold: number;
  readonly operator: OperatorName;
  readonly firing: boolean;
  readonly timestamp: number;
  readonly state: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly window_seconds: number;
  /** Id of the engine that evaluated the alert. */
  readonly instance_id: string;
  /** True if no notification is sent, because the alert is silenced. */
  readonly silenced: boolean;
}

export function alertEvent(
  rule: AlertRule,
  {
    firing,
    value,
    timestamp,
    instanceId,
    silenced,
  }: { firing: boolean; value: number | null; timestamp: number; instanceId: string; silenced: boolean },
): AlertEvent {
  return {
    name: rule.name,
    metric: rule.metric,
    value,
    threshold: rule.threshold,
    operator: operatorOf(rule).name,
    firing,
    timestamp,
    state: firing ? "firing" : "resolved",
    labels: rule.labels ?? {},
    window_seconds: rule.window_seconds,
    instance_id: instanceId,
    silenced,
  };
}
