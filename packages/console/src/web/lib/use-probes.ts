import { useQuery, useQueryClient } from "@tanstack/react-query";
import { probeNow, probes } from "./api.ts";

/** The server probes at the same interval. */
const PROBES_EVERY_MS = 10_000;

/** Results of the server's probes. They are also polled while the engine is unreachable. */
export function useProbes() {
  return useQuery({ queryKey: ["probes"], queryFn: probes, refetchInterval: PROBES_EVERY_MS });
}

/**
 * Lets the console's server probe all addresses when `refetch` is called. Not a mutation, whose code each page would
 * load at its start.
 */
export function useProbeNow() {
  const queries = useQueryClient();
  return useQuery({
    queryKey: ["probe now"],
    queryFn: async () => {
      queries.setQueryData(["probes"], await probeNow());
      return null;
    },
    enabled: false,
    retry: false,
  });
}
