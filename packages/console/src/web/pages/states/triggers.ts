/** A trigger binding, as `svc.triggers` tells of it. */
export interface Binding {
  readonly id: string;
  readonly trigger_type: string;
  readonly function_id: string;
  readonly config: unknown;
  readonly status: string;
  readonly internal: boolean;
}

/** The users' triggers that fire when the item changes; with `key` undefined, when anything of the group does. */
export function triggersOf(bindings: readonly Binding[], scope: string, key?: string): readonly Binding[] {
  return bindings.filter(({ trigger_type: type, config, internal }) => {
    if (internal || !(type === "state" || type.startsWith("state:"))) return false;
    const of = (config ?? {}) as { readonly scope?: string; readonly key?: string; readonly prefix?: string };
    if (of.scope !== undefined && of.scope !== scope) return false;
    if (key === undefined) return true;
    return (of.key === undefined || of.key === key) && (of.prefix === undefined || key.startsWith(of.prefix));
  });
}
