import { functionIdSchema } from "@svc-runtime/protocol";
import { z } from "zod";
import { patternOfMatch } from "../../access/name-list.ts";
import { httpPathPrefixSchema } from "../../access/principal.ts";
import type { RbacSettings, RoleSettings } from "../../access/settings.ts";
import { tokenSchema } from "../engine-options.ts";
import { addressBlockSchema } from "../listen-address.ts";

const functionId = z
  .string()
  .refine((id) => functionIdSchema.safeParse(id).success, { message: "must be the id of a function" });
const patterns = z.array(z.string().min(1).max(256));

const exposeRuleSchema = z.union([
  z.string().refine((text) => patternOfMatch(text) !== undefined, {
    message: 'must be match("pattern"), e.g. match("api::*")',
  }),
  z.strictObject({ metadata: z.record(z.string(), z.union([z.string(), z.number(), z.boolean(), z.null()])) }),
]);

const roleSchema = z.strictObject({
  allowed_functions: patterns
    .optional()
    .meta({ description: "Patterns of function ids that the role may call; `*` matches any characters" }),
  forbidden_functions: patterns
    .optional()
    .meta({ description: "Patterns of function ids that the role may not call, even if another rule allows them" }),
  allowed_trigger_types: z
    .array(z.string().min(1))
    .optional()
    .meta({ description: "Trigger types that the role may use. Default any" }),
  allow_function_registration: z.boolean().optional().meta({ description: "Default true" }),
  allow_trigger_type_registration: z.boolean().optional().meta({ description: "Default false" }),
  function_registration_prefix: functionId
    .optional()
    .meta({ description: "Prefix of the ids that the role registers: id becomes PREFIX::id" }),
  http_path_prefix: httpPathPrefixSchema
    .optional()
    .meta({ description: "Path prefix that the role's HTTP routes must have, e.g. /acme. Default none" }),
  context: z.record(z.string(), z.unknown()).optional().meta({ description: "Passed to hooks and to the middleware" }),
  admin: z.boolean().optional().meta({
    description:
      "Whether the role may call functions that administer the engine (worker::*, engine::config::*). Default false",
  }),
});

export const rbacBlockSchema = z
  .strictObject({
    auth_function_id: functionId
      .optional()
      .meta({ description: "Function that authenticates connections without a token" }),
    expose_functions: z
      .array(exposeRuleSchema)
      .optional()
      .meta({ description: 'Functions that every client may call: match("api::*") or {metadata: {key: value}}' }),
    on_function_registration_function_id: functionId
      .optional()
      .meta({ description: "Function that is called before a function is registered" }),
    on_trigger_registration_function_id: functionId
      .optional()
      .meta({ description: "Function that is called before a trigger is registered" }),
    on_trigger_type_registration_function_id: functionId
      .optional()
      .meta({ description: "Function that is called before a trigger type is registered" }),
    roles: z
      .record(z.string().min(1).max(64), roleSchema)
      .optional()
      .meta({ description: "Roles by name, for tokens" }),
    tokens: z
      .array(z.strictObject({ token: tokenSchema, role: z.string() }))
      .max(1_000)
      .optional()
      .meta({ description: "Tokens, each with its role; write them as variables" }),
  })
  .superRefine(({ roles, tokens }, context) => {
    for (const [index, { role }] of (tokens ?? []).entries()) {
      if (roles !== undefined && Object.hasOwn(roles, role)) continue;
      context.addIssue({ code: "custom", path: ["tokens", index, "role"], message: "is not a role of this block" });
    }
  });

const accessKeys = {
  token: z.enum(["required", "optional"]).optional().meta({
    description:
      "Whether clients must present a token. Default: off loopback and in production, unless auth_function_id decides",
  }),
  rbac: rbacBlockSchema.optional().meta({ description: "Restricts what clients without the engine's token may do" }),
  middleware_function_id: functionId
    .optional()
    .meta({ description: "Function that is called in place of every permitted call" }),
  handshake_timeout_ms: z
    .number()
    .optional()
    .meta({ description: "Has no effect: the handshake timeout is always 10 seconds" }),
};

function decidesOnce(block: {
  readonly token?: string | undefined;
  readonly rbac?: z.output<typeof rbacBlockSchema> | undefined;
}): boolean {
  return block.token === undefined || block.rbac?.auth_function_id === undefined;
}
const DECIDES_ONCE = {
  message: "and rbac.auth_function_id exclude each other: the function authenticates clients without a token",
  path: ["token"],
};

/** A listener for workers: its address, and the access rules of its clients. */
export const bridgeBlockSchema = addressBlockSchema.extend(accessKeys).refine(decidesOnce, DECIDES_ONCE);
export type BridgeBlock = z.output<typeof bridgeBlockSchema>;

/** Converts the rules of the config file to the kernel's settings. */
export function rbacSettings(block: z.output<typeof rbacBlockSchema>): RbacSettings {
  return {
    authFunctionId: block.auth_function_id,
    exposeFunctions: block.expose_functions ?? [],
    onFunctionRegistrationFunctionId: block.on_function_registration_function_id,
    onTriggerRegistrationFunctionId: block.on_trigger_registration_function_id,
    onTriggerTypeRegistrationFunctionId: block.on_trigger_type_registration_function_id,
    roles: Object.entries(block.roles ?? {}).map(([name, role]) => roleSettings(name, role)),
    tokens: block.tokens ?? [],
  };
}

function roleSettings(name: string, role: z.output<typeof roleSchema>): RoleSettings {
  return {
    name,
    allowedFunctions: role.allowed_functions ?? [],
    forbiddenFunctions: role.forbidden_functions ?? [],
    allowedTriggerTypes: role.allowed_trigger_types,
    allowTriggerTypeRegistration: role.allow_trigger_type_registration ?? false,
    allowFunctionRegistration: role.allow_function_registration ?? true,
    functionRegistrationPrefix: role.function_registration_prefix,
    httpPathPrefix: role.http_path_prefix,
    context: role.context ?? {},
    admin: role.admin ?? false,
  };
}
