import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { call } from "../../../lib/api.ts";
import type { Draft } from "./request.ts";

/** A draft that was kept under a name, in the engine's state. */
export interface Template {
  readonly name: string;
  readonly draft: Draft;
  readonly saved_at_ms: number;
}

const SCOPE = "__console";
const MAX_TEMPLATES = 200;
export const MAX_NAME_CHARACTERS = 80;

function prefixOf(functionId: string): string {
  return `template/${encodeURIComponent(functionId)}/`;
}

export function templateKey(functionId: string, name: string): string {
  return prefixOf(functionId) + name;
}

/** The templates of a function, by name. What is no template of ours is passed over. */
export function useTemplates(functionId: string, isWanted: boolean) {
  return useQuery({
    queryKey: ["templates", functionId],
    enabled: isWanted,
    queryFn: async ({ signal }) => {
      const { items } = await call<{ readonly items: readonly { readonly value: unknown }[] }>(
        "state::entries",
        { scope: SCOPE, prefix: prefixOf(functionId), limit: MAX_TEMPLATES },
        { signal },
      );
      return items.map(({ value }) => value).filter(isTemplate);
    },
  });
}

export function useSaveTemplates(functionId: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (templates: readonly Template[]) =>
      call("state::set_many", { items: templates.map((template) => ({ scope: SCOPE, key: templateKey(functionId, template.name), value: template })) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["templates", functionId] }),
  });
}

export function useDeleteTemplate(functionId: string) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: (name: string) => call("state::delete", { scope: SCOPE, key: templateKey(functionId, name) }),
    onSuccess: () => queries.invalidateQueries({ queryKey: ["templates", functionId] }),
  });
}

/** Templates of a file that was exported before. Throws Error for anything else. */
export function readTemplates(text: string): readonly Template[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new Error(`The file is not JSON: ${(error as Error).message}`);
  }
  const list = Array.isArray(value) ? value : [];
  const templates = list.filter(isTemplate);
  if (templates.length === 0 || templates.length !== list.length || templates.length > MAX_TEMPLATES)
    throw new Error("The file holds no templates; it is to be one that was exported here.");
  return templates;
}

function isTemplate(value: unknown): value is Template {
  if (typeof value !== "object" || value === null) return false;
  const { name, draft } = value as Partial<Template>;
  if (typeof name !== "string" || name === "" || name.length > MAX_NAME_CHARACTERS || typeof draft !== "object" || draft === null) return false;
  const { payload, mode, timeoutMs, queue, metadata } = draft;
  return [payload, timeoutMs, queue, metadata].every((text) => typeof text === "string") && (mode === "sync" || mode === "void" || mode === "enqueue");
}
