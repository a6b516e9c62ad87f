import { Quota } from "./quota.ts";

/** Limit of all restricted principals together, as a multiple of the limit of one. */
const PRINCIPALS = 5;
/**
 * Maximum size of the registrations of one restricted principal, in bytes of their frames, while its connections are
 * open.
 */
export const MAX_REGISTERED_BYTES = 32 * 1024 * 1024;
/** The engine's limit is 20,000 channels; half of them are reserved for trusted connections. */
const MAX_CHANNELS_EACH = 2_000;

/** Quotas of the kernel. Modules have their own quotas. */
export interface Quotas {
  readonly functions: Quota;
  readonly triggers: Quota;
  readonly triggerTypes: Quota;
  /** Bytes of registration frames. */
  readonly registeredBytes: Quota;
  readonly channels: Quota;
}

export function createQuotas(limits: {
  readonly maxFunctions: number;
  readonly maxTriggers: number;
  readonly maxTriggerTypes: number;
}): Quotas {
  const perPrincipal = (what: string, each: number): Quota => new Quota(what, { each, restricted: each * PRINCIPALS });
  return {
    functions: perPrincipal("functions", limits.maxFunctions),
    triggers: perPrincipal("triggers", limits.maxTriggers),
    triggerTypes: perPrincipal("trigger types", limits.maxTriggerTypes),
    registeredBytes: perPrincipal("bytes of registrations", MAX_REGISTERED_BYTES),
    channels: new Quota("channels", { each: MAX_CHANNELS_EACH, restricted: MAX_CHANNELS_EACH * PRINCIPALS }),
  };
}
