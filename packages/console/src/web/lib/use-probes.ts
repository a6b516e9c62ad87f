import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { probeNow, probes } from "./api.ts";

/** The server probes at the same interval. */
const PROBES_EVERY_MS = 10_000;

/** Results of the server's probes. They are also polled while the engine is unreachable. */
export function useProbes() {
  return useQuery({ queryKey: ["probes"], queryFn: probes, refetchInterval: PROBES_EVERY_MS });
}

/** Lets the console's server probe all addresses now. */
export function useProbeNow() {
  const queries = useQueryClient();
  return useMutation({ mutationFn: probeNow, onSuccess: (found) => queries.setQueryData(["probes"], found) });
}
