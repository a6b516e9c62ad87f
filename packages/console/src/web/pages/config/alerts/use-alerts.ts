import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../../lib/api.ts";
import { usePolledCall } from "../../../lib/use-polled-call.ts";

/** An alert of `engine::alerts::list`. Times are in milliseconds since the Unix epoch. */
export interface Alert {
  readonly name: string;
  readonly firing: boolean;
  readonly last_evaluated: number | null;
  readonly last_triggered: number | null;
  readonly current_value: number | null;
  readonly threshold: number;
  readonly operator: string;
  readonly metric: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly window_seconds: number;
  readonly rate: boolean;
  readonly for_seconds: number;
  readonly cooldown_seconds: number;
  readonly enabled: boolean;
  readonly source: "config" | "runtime";
  readonly silenced_until: number | null;
  readonly action: Readonly<Record<string, string>>;
  readonly action_failures: number;
  readonly last_action_error: string | null;
}

export interface AlertEvent {
  readonly name: string;
  readonly state: "firing" | "resolved";
  readonly timestamp: number;
}

export interface MetricName {
  readonly name: string;
  readonly type: string;
  readonly unit: string;
  readonly description: string;
}

export const useAlerts = () =>
  usePolledCall<{ readonly alerts: readonly Alert[] }>("engine::alerts::list", [], () => ({}));

export const useAlertHistory = () =>
  usePolledCall<{ readonly events: readonly AlertEvent[]; readonly total: number }>(
    "engine::alerts::history",
    [],
    () => ({ limit: 50 }),
  );

export const useMetricNames = () =>
  usePolledCall<{ readonly names: readonly MetricName[] }>("engine::metrics::list", ["names"], () => ({}), {
    everyMs: 60_000,
  });

export interface AlertChange {
  readonly functionId:
    | "engine::alerts::create"
    | "engine::alerts::update"
    | "engine::alerts::delete"
    | "engine::alerts::silence";
  readonly payload: Readonly<Record<string, unknown>>;
}

/**
 * Returns a mutation that changes an alert. It ends when the list was loaded again, so that the page shows the new
 * state.
 */
export function useAlertChange() {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: async ({ functionId, payload }: AlertChange) => {
      await call(functionId, payload);
      await queries.invalidateQueries({ queryKey: ["engine::alerts::list"] });
    },
  });
}
