import { authResultSchema, grantsOfAuthResult } from "../kernel/access/grants.ts";
import { policyOf } from "../kernel/access/policy.ts";
import { SessionAccess } from "../kernel/access/session-access.ts";

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

/** What a connection may do that may call only these functions. */
export function accessTo(functions: readonly string[], more: { readonly middlewareFunctionId?: string } = {}): SessionAccess {
  return new SessionAccess(grantsOfAuthResult(authResultSchema.parse({ allowed_functions: functions }), "auth"), policyOf({ ...rules, ...more }));
}
