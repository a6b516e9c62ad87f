import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { probeNow, probes } from "../../lib/api.ts";
import { usePolledCall } from "../../lib/use-polled-call.ts";
import type { EffectiveConfig, EngineInfo, Health, SamplingRules, TelemetryStatus, TriggerType } from "./model.ts";

/** The server looks as often. */
const PROBES_EVERY_MS = 10_000;
const EVERY_MS = 10_000;

/** What the console's server reaches of the engine; asked for also while the engine is away, since that is when it matters. */
export function useProbes() {
  return useQuery({ queryKey: ["probes"], queryFn: probes, refetchInterval: PROBES_EVERY_MS });
}

export function useTestNow() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: probeNow, onSuccess: (found) => queries.setQueryData(["probes"], found) });
}

export const useEngineInfo = () => usePolledCall<EngineInfo>("engine::info", [], () => ({}), { everyMs: EVERY_MS });
export const useEffectiveConfig = () => usePolledCall<EffectiveConfig>("engine::config::effective", [], () => ({}), { everyMs: EVERY_MS });
export const useTelemetryStatus = () => usePolledCall<TelemetryStatus>("engine::telemetry::status", [], () => ({}));
export const useSamplingRules = () => usePolledCall<SamplingRules>("engine::sampling::rules", [], () => ({}), { everyMs: EVERY_MS });
export const useHealth = () => usePolledCall<Health>("engine::health::check", [], () => ({}));
export const useTriggerTypes = () =>
  usePolledCall<{ readonly trigger_types: readonly TriggerType[] }>("engine::trigger-types::list", [], () => ({}), { everyMs: EVERY_MS });
