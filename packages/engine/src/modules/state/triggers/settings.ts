import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../../items/item-name.ts";
import type { ChangeKind } from "../../../items/outbox.ts";

const DEFAULT_MAX_ATTEMPTS = 5;
const HIGHEST_MAX_ATTEMPTS = 100;

export const CHANGE_KINDS: readonly ChangeKind[] = ["created", "updated", "deleted"];

/** The trigger types with their kinds of changes. */
export const STATE_TRIGGER_TYPES: Readonly<Record<string, readonly ChangeKind[]>> = {
  state: CHANGE_KINDS,
  "state:created": ["created"],
  "state:updated": ["updated"],
  "state:deleted": ["deleted"],
};

/** Settings of a state trigger. */
export interface StateTriggerSettings {
  /** Undefined: any scope. */
  readonly scope: string | undefined;
  /** Undefined: any key. */
  readonly key: string | undefined;
  /** Prefix of the keys; "" for any. */
  readonly prefix: string;
  readonly kinds: ReadonlySet<ChangeKind>;
  readonly conditionFunctionId: string | undefined;
  /** Maximum number of calls of the function for a change, while it fails. */
  readonly maxAttempts: number;
}

const kindNames = z.enum(["state:created", "state:updated", "state:deleted", "created", "updated", "deleted"]);

/**
 * Returns the config schema of a trigger type. Null members count as absent. Strict, because a mistyped filter would
 * match everything.
 */
export function stateTriggerSettings(typeKinds: readonly ChangeKind[]): z.ZodType<StateTriggerSettings> {
  return z
    .strictObject({
      // Descriptions are repeated, because a nullish schema does not show the description of its inner schema.
      scope: described(itemNameSchema("Only this scope")),
      key: described(itemNameSchema("Only this key")),
      prefix: described(prefixSchema),
      event_types: z.array(kindNames).min(1).nullish().meta({ description: "Only these changes; default all" }),
      condition_function_id: z
        .string()
        .min(1)
        .nullish()
        .meta({ description: "Called first with the same payload; if it returns `false`, the change is skipped" }),
      max_attempts: z
        .int()
        .min(1)
        .max(HIGHEST_MAX_ATTEMPTS)
        .nullish()
        .meta({
          description: `Maximum calls of the function for a change, while it fails; 1 to ${HIGHEST_MAX_ATTEMPTS}, default ${DEFAULT_MAX_ATTEMPTS}`,
        }),
    })
    .superRefine((config, context) => {
      if (config.key != null && config.prefix != null && !config.key.startsWith(config.prefix))
        context.addIssue({
          code: "custom",
          path: ["prefix"],
          message: "`key` does not start with this prefix, so nothing would match",
        });
      if (config.event_types != null && kindsOf(config.event_types, typeKinds).size === 0)
        context.addIssue({ code: "custom", path: ["event_types"], message: "contains no change of this trigger type" });
    })
    .transform((config) => ({
      scope: config.scope ?? undefined,
      key: config.key ?? undefined,
      prefix: config.prefix ?? "",
      kinds: config.event_types == null ? new Set(typeKinds) : kindsOf(config.event_types, typeKinds),
      conditionFunctionId: config.condition_function_id ?? undefined,
      maxAttempts: config.max_attempts ?? DEFAULT_MAX_ATTEMPTS,
    })) as unknown as z.ZodType<StateTriggerSettings>;
}

function described(name: z.ZodString) {
  return name.nullish().meta({ description: name.description });
}

function kindsOf(names: readonly string[], typeKinds: readonly ChangeKind[]): Set<ChangeKind> {
  return new Set(typeKinds.filter((kind) => names.includes(kind) || names.includes(`state:${kind}`)));
}
