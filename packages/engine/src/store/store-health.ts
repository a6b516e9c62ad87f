import type { HealthProbe } from "../kernel/health-contract.ts";

export interface StoreState {
  /** Returns the reason why writes fail at present, or undefined. */
  problem(): string | undefined;
  /** Returns which data are lost or damaged although writes work, or undefined. */
  damage(): string | undefined;
}

/** Returns a health probe: unhealthy while writes fail, degraded if damage was found. */
export function storeHealth(store: StoreState): HealthProbe {
  return () => {
    const problem = store.problem();
    if (problem !== undefined) return { status: "unhealthy", details: problem };
    const damage = store.damage();
    return damage === undefined
      ? { status: "healthy", details: "accepts writes" }
      : { status: "degraded", details: damage };
  };
}
