import type { QueueStats } from "@svc-runtime/protocol/listings";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { call } from "../../lib/api.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { GroupPage } from "../../model/state-groups.ts";
import type { EffectiveConfig, EngineInfo, Health, SamplingRules, TelemetryStatus, TriggerType } from "./model.ts";

const EVERY_MS = 10_000;
/** The engine's maximum page size for `state::groups`. */
const MAX_GROUPS = 1_000;

export const useEngineInfo = () => usePolledCall<EngineInfo>("engine::info", [], () => ({}), { everyMs: EVERY_MS });
export const useEffectiveConfig = () =>
  usePolledCall<EffectiveConfig>("engine::config::effective", [], () => ({}), { everyMs: EVERY_MS });
export const useTelemetryStatus = () => usePolledCall<TelemetryStatus>("engine::telemetry::status", [], () => ({}));
export const useSamplingRules = () =>
  usePolledCall<SamplingRules>("engine::sampling::rules", [], () => ({}), { everyMs: EVERY_MS });
export const useHealth = () => usePolledCall<Health>("engine::health::check", [], () => ({}));
export const useTriggerTypes = () =>
  usePolledCall<{ readonly trigger_types: readonly TriggerType[] }>("engine::trigger-types::list", [], () => ({}), {
    everyMs: EVERY_MS,
  });
export const useStateUsage = () =>
  usePolledCall<GroupPage>("state::groups", ["usage"], () => ({ limit: MAX_GROUPS }), { everyMs: EVERY_MS });
export const useQueueUsage = () =>
  usePolledCall<{ readonly queues: readonly QueueStats[] }>("queue::list", ["usage"], () => ({}), {
    everyMs: EVERY_MS,
  });

/** Mutation that deletes all stored traces or logs. */
export function useClear(functionId: "engine::traces::clear" | "engine::logs::clear") {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () => call(functionId),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["engine::telemetry::status"] }),
  });
}
