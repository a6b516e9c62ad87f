import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "./api.ts";

const SCOPE = "__console";
export const MAX_NAME_CHARACTERS = 80;

/** An item that a user saves under a name. It is stored in the engine's state, so all users of the engine see it. */
export interface Named {
  readonly name: string;
}

/** A kind of saved items, for example views. */
export interface SavedKind<Item extends Named> {
  /** Prefix of the keys in the state, which the names follow, for example `view/logs/`. */
  readonly prefix: string;
  readonly most: number;
  readonly isItem: (value: unknown) => value is Item;
}

export function hasName(value: unknown): value is Named {
  const name = typeof value === "object" && value !== null ? (value as Partial<Named>).name : undefined;
  return typeof name === "string" && name !== "" && name.length <= MAX_NAME_CHARACTERS;
}

/** Returns the saved items by name. Invalid items are ignored. */
export function useSavedItems<Item extends Named>({ prefix, most, isItem }: SavedKind<Item>) {
  return useQuery({
    queryKey: ["saved-items", prefix],
    queryFn: async ({ signal }) => {
      const asked = { scope: SCOPE, prefix, limit: most };
      const { items } = await call<{ readonly items: readonly { readonly value: unknown }[] }>(
        "state::entries",
        asked,
        { signal },
      );
      return items.map(({ value }) => value).filter(isItem);
    },
  });
}

/** Returns a mutation that saves items under their names. It replaces existing items. */
export function useSaveItems<Item extends Named>({ prefix }: SavedKind<Item>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (items: readonly Item[]) =>
      call("state::set_many", { items: items.map((value) => ({ scope: SCOPE, key: prefix + value.name, value })) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["saved-items", prefix] }),
  });
}

export function useDeleteSavedItem<Item extends Named>({ prefix }: SavedKind<Item>) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => call("state::delete", { scope: SCOPE, key: prefix + name }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["saved-items", prefix] }),
  });
}
