import type { FunctionListing } from "@svc-runtime/protocol/listings";

/** A function, as in the stream `svc.functions`. */
export type FunctionItem = FunctionListing;

/**
 * Returns the part before the last `::`, or before the first of `.`, `/` and `:`. Empty for functions without a prefix.
 */
export function prefixOf(functionId: string): string {
  const at = functionId.lastIndexOf("::");
  if (at > 0) return functionId.slice(0, at);
  const other = functionId.search(/[./:]/);
  return other > 0 ? functionId.slice(0, other) : "";
}
