import type { Principal } from "./principal.ts";
import { Quota, type QuotaLimits } from "./quota.ts";

/** Limit of all restricted principals together, as a multiple of the limit of one principal. */
const PRINCIPALS = 5;
/**
 * Maximum size of the registrations of one restricted principal, in bytes of their frames, while its connections are
 * open.
 */
export const MAX_REGISTERED_BYTES = 32 * 1024 * 1024;
/**
 * Maximum number of open channels of one restricted principal. All restricted principals together may have five times
 * as many, which is half of the engine's limit of 20,000. The other half is reserved for trusted connections.
 */
const MAX_CHANNELS_EACH = 2_000;

/** Quotas of the kernel. Modules have their own quotas. */
export interface Quotas {
  readonly functions: RegistrationQuota;
  readonly triggers: RegistrationQuota;
  readonly triggerTypes: RegistrationQuota;
  /** Bytes of registration frames. */
  readonly registeredBytes: Quota;
  readonly channels: Quota;
}

/** A quota for registrations, which are also limited for each connection. */
export class RegistrationQuota extends Quota {
  readonly #what: string;
  readonly #perConnection: number;

  constructor(what: string, perConnection: number, limits: QuotaLimits) {
    super(what, limits);
    this.#what = what;
    this.#perConnection = perConnection;
  }

  /**
   * Returns a description of the limit that one more registration would exceed, or undefined. `count`: the connection's
   * registrations.
   */
  problemFor(count: number, principal: Principal): string | undefined {
    return count >= this.#perConnection
      ? `this connection has ${this.#perConnection} ${this.#what}, which is the limit`
      : this.problemOf(principal);
  }
}

export function createQuotas(limits: {
  readonly maxFunctions: number;
  readonly maxTriggers: number;
  readonly maxTriggerTypes: number;
}): Quotas {
  const each = (amount: number): QuotaLimits => ({ each: amount, restricted: amount * PRINCIPALS });
  const registrations = (what: string, max: number): RegistrationQuota => new RegistrationQuota(what, max, each(max));
  return {
    functions: registrations("functions", limits.maxFunctions),
    triggers: registrations("triggers", limits.maxTriggers),
    triggerTypes: registrations("trigger types", limits.maxTriggerTypes),
    registeredBytes: new Quota("bytes of registrations", each(MAX_REGISTERED_BYTES)),
    channels: new Quota("channels", each(MAX_CHANNELS_EACH)),
  };
}
