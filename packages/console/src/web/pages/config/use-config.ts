import type { QueueStats } from "@svc-runtime/protocol/listings";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call, probeNow, probes } from "../../lib/api.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { GroupPage } from "../../model/state.ts";
import type { EffectiveConfig, EngineInfo, Health, SamplingRules, TelemetryStatus, TriggerType } from "./model.ts";

/** The server probes at the same interval. */
const PROBES_EVERY_MS = 10_000;
const EVERY_MS = 10_000;
/** The engine's maximum page size for `state::groups`. */
const MAX_GROUPS = 1_000;

/** Results of the server's probes. They are also polled while the engine is unreachable. */
export function useProbes() {
  return useQuery({ queryKey: ["probes"], queryFn: probes, refetchInterval: PROBES_EVERY_MS });
}

export function useTestNow() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: probeNow, onSuccess: (found) => queries.setQueryData(["probes"], found) });
}

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
