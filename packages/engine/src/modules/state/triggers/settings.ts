import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../../items/item-name.ts";
import type { ChangeKind } from "../../../items/outbox.ts";

const DEFAULT_MAX_ATTEMPTS = 5;
const HIGHEST_MAX_ATTEMPTS = 100;

export const CHANGE_KINDS: readonly ChangeKind[] = ["created", "updated", "deleted"];

/** The trigger types, and the changes that each is about. */
export const STATE_TRIGGER_TYPES: Readonly<Record<string, readonly ChangeKind[]>> = {
  state: CHANGE_KINDS,
  "state:created": ["created"],
  "state:updated": ["updated"],
  "state:deleted": ["deleted"],
};

/** Which changes a binding is about, and how it is served. */
export interface StateTriggerSettings {
  /** Undefined: any. */
  readonly scope: string | undefined;
  readonly key: string | undefined;
  /** Keys begin with it; "" is any. */
  readonly prefix: string;
  readonly kinds: ReadonlySet<ChangeKind>;
  readonly conditionFunctionId: string | undefined;
  /** How often the function may fail on one change before the change is given up. */
  readonly maxAttempts: number;
}

const kindNames = z.enum(["state:created", "state:updated", "state:deleted", "created", "updated", "deleted"]);

/** The config of a trigger of one of the types. Members that are null count as absent. Strict: a filter that was mistyped would let everything through. */
export function stateTriggerSettings(typeKinds: readonly ChangeKind[]): z.ZodType<StateTriggerSettings> {
  return z
    .strictObject({
      // Said once more, because what is nullish shows the description of neither of its forms.
      scope: described(itemNameSchema("Only this scope")),
      key: described(itemNameSchema("Only this key")),
      prefix: described(prefixSchema),
      event_types: z.array(kindNames).min(1).nullish().meta({ description: "Only these changes; default all" }),
      condition_function_id: z
        .string()
        .min(1)
        .nullish()
        .meta({ description: "Called first with the same payload; when it answers `false`, the change is passed over" }),
      max_attempts: z
        .int()
        .min(1)
        .max(HIGHEST_MAX_ATTEMPTS)
        .nullish()
        .meta({ description: `Calls of the function for one change, while it fails; 1 to ${HIGHEST_MAX_ATTEMPTS}, default ${DEFAULT_MAX_ATTEMPTS}` }),
    })
    .superRefine((config, context) => {
      if (config.key != null && config.prefix != null && !config.key.startsWith(config.prefix))
        context.addIssue({ code: "custom", path: ["prefix"], message: "`key` does not begin with it, so nothing would ever match" });
      if (config.event_types != null && kindsOf(config.event_types, typeKinds).size === 0)
        context.addIssue({ code: "custom", path: ["event_types"], message: "names none of the changes that this trigger type is about" });
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
