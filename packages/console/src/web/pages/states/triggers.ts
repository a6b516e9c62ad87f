import type { TriggerItem } from "../../model/triggers.ts";

/** A trigger, with members from the stream `svc.triggers`. */
export type Binding = Pick<TriggerItem, "id" | "trigger_type" | "function_id" | "config" | "status" | "internal">;

/**
 * Returns the triggers of users that fire when the item changes. Without `key`, returns those that fire when any item
 * of the group changes.
 */
export function triggersOf(bindings: readonly Binding[], scope: string, key?: string): readonly Binding[] {
  return bindings.filter(({ trigger_type: type, config, internal }) => {
    if (internal || !(type === "state" || type.startsWith("state:"))) return false;
    const of = (config ?? {}) as { readonly scope?: string; readonly key?: string; readonly prefix?: string };
    if (of.scope !== undefined && of.scope !== scope) return false;
    if (key === undefined) return true;
    return (of.key === undefined || of.key === key) && (of.prefix === undefined || key.startsWith(of.prefix));
  });
}
