import { Quota } from "./quota.ts";

/** How many times the share of one restricted principal all restricted principals may use together. */
const PRINCIPALS = 5;
/** What a restricted principal may register, in bytes of its frames. It is kept as long as its connections live. */
export const MAX_REGISTERED_BYTES = 32 * 1024 * 1024;
/** The engine has room for 20,000: half of it stays for trusted connections. */
const MAX_CHANNELS_EACH = 2_000;

/** What the kernel counts for each principal. Modules count what they hold with quotas of their own. */
export interface Quotas {
  readonly functions: Quota;
  readonly triggers: Quota;
  readonly triggerTypes: Quota;
  /** Of registrations. */
  readonly registeredBytes: Quota;
  readonly channels: Quota;
}

export function createQuotas(limits: { readonly maxFunctions: number; readonly maxTriggers: number; readonly maxTriggerTypes: number }): Quotas {
  const perPrincipal = (what: string, each: number): Quota => new Quota(what, { each, restricted: each * PRINCIPALS });
  return {
    functions: perPrincipal("functions", limits.maxFunctions),
    triggers: perPrincipal("triggers", limits.maxTriggers),
    triggerTypes: perPrincipal("trigger types", limits.maxTriggerTypes),
    registeredBytes: perPrincipal("bytes of registrations", MAX_REGISTERED_BYTES),
    channels: new Quota("channels", { each: MAX_CHANNELS_EACH, restricted: MAX_CHANNELS_EACH * PRINCIPALS }),
  };
}
