import type { AlertRule } from "../config.ts";
import { type OperatorName, operatorOf } from "./operator.ts";

/** An alert started or stopped firing. The published members come first, then ours. */
export interface AlertEvent {
  readonly name: string;
  readonly metric: string;
  /** Null: there was no value any more. */
  readonly value: number | null;
  readonly threshold: number;
  readonly operator: OperatorName;
  readonly firing: boolean;
  readonly timestamp: number;
  readonly state: "firing" | "resolved";
  readonly labels: Readonly<Record<string, string>>;
  readonly window_seconds: number;
  /** The engine that evaluated it. */
  readonly instance_id: string;
  /** True: no notification is sent, because the alert is silenced. */
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
