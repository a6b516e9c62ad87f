/** `degraded`: it works, and somebody should look; `unhealthy`: the engine cannot do its work; `disabled`: not in use. */
export type HealthStatus = "healthy" | "degraded" | "unhealthy" | "disabled";

export interface ComponentHealth {
  readonly status: HealthStatus;
  /** What is wrong and what to do about it, for people; of a healthy one, what was looked at. */
  readonly details: string;
}

/** Answers at once, from what is known. Undefined: nothing to say just now. */
export type HealthProbe = () => ComponentHealth | undefined;

/** A component by the worst that is reported of it. */
export interface ComponentReport extends ComponentHealth {
  /** E.g. `store`, `queues`, `adapters`. */
  readonly component: string;
  /** When it was first seen with this status, in milliseconds since 1970. */
  readonly sinceMs: number;
}
