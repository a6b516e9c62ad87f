/** A promise that is settled from outside. */
export function settleable<Value>(): { readonly promise: Promise<Value>; settle(value: Value): void } {
  let settle: (value: Value) => void = () => {};
  const promise = new Promise<Value>((resolve) => {
    settle = resolve;
  });
  return { promise, settle: (value) => settle(value) };
}
