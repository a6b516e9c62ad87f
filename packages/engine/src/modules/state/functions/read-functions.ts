import { z } from "zod";
import type { ModuleContext } from "../../../kernel/module.ts";
import {
  addressInput,
  anyValue,
  entriesInput,
  getManyInput,
  groupsInput,
  noInput,
  queryInput,
  scopeInput,
} from "../inputs.ts";
import { queryItems } from "../query-items.ts";
import type { Reads } from "../reads.ts";
import type { StateServices } from "../state-services.ts";

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

/** Provides the functions that read. */
export function provideReadFunctions(
  context: ModuleContext<unknown>,
  { reads, store, clock }: Pick<StateServices, "store" | "clock"> & { readonly reads: Reads },
): void {
  context.provideFunction({
    id: "state::get",
    summary: "Returns the value of a key, or null",
    input: addressInput,
    output: anyValue,
    handle: (input) => reads.get(input),
  });
  context.provideFunction({
    id: "state::get_entry",
    summary: "Returns an item with its version, or null",
    input: addressInput,
    output: entry.nullable(),
    handle: (input) => reads.getEntry(input),
  });
  context.provideFunction({
    id: "state::get_many",
    summary:
      "Returns items of a scope with their versions, in the order of the given keys; null for keys without an item",
    input: getManyInput,
    output: z.object({ items: z.array(entry.nullable()) }),
    handle: (input) => reads.getMany(input),
  });
  context.provideFunction({
    id: "state::list",
    summary: "Returns all values of a scope, sorted by key",
    input: scopeInput,
    output: z.array(anyValue),
    handle: (input) => reads.list(input),
  });
  context.provideFunction({
    id: "state::entries",
    summary: "Returns a page of a scope's items with keys and versions, sorted by key",
    input: entriesInput,
    output: z.object({ items: z.array(entry), cursor, total }),
    handle: (input) => reads.entries(input),
  });
  context.provideFunction({
    id: "state::list_groups",
    summary: "Returns the scopes that contain items, sorted",
    input: noInput,
    output: z.object({ groups: z.array(z.string()) }),
    handle: () => reads.listGroups(),
  });
  context.provideFunction({
    id: "state::groups",
    summary: "Returns a page of the scopes that contain items, with the number of items and bytes, sorted",
    input: groupsInput,
    output: z.object({ items: z.array(group), cursor, total }),
    handle: (input) => reads.groups(input),
  });
  context.provideFunction({
    id: "state::query",
    summary:
      "Returns items of all scopes, or of one, that match a query, sorted by scope and key. Reads a limited number of items: a page may be empty before the last",
    input: queryInput,
    output: z.object({ items: z.array(entry.extend({ scope: z.string() })), cursor, scanned: total }),
    handle: (input, { signal }) => queryItems(store, input, clock.now(), signal),
  });
}
