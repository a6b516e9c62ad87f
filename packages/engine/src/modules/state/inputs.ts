import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../items/item-name.ts";
import { rawJson } from "../../items/raw-json.ts";
import { updateOpsSchema } from "../../items/update-schema.ts";

/** Maximum number of items in a page, and in a call of a `…_many` function. */
export const MAX_ITEMS = 1_000;
const DEFAULT_PAGE_ITEMS = 100;
const TEN_YEARS_MS = 10 * 365 * 86_400_000;

export const scope = itemNameSchema("Scope");
export const key = itemNameSchema("Key");
const ifVersion = z
  .int()
  .min(0)
  .optional()
  .meta({ description: "Write only if the item has this version; 0: only if the item does not exist" });
const expiresIn = z
  .int()
  .min(1)
  .max(TEN_YEARS_MS)
  .optional()
  .meta({ description: "Time until the item expires, in milliseconds, at most ten years" });
const keys = z.array(key).min(1).max(MAX_ITEMS).meta({ description: "1 to 1,000 keys" });
const cursor = z.string().nullish().meta({ description: "`cursor` of the previous page" });
const limit = z
  .int()
  .min(1)
  .max(MAX_ITEMS)
  .default(DEFAULT_PAGE_ITEMS)
  .meta({ description: "Maximum number of items in the page; 1 to 1,000, default 100" });

export const anyValue = z.unknown().meta({ description: "Any JSON value" });
export const durability = z
  .enum(["relaxed", "memory"])
  .optional()
  .meta({ description: "Durability of the write; absent if it is synced to disk" });

// Strict, because a mistyped `if_version` would turn a compare-and-set into an overwrite.
export const noInput = z.strictObject({});
export const scopeInput = z.strictObject({ scope });
export const addressInput = z.strictObject({ scope, key });
export const getManyInput = z.strictObject({ scope, keys });
export const deleteInput = z.strictObject({ scope, key, if_version: ifVersion });
export const updateInput = z.strictObject({
  scope,
  key,
  ops: updateOpsSchema.meta({
    description: "1 to 1,000 operations, applied in order: set, merge, increment, decrement, append, remove",
  }),
  atomic: z.boolean().default(true).meta({
    description: "Default true: nothing is written if an operation fails. False: the other operations are applied",
  }),
  if_version: ifVersion,
  expires_in_ms: expiresIn,
});

const valueMembers = { value: rawJson("Any JSON value"), data: rawJson("Another name for `value`") };

function oneValue(input: { readonly value?: unknown; readonly data?: unknown }, context: z.RefinementCtx): void {
  if (input.value === undefined && input.data === undefined) {
    context.addIssue({ code: "custom", path: ["value"], message: "is missing; send null to store null" });
  }
  if (input.value !== undefined && input.data !== undefined) {
    context.addIssue({ code: "custom", path: ["data"], message: "is another name for `value`; send one of the two" });
  }
}

export const setInput = z
  .strictObject({ scope, key, ...valueMembers, if_version: ifVersion, expires_in_ms: expiresIn })
  .superRefine(oneValue);
/** Unparsed members of `setInput` and of `setManyInput.items[]`. */
export const RAW_VALUE_MEMBERS = ["value", "data"] as const;

export const setManyInput = z.strictObject({
  items: z.array(setInput).min(1).max(MAX_ITEMS).meta({ description: "1 to 1,000 items, written all or none" }),
});

export const deleteManyInput = z
  .strictObject({
    scope,
    keys: keys.optional(),
    prefix: prefixSchema
      .optional()
      .meta({ description: 'Delete all keys that start with this prefix; "" deletes all items of the scope' }),
  })
  .superRefine((input, context) => {
    if ((input.keys === undefined) !== (input.prefix === undefined)) return;
    const message =
      input.keys === undefined ? "is missing; send keys or a prefix" : "cannot be sent together with a prefix";
    context.addIssue({ code: "custom", path: ["keys"], message });
  });

export const entriesInput = z.strictObject({ scope, prefix: prefixSchema.default(""), cursor, limit });
export const groupsInput = z.strictObject({
  prefix: prefixSchema.default("").meta({ description: "Only scopes that start with this prefix" }),
  cursor,
  limit,
});

/** Maximum length of a query, in characters. */
const MAX_QUERY = 4_000;

export const queryInput = z.strictObject({
  query: z.string().max(MAX_QUERY).meta({
    description: "Query of items, e.g. scope:orders and value.status:failed; see the guide",
  }),
  scope: scope.optional(),
  prefix: prefixSchema.default(""),
  exclude_system: z.boolean().default(false).meta({
    description: "True: does not read scopes of the system, whose names start with __",
  }),
  cursor,
  limit,
});
