import { maskConfig } from "@svc-runtime/protocol";
import { z } from "zod";
import type { Alert } from "./alert.ts";
import { operatorOf } from "./operator.ts";

const ms = z.number().nullable();

/** State of an alert. The members that the specification defines come first, then our own. */
export const alertStateSchema = () =>
  z.object({
    name: z.string(),
    firing: z.boolean(),
    last_evaluated: ms.meta({ description: "ms since 1970" }),
    last_triggered: ms,
    current_value: z
      .number()
      .nullable()
      .meta({ description: "Null: no series of this name and labels has a value in the window" }),
    threshold: z.number(),
    operator: z.string().meta({ description: "E.g. GreaterThan" }),
    metric: z.string(),
    labels: z.record(z.string(), z.string()),
    window_seconds: z.number(),
    rate: z.boolean(),
    for_seconds: z.number(),
    cooldown_seconds: z.number(),
    enabled: z.boolean(),
    source: z.enum(["config", "runtime"]).meta({
      description: "Rules of the config file are changed there; at run time they can only be disabled and silenced",
    }),
    silenced_until: ms,
    last_resolved: ms,
    action: z.record(z.string(), z.string()).meta({ description: "In a webhook's URL, secrets are masked" }),
    action_failures: z.number(),
    last_action_error: z.string().nullable(),
    problem: z.string().nullable().meta({
      description:
        "Why it cannot fire or notify at present: metrics are off, the metric or the function does not exist",
    }),
  });
export type AlertState = z.infer<ReturnType<typeof alertStateSchema>>;

export function alertState(alert: Alert, now: number, problem: string | undefined): AlertState {
  const { rule } = alert;
  return {
    name: rule.name,
    firing: alert.firing,
    last_evaluated: alert.lastEvaluated ?? null,
    last_triggered: alert.lastTriggered ?? null,
    current_value: alert.value,
    threshold: rule.threshold,
    operator: operatorOf(rule).name,
    metric: rule.metric,
    labels: rule.labels ?? {},
    window_seconds: rule.window_seconds,
    rate: rule.rate,
    for_seconds: rule.for_seconds,
    cooldown_seconds: rule.cooldown_seconds,
    enabled: rule.enabled,
    source: alert.source,
    silenced_until: alert.isSilenced(now) ? (alert.silencedUntil ?? null) : null,
    last_resolved: alert.lastResolved ?? null,
    action: maskConfig(rule.action) as Readonly<Record<string, string>>,
    action_failures: alert.failures,
    last_action_error: alert.lastFailure ?? null,
    problem: problem ?? null,
  };
}
