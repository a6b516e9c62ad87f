import { useQuery, useQueryClient } from "@tanstack/react-query";
import { probeNow, probes } from "./api.ts";

/** Interval of polls, in milliseconds. The server probes at the same interval. */
const PROBES_EVERY_MS = 10_000;

/** Returns the results of the server's probes. They are polled even while the engine is unreachable. */
export function useProbes() {
  return useQuery({ queryKey: ["probes"], queryFn: probes, refetchInterval: PROBES_EVERY_MS });
}

/**
 * Returns a query whose `refetch` makes the console's server probe all addresses. It is a query and not a mutation,
 * because each page would load the code of mutations at its start.
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
