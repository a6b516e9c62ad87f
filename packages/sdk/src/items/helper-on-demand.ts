import { OnDemand, type Part } from "../on-demand.ts";

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/**
 * Returns the methods of a helper. The part of the SDK that implements them is loaded when one is first used. Calls are
 * made in the order in which the methods are called.
 */
export function helperOnDemand<Contents, Helper extends object>(
  part: Part<Contents>,
  create: (contents: Contents) => Helper,
  methods: readonly (keyof Helper & string)[],
): Helper {
  const helper = new OnDemand(part, create);
  const names = methods.map((name) => [
    name,
    (...args: readonly unknown[]) => helper.use((loaded) => (loaded[name] as Method)(...args)),
  ]);
  return Object.fromEntries(names) as Helper;
}
