/** `degraded`: works, but needs attention. `unhealthy`: the engine cannot do its work. `disabled`: not in use. */
export type HealthStatus = "healthy" | "degraded" | "unhealthy" | "disabled";

export interface ComponentHealth {
  readonly status: HealthStatus;
  /** The problem and what to do about it, for people. For a healthy component, what was checked. */
  readonly details: string;
}

/** Returns at once, without I/O. Undefined: nothing to report. */
export type HealthProbe = () => ComponentHealth | undefined;

/** A component with its worst reported status. */
export interface ComponentReport extends ComponentHealth {
  /** E.g. `store`, `queues`, `adapters`. */
  readonly component: string;
  /** When the component was first seen with this status, in milliseconds since 1970. */
  readonly sinceMs: number;
}
