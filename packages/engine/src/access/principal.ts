import type { MadeBy } from "@svc-runtime/protocol/listings";
import { z } from "zod";

/**
 * The identity that a connection acts as. Registrations belong to a principal, and quotas are counted for each
 * principal. Two connections with the same id are one principal.
 */
export interface Principal {
  /** E.g. `role reader`, `prefix acme`. */
  readonly id: string;
  /** True if it may provide and withdraw any id. All trusted connections and the engine's modules are one principal. */
  readonly isTrusted: boolean;
  /** Path prefix of its HTTP routes, e.g. `/acme`. Undefined: all paths are allowed. */
  readonly httpPathPrefix?: string | undefined;
  /** The role of the client's token, even if the principal is a prefix. Undefined if the client sent no role token. */
  readonly role?: string | undefined;
}

/** The principal of connections that sent the engine's token, and of connections to listeners without rules. */
export const TRUSTED: Principal = { id: "trusted", isTrusted: true };

export function restrictedPrincipal(id: string, httpPathPrefix?: string, role?: string): Principal {
  return { id, isTrusted: false, httpPathPrefix, role };
}

/** The creator of a job or trigger in lists. Null for a trusted worker or the engine. */
export const makerShape = z
  .object({
    principal: z.string().meta({ description: "The principal that it counts for, e.g. `role reader`, `prefix acme`" }),
    role: z.string().nullable().meta({ description: "The role of the token that was presented" }),
  })
  .nullable()
  .meta({ description: "The restricted principal that created it; null: a trusted worker or the engine" });

export function makerOf({ id, isTrusted, role }: Principal): MadeBy {
  return isTrusted ? null : { principal: id, role: role ?? null };
}

/** A path of literal segments. Used in roles and in results of auth functions. */
export const httpPathPrefixSchema = z
  .string()
  .max(256)
  .regex(/^(?:\/[A-Za-z0-9._~-]+)+$/, 'must be a path of plain segments, e.g. "/acme"');

export function isSamePrincipal(one: Principal, other: Principal): boolean {
  return one.id === other.id && one.isTrusted === other.isTrusted;
}
