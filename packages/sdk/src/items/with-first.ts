type Methods = Readonly<Record<string, (...args: readonly unknown[]) => unknown>>;

/** Returns methods of `helper` that need no `first` arguments: they pass these on before their own. */
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
