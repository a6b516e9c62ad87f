import type { HealthProbe } from "../kernel/health-contract.ts";

/** A store, as far as its health is concerned. */
export interface StoreState {
  /** Why nothing can be written at present. */
  problem(): string | undefined;
  /** What was lost or is damaged although writes work. */
  damage(): string | undefined;
}

/** Unhealthy while nothing can be written, degraded when something was found to be damaged. */
export function storeHealth(store: StoreState): HealthProbe {
  return () => {
    const problem = store.problem();
    if (problem !== undefined) return { status: "unhealthy", details: problem };
    const damage = store.damage();
    return damage === undefined ? { status: "healthy", details: "takes writes" } : { status: "degraded", details: damage };
  };
}
