/** Deeper than any trigger config. */
const MAX_DEPTH = 16;

/**
 * Returns the ids of functions that a trigger's config names and that the engine would call, e.g.
 * `condition_function_id`: the values of all keys that end with `function_id`, `function_ids` or `middleware`.
 */
export function functionReferences(config: unknown, depth = 0): string[] {
  if (typeof config !== "object" || config === null || depth > MAX_DEPTH) return [];
  return Object.entries(config).flatMap(([key, value]) =>
    /(?:function_ids?|middleware)$/i.test(key) ? idsIn(value) : functionReferences(value, depth + 1),
  );
}

function idsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  // Its other members are settings, e.g. `phase`.
  if (Object.hasOwn(value, "function_id")) return functionReferences(value, depth + 1);
  return Object.values(value).flatMap((inner) => idsIn(inner, depth + 1));
}
