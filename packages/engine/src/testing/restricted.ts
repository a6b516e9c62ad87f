import { authResultSchema, grantsOfAuthResult, grantsOfRole } from "../access/grants.ts";
import { policyOf } from "../access/policy.ts";
import { SessionAccess } from "../access/session-access.ts";
import type { AccessSettings, RoleSettings } from "../access/settings.ts";

const rules = {
  tokenRequired: false,
  middlewareFunctionId: undefined,
  rbac: {
    authFunctionId: "auth",
    exposeFunctions: [],
    onFunctionRegistrationFunctionId: undefined,
    onTriggerRegistrationFunctionId: undefined,
    onTriggerTypeRegistrationFunctionId: undefined,
    roles: [],
    tokens: [],
  },
};

/** Returns the permissions of a connection that may call only these functions. */
export function accessTo(
  functions: readonly string[],
  more: { readonly middlewareFunctionId?: string; readonly prefix?: string } = {},
): SessionAccess {
  const { prefix, ...settings } = more;
  const result = authResultSchema.parse({ allowed_functions: functions, function_registration_prefix: prefix });
  return new SessionAccess(grantsOfAuthResult(result, "auth"), policyOf({ ...rules, ...settings }));
}

/** Returns the permissions of a connection with a token of this role; `rulesWith` activates the role. */
export function accessOfRole(name: string, functions: readonly string[]): SessionAccess {
  return new SessionAccess(grantsOfRole(roleNamed(name, functions)), policyOf(rules));
}

/** Returns settings of a listener with these roles, each with a token. */
export function rulesWith(...roles: readonly string[]): AccessSettings {
  const tokens = roles.map((role) => ({ token: `token-of-${role}`, role }));
  return { ...rules, rbac: { ...rules.rbac, roles: roles.map((name) => roleNamed(name, [])), tokens } };
}

function roleNamed(name: string, allowedFunctions: readonly string[]): RoleSettings {
  return {
    name,
    allowedFunctions,
    forbiddenFunctions: [],
    allowedTriggerTypes: undefined,
    allowTriggerTypeRegistration: false,
    allowFunctionRegistration: true,
    functionRegistrationPrefix: undefined,
    context: {},
    admin: false,
  };
}
