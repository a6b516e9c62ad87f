import { compileExposeRule, type ExposeRule } from "./expose-rules.ts";
import type { AccessSettings } from "./settings.ts";

/** The compiled rules of one listener. */
export interface AccessPolicy {
  /** Undefined: the listener has no `rbac`, so every call is allowed. */
  readonly exposeRules: readonly ExposeRule[] | undefined;
  readonly middlewareFunctionId: string | undefined;
  readonly onFunctionRegistration: string | undefined;
  readonly onTriggerRegistration: string | undefined;
  readonly onTriggerTypeRegistration: string | undefined;
}

const compiled = new WeakMap<AccessSettings, AccessPolicy>();

/** Returns the compiled rules; each settings object is compiled once. */
export function policyOf(settings: AccessSettings): AccessPolicy {
  const known = compiled.get(settings);
  if (known !== undefined) return known;
  const { rbac, middlewareFunctionId } = settings;
  const policy: AccessPolicy = {
    exposeRules: rbac?.exposeFunctions.map(compileExposeRule),
    middlewareFunctionId,
    onFunctionRegistration: rbac?.onFunctionRegistrationFunctionId,
    onTriggerRegistration: rbac?.onTriggerRegistrationFunctionId,
    onTriggerTypeRegistration: rbac?.onTriggerTypeRegistrationFunctionId,
  };
  compiled.set(settings, policy);
  return policy;
}
