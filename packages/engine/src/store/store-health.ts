import type { HealthProbe } from "../kernel/health-contract.ts";

/** Health of a store by what it says of itself: unhealthy while nothing can be written. */
export function storeHealth(problem: () => string | undefined): HealthProbe {
  return () => {
    const found = problem();
    return found === undefined ? { status: "healthy", details: "takes writes" } : { status: "unhealthy", details: found };
  };
}
