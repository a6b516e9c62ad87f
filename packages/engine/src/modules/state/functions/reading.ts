import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import { addressInput, anyValue, entriesInput, getManyInput, groupsInput, noInput, scopeInput } from "../inputs.ts";
import type { Reads } from "../reads.ts";

const entry = z.object({
  key: z.string(),
  value: anyValue,
  version: z.int().min(1),
  updated_at: z.iso.datetime(),
  bytes: z.int().min(1),
  expires_at: z.iso.datetime().optional(),
});
const cursor = z.string().nullable();
const total = z.int().min(0);
const group = z.object({ scope: z.string(), items: z.int().min(1), bytes: z.int().min(1) });

/** The functions that change nothing. */
export function provideReading(context: ModuleContext<unknown>, reads: Reads): void {
  context.provideFunction({
    id: "state::get",
    summary: "The value of a key, or null",
    input: addressInput,
    output: anyValue,
    handle: (input) => reads.get(input),
  });
  context.provideFunction({
    id: "state::get_entry",
    summary: "One item with its version, or null",
    input: addressInput,
    output: entry.nullable(),
    handle: (input) => reads.getEntry(input),
  });
  context.provideFunction({
    id: "state::get_many",
    summary: "Items of one scope with their versions, in the order of the keys asked for; null where there is none",
    input: getManyInput,
    output: z.object({ items: z.array(entry.nullable()) }),
    handle: (input) => reads.getMany(input),
  });
  context.provideFunction({
    id: "state::list",
    summary: "All values of a scope, in the order of their keys",
    input: scopeInput,
    output: z.array(anyValue),
    handle: (input) => reads.list(input),
  });
  context.provideFunction({
    id: "state::entries",
    summary: "A page of a scope's items with keys and versions, in the order of keys",
    input: entriesInput,
    output: z.object({ items: z.array(entry), cursor, total }),
    handle: (input) => reads.entries(input),
  });
  context.provideFunction({
    id: "state::list_groups",
    summary: "The scopes that hold something, in order",
    input: noInput,
    output: z.object({ groups: z.array(z.string()) }),
    handle: () => reads.listGroups(),
  });
  context.provideFunction({
    id: "state::groups",
    summary: "A page of the scopes that hold something, with how many items and bytes, in order",
    input: groupsInput,
    output: z.object({ items: z.array(group), cursor, total }),
    handle: (input) => reads.groups(input),
  });
}
