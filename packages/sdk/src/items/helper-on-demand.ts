import { OnDemand, type Part } from "../on-demand.ts";

type Method = (...args: readonly unknown[]) => Promise<unknown>;

/** Returns the methods of a helper whose part of the SDK is loaded at their first use. Calls keep their order. */
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
