import { CallError } from "@svc-runtime/protocol";
import type { z } from "zod";
import { describeIssues } from "../describe-issues.ts";

/** Describes `description`, which the config of every trigger of a built-in type may have. */
const DESCRIPTION = { type: "string", description: "What the trigger is for. Shown in lists, has no effect" } as const;

interface ParsedConfig<Settings> {
  readonly settings: Settings;
  /** Says which unknown members were ignored. Undefined if there are none. */
  readonly ignored: string | undefined;
}

/**
 * Parses the config of a trigger of a built-in type. The member `description` is for people only and is removed before
 * the config is parsed with the type's schema. Throws CallError `trigger_registration_failed` if the config does not
 * match. Unknown members are ignored if `ignoresUnknown` is true, and refused otherwise.
 */
export function parseTriggerConfig<Settings>(
  config: unknown,
  options: { readonly type: string; readonly schema: z.ZodType<Settings>; readonly ignoresUnknown: boolean },
): ParsedConfig<Settings> {
  const { type, schema, ignoresUnknown } = options;
  const value = withoutDescription(config ?? {});
  const parsed = schema.safeParse(value);
  if (parsed.success) return { settings: parsed.data, ignored: undefined };
  const about = { whole: "config", schema, value };
  const unknown = parsed.error.issues.filter((issue) => issue.code === "unrecognized_keys");
  if (!ignoresUnknown || unknown.length === 0) throw configRefusal(type, describeIssues(parsed.error, about));
  const known = structuredClone(value);
  for (const { path, keys } of unknown) removeMembers(known, path, keys);
  const again = schema.safeParse(known);
  if (!again.success) throw configRefusal(type, describeIssues(again.error, { ...about, value: known }));
  return { settings: again.data, ignored: describeIssues({ issues: unknown }, about) };
}

/** Adds `description` to the JSON Schema of a trigger type's config. */
export function withDescriptionMember(schema: z.core.JSONSchema.BaseSchema): z.core.JSONSchema.BaseSchema {
  if (schema.properties === undefined) return schema;
  return { ...schema, properties: { ...schema.properties, description: DESCRIPTION } };
}

/** Returns the error for a config of a trigger of the type. */
export function configRefusal(type: string, problem: string): CallError {
  return new CallError("trigger_registration_failed", `${type} trigger: ${problem}`);
}

function withoutDescription(config: unknown): unknown {
  if (typeof config !== "object" || config === null || Array.isArray(config)) return config;
  if (!Object.hasOwn(config, "description")) return config;
  const { description, ...others } = config as Readonly<Record<string, unknown>>;
  return typeof description === "string" ? others : config;
}

function removeMembers(root: unknown, path: readonly PropertyKey[], names: readonly string[]): void {
  let holder = root as Record<PropertyKey, unknown>;
  for (const part of path) holder = holder[part] as Record<PropertyKey, unknown>;
  for (const name of names) delete holder[name];
}
