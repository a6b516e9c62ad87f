type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** Returns methods of `helper` whose first arguments are already set. They add `first` before their own arguments. */
export function withFirst<Name extends string>(
  helper: { readonly [Method in Name]: unknown },
  first: readonly string[],
  names: readonly Name[],
): Readonly<Record<Name, unknown>> {
  const methods = names.map((name) => [
    name,
    (...args: readonly unknown[]) => (helper as Methods)[name]?.(...first, ...args),
  ]);
  return Object.fromEntries(methods) as Readonly<Record<Name, unknown>>;
}
