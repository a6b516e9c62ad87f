import { z } from "zod";
import { itemNameSchema, prefixSchema } from "../../items/item-name.ts";
import type { ModuleContext } from "../../kernel/module.ts";
import type { State } from "./state.ts";

const DEFAULT_PAGE_ITEMS = 100;
const MAX_PAGE_ITEMS = 1_000;

const scope = itemNameSchema("Scope");
const key = itemNameSchema("Key");
const ifVersion = z.int().min(0).optional().meta({ description: "Write only if the item has this version; 0: only if there is no such item" });

const scopeInput = z.object({ scope });
const addressInput = z.object({ scope, key });
const deleteInput = z.object({ scope, key, if_version: ifVersion });
const entriesInput = z.object({
  scope,
  prefix: prefixSchema.default(""),
  cursor: z.string().nullish().meta({ description: "Where to go on: `cursor` of the page before" }),
  limit: z.int().min(1).max(MAX_PAGE_ITEMS).default(DEFAULT_PAGE_ITEMS).meta({ description: "Most items of the page; 1 to 1,000, default 100" }),
});
const setInput = z
  .object({
    scope,
    key,
    value: z.unknown().optional().meta({ description: "Any JSON value" }),
    data: z.unknown().optional().meta({ description: "Another name for `value`" }),
    if_version: ifVersion,
  })
  .superRefine((input, context) => {
    if (input.value === undefined && input.data === undefined)
      context.addIssue({ code: "custom", path: ["value"], message: "is missing; send null to store null" });
    if (input.value !== undefined && input.data !== undefined)
      context.addIssue({ code: "custom", path: ["data"], message: "is another name for `value`; send one of the two" });
  });

const anyValue = z.unknown().meta({ description: "Any JSON value" });
const entry = z.object({ key: z.string(), value: anyValue, version: z.int().min(1), updated_at: z.iso.datetime(), bytes: z.int().min(1) });

/** Makes `state::*` callable. */
export function provideStateFunctions(context: ModuleContext<unknown>, state: State): void {
  context.provideFunction({
    id: "state::get",
    summary: "The value of a key, or null",
    input: addressInput,
    output: anyValue,
    handle: (input) => state.get(input),
  });
  context.provideFunction({
    id: "state::set",
    summary: "Stores a value; answers the old one, the new one and the item's version",
    input: setInput,
    output: z.object({ old_value: anyValue, new_value: anyValue, version: z.int().min(1) }),
    handle: (input) =>
      state.set({ scope: input.scope, key: input.key, value: input.value === undefined ? input.data : input.value, ifVersion: input.if_version }),
  });
  context.provideFunction({
    id: "state::delete",
    summary: "Removes a key; answers the value that was there, or null",
    input: deleteInput,
    output: anyValue,
    handle: (input) => state.delete({ scope: input.scope, key: input.key, ifVersion: input.if_version }),
  });
  context.provideFunction({
    id: "state::list",
    summary: "All values of a scope, in the order of their keys",
    input: scopeInput,
    output: z.array(anyValue),
    handle: (input) => state.list(input),
  });
  context.provideFunction({
    id: "state::entries",
    summary: "A page of a scope's items with keys and versions, in the order of keys",
    input: entriesInput,
    output: z.object({ items: z.array(entry), cursor: z.string().nullable(), total: z.int().min(0) }),
    handle: (input) => state.entries({ scope: input.scope, prefix: input.prefix, cursor: input.cursor ?? undefined, limit: input.limit }),
  });
  context.provideFunction({
    id: "state::get_entry",
    summary: "One item with its version, or null",
    input: addressInput,
    output: entry.nullable(),
    handle: (input) => state.getEntry(input),
  });
  context.provideFunction({
    id: "state::list_groups",
    summary: "The scopes that hold something, in order",
    input: z.unknown(),
    output: z.object({ groups: z.array(z.string()) }),
    handle: () => state.listGroups(),
  });
}
