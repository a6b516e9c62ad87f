/** Limits of one worker connection. */
export interface WorkerLimits {
  readonly maxFunctions: number;
  readonly maxTriggers: number;
  readonly maxTriggerTypes: number;
  /** Calls that one connection has made and whose result is pending. */
  readonly maxCallsInFlight: number;
  /** Calls delivered to one connection whose result is pending. */
  readonly maxCallsHeld: number;
}

export const WORKER_LIMITS: WorkerLimits = {
  maxFunctions: 10_000,
  maxTriggers: 10_000,
  maxTriggerTypes: 1_000,
  maxCallsInFlight: 10_000,
  maxCallsHeld: 10_000,
};
