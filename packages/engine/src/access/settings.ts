/**
 * Exposed functions of a listener, as in the config file: ids that match a pattern, or functions with certain metadata.
 */
export type ExposeSetting = string | { readonly metadata: Readonly<Record<string, unknown>> };

/** Permissions of the holder of a role's token. */
export interface RoleSettings {
  readonly name: string;
  /** Patterns of function ids; `*` matches any characters. Forbidden patterns win. */
  readonly allowedFunctions: readonly string[];
  readonly forbiddenFunctions: readonly string[];
  /** Undefined: all types. */
  readonly allowedTriggerTypes: readonly string[] | undefined;
  readonly allowTriggerTypeRegistration: boolean;
  readonly allowFunctionRegistration: boolean;
  /** Registered ids become `PREFIX::id`. */
  readonly functionRegistrationPrefix: string | undefined;
  /** HTTP routes must lie below this path. */
  readonly httpPathPrefix?: string | undefined;
  /** Passed to hooks and to the middleware. */
  readonly context: Readonly<Record<string, unknown>>;
  /** May call functions that administer the engine. */
  readonly admin: boolean;
}

export interface RbacSettings {
  readonly authFunctionId: string | undefined;
  readonly exposeFunctions: readonly ExposeSetting[];
  readonly onFunctionRegistrationFunctionId: string | undefined;
  readonly onTriggerRegistrationFunctionId: string | undefined;
  readonly onTriggerTypeRegistrationFunctionId: string | undefined;
  readonly roles: readonly RoleSettings[];
  readonly tokens: readonly { readonly token: string; readonly role: string }[];
}

/** The settings that decide who may connect to one bridge listener, and with which permissions. */
export interface AccessSettings {
  /** True if a client needs the engine's token, a role's token, or the consent of the auth function. */
  readonly tokenRequired: boolean;
  readonly rbac: RbacSettings | undefined;
  /** A function that is called instead of the function of each permitted call. */
  readonly middlewareFunctionId: string | undefined;
  /** True if all connections are refused, because the config file no longer has the listener. Default false. */
  readonly isRemoved?: boolean;
}
