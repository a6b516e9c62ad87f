import type { Worker } from "@svc/sdk";
import { nearestOf } from "./nearest.ts";

/** Names that are looked through for the one that was meant. */
const LOOKED_THROUGH = 1_000;

/** What is like a scope and key that hold nothing: the nearest scope, else the nearest key of the scope; `; did you mean X?` or a full stop. */
export async function nearestItem(engine: Worker, { scope, key }: { readonly scope: string; readonly key?: string | undefined }): Promise<string> {
  const scopes = await scopeNames(engine);
  if (!scopes.includes(scope)) {
    const nearest = await nearestOf(scope, scopes);
    return nearest === undefined ? `; no scope ${scope} holds anything.` : `; no scope ${scope} holds anything, did you mean ${nearest}?`;
  }
  if (key === undefined) return ".";
  const nearest = await nearestOf(key, await keysOf(engine, scope));
  return nearest === undefined ? "." : `; did you mean ${nearest}?`;
}

export async function scopeNames(engine: Worker): Promise<readonly string[]> {
  const { items } = await engine.call<{ readonly items: readonly { readonly scope: string }[] }>({
    function_id: "state::groups",
    payload: { limit: LOOKED_THROUGH },
  });
  return items.map(({ scope }) => scope);
}

export async function keysOf(engine: Worker, scope: string): Promise<readonly string[]> {
  const { items } = await engine.call<{ readonly items: readonly { readonly key: string }[] }>({
    function_id: "state::entries",
    payload: { scope, limit: LOOKED_THROUGH },
  });
  return items.map(({ key }) => key);
}
