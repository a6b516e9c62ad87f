import type { Worker } from "@svc-runtime/sdk";
import { nearestOf } from "./did-you-mean.ts";

/** Maximum number of names among which a suggestion is searched. */
const MAX_NAMES = 1_000;

/**
 * Returns the end of a message about a scope or key that does not exist: `; did you mean X?` with the nearest one, or a
 * full stop.
 */
export async function nearestItem(
  engine: Worker,
  { scope, key }: { readonly scope: string; readonly key?: string | undefined },
): Promise<string> {
  const scopes = await scopeNames(engine);
  if (!scopes.includes(scope)) {
    const nearest = await nearestOf(scope, scopes);
    return nearest === undefined
      ? `; there is no scope ${scope}.`
      : `; there is no scope ${scope}, did you mean ${nearest}?`;
  }
  if (key === undefined) return ".";
  const nearest = await nearestOf(key, await keysOf(engine, scope));
  return nearest === undefined ? "." : `; did you mean ${nearest}?`;
}

export async function scopeNames(engine: Worker): Promise<readonly string[]> {
  const { items } = await engine.call<{ readonly items: readonly { readonly scope: string }[] }>({
    function_id: "state::groups",
    payload: { limit: MAX_NAMES },
  });
  return items.map(({ scope }) => scope);
}

export async function keysOf(engine: Worker, scope: string): Promise<readonly string[]> {
  const { items } = await engine.call<{ readonly items: readonly { readonly key: string }[] }>({
    function_id: "state::entries",
    payload: { scope, limit: MAX_NAMES },
  });
  return items.map(({ key }) => key);
}
