/** Which functions a listener exposes: ids that match a pattern, or functions whose metadata says so. As the config file has it. */
export type ExposeSetting = string | { readonly metadata: Readonly<Record<string, unknown>> };

/** What the holder of a role's token may do. */
export interface RoleSettings {
  readonly name: string;
  /** Patterns of function ids; `*` stands for anything. Forbidden ones win. */
  readonly allowedFunctions: readonly string[];
  readonly forbiddenFunctions: readonly string[];
  /** Undefined: any. */
  readonly allowedTriggerTypes: readonly string[] | undefined;
  readonly allowTriggerTypeRegistration: boolean;
  readonly allowFunctionRegistration: boolean;
  /** Ids registered become `PREFIX::id`. */
  readonly functionRegistrationPrefix: string | undefined;
  /** HTTP routes must lie below this path. */
  readonly httpPathPrefix?: string | undefined;
  /** Given to hooks and to the middleware. */
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

/** Who may connect to one listener for workers, and what they may do then. */
export interface AccessSettings {
  /** True: without the engine's token, a role's or the auth function's consent nobody connects. */
  readonly tokenRequired: boolean;
  readonly rbac: RbacSettings | undefined;
  /** Called in place of every permitted call. */
  readonly middlewareFunctionId: string | undefined;
  /** True: nobody may connect, whatever token they have, since the config file no longer has the listener. Default false. */
  readonly isRemoved?: boolean;
}
