import { z } from "zod";

/**
 * Who a connection acts as. What is registered belongs to a principal, and resources are counted for each. Two connections with the same id are
 * one principal.
 */
export interface Principal {
  /** E.g. `role reader`, `prefix acme`. */
  readonly id: string;
  /** May provide and take back everything. All trusted connections are one principal, to which the engine's modules belong as well. */
  readonly isTrusted: boolean;
  /** Its HTTP routes must lie below this path, e.g. `/acme`. Undefined: anywhere. */
  readonly httpPathPrefix?: string | undefined;
  /** The role that a token gave, also where the principal is a prefix. Undefined: no token of a role was presented. */
  readonly role?: string | undefined;
}

/** Connections to which no access rules apply: those with the engine's token, and those of listeners without rules. */
export const TRUSTED: Principal = { id: "trusted", isTrusted: true };

export function restrictedPrincipal(id: string, httpPathPrefix?: string, role?: string): Principal {
  return { id, isTrusted: false, httpPathPrefix, role };
}

/** How lists show who made a job or a trigger; null: a trusted worker, or the engine. */
export const makerShape = z
  .object({
    principal: z.string().meta({ description: "Whose share it is in, e.g. `role reader`, `prefix acme`" }),
    role: z.string().nullable().meta({ description: "The role of the token that was presented" }),
  })
  .nullable()
  .meta({ description: "Who made it, where access is restricted; null: a trusted worker, or the engine" });

export function makerOf({ id, isTrusted, role }: Principal): z.input<typeof makerShape> {
  return isTrusted ? null : { principal: id, role: role ?? null };
}

/** A path of literal segments, as roles and auth functions give it. */
export const httpPathPrefixSchema = z
  .string()
  .max(256)
  .regex(/^(?:\/[A-Za-z0-9._~-]+)+$/, 'must be a path of plain segments, e.g. "/acme"');

export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.isTrusted === other.isTrusted;
}
