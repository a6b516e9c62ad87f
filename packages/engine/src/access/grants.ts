import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { NameList, patternOfMatch } from "./name-list.ts";
import { httpPathPrefixSchema, type Principal, restrictedPrincipal } from "./principal.ts";
import type { AccessSettings, RoleSettings } from "./settings.ts";

/** Permissions of one connection. A connection without grants is not restricted. */
export interface Grants {
  /** Name for the audit log, e.g. `role reader`. */
  readonly subject: string;
  /**
   * Connections with the same principal may provide the same function and trigger type. Connections with the same
   * prefix share a principal, which is never a trusted one.
   */
  readonly principal: Principal;
  readonly allowed: NameList;
  readonly forbidden: NameList;
  /** Trigger types that the connection may use. Undefined: all types. */
  readonly triggerTypes: ReadonlySet<string> | undefined;
  readonly mayRegisterFunctions: boolean;
  readonly mayRegisterTriggerTypes: boolean;
  readonly prefix: string | undefined;
  readonly context: Readonly<Record<string, unknown>>;
  /** True if the connection may call functions that administer the engine even if no list has their ids. */
  readonly admin: boolean;
}

const ids = z.array(z.string().max(1024)).max(10_000);

/** Result of an auth function. Unknown members are ignored. */
export const authResultSchema = z.object({
  allowed_functions: ids.nullish(),
  forbidden_functions: ids.nullish(),
  allowed_trigger_types: ids.nullish(),
  allow_trigger_type_registration: z.boolean().nullish(),
  allow_function_registration: z.boolean().nullish(),
  context: z.record(z.string(), z.unknown()).nullish(),
  function_registration_prefix: functionIdSchema.nullish(),
  http_path_prefix: httpPathPrefixSchema.nullish(),
});

/** Returns the grants of an auth function's result. */
export function grantsOfAuthResult(result: z.output<typeof authResultSchema>, authFunctionId: string): Grants {
  const prefix = result.function_registration_prefix ?? undefined;
  return {
    subject: `a connection admitted by ${authFunctionId}`,
    principal: principalOf(authFunctionId, prefix, result.http_path_prefix ?? undefined),
    allowed: listOf(result.allowed_functions ?? []),
    forbidden: listOf(result.forbidden_functions ?? []),
    triggerTypes: result.allowed_trigger_types == null ? undefined : new Set(result.allowed_trigger_types),
    mayRegisterFunctions: result.allow_function_registration ?? true,
    mayRegisterTriggerTypes: result.allow_trigger_type_registration ?? false,
    prefix,
    context: result.context ?? {},
    admin: false,
  };
}

export function grantsOfRole(role: RoleSettings): Grants {
  return {
    subject: `role ${role.name}`,
    principal: principalOf(`role ${role.name}`, role.functionRegistrationPrefix, role.httpPathPrefix, role.name),
    allowed: listOfPatterns(role.allowedFunctions),
    forbidden: listOfPatterns(role.forbiddenFunctions),
    triggerTypes: role.allowedTriggerTypes === undefined ? undefined : new Set(role.allowedTriggerTypes),
    mayRegisterFunctions: role.allowFunctionRegistration,
    mayRegisterTriggerTypes: role.allowTriggerTypeRegistration,
    prefix: role.functionRegistrationPrefix,
    context: role.context,
    admin: role.admin,
  };
}

/** Returns the principal of the connections that present a token of a role. Undefined: the listener has no such token. */
export function principalOfToken(token: string, { rbac }: AccessSettings): Principal | undefined {
  const name = rbac?.tokens.find((each) => each.token === token)?.role;
  const role = rbac?.roles.find((each) => each.name === name);
  return role === undefined ? undefined : grantsOfRole(role).principal;
}

/**
 * Grants of a client without a token on a listener that has rules and no auth function. The client may register
 * everything, and may call the functions that the listener's rules allow.
 */
export const ANONYMOUS: Grants = {
  subject: "an anonymous connection",
  principal: restrictedPrincipal("anonymous"),
  allowed: NameList.empty,
  forbidden: NameList.empty,
  triggerTypes: undefined,
  mayRegisterFunctions: true,
  mayRegisterTriggerTypes: true,
  prefix: undefined,
  context: {},
  admin: false,
};

/**
 * Grants of a client without a token on a listener that has a middleware and no rules. All calls are allowed, but go
 * through the middleware. The connection is not trusted, because it could otherwise provide the middleware itself.
 */
export const THROUGH_MIDDLEWARE: Grants = {
  ...ANONYMOUS,
  subject: "a connection through the middleware",
  principal: restrictedPrincipal("through the middleware"),
};

function principalOf(
  source: string,
  prefix: string | undefined,
  httpPathPrefix: string | undefined,
  role?: string,
): Principal {
  return restrictedPrincipal(prefix === undefined ? source : `prefix ${prefix}`, httpPathPrefix, role);
}

/** Returns the list for entries of an auth function's result. An entry is an id or `match("…")` with a pattern. */
function listOf(entries: readonly string[]): NameList {
  const patterns = entries.map(patternOfMatch).filter((pattern) => pattern !== undefined);
  return new NameList(
    entries.filter((entry) => patternOfMatch(entry) === undefined),
    patterns,
  );
}

function listOfPatterns(entries: readonly string[]): NameList {
  const plain = entries.map((entry) => patternOfMatch(entry) ?? entry);
  return new NameList(
    plain.filter((entry) => !entry.includes("*")),
    plain.filter((entry) => entry.includes("*")),
  );
}
