import type { FunctionListing } from "@svc-runtime/protocol/listings";

/** A function, in the form of the stream `svc.functions`. */
export type FunctionItem = FunctionListing;

/**
 * Returns the prefix of a function id: the part before the last `::`. Without `::`, it is the part before the first
 * `.`, `/` or `:`. Returns an empty text if there is no prefix.
 */
export function prefixOf(functionId: string): string {
  const at = functionId.lastIndexOf("::");
  if (at > 0) return functionId.slice(0, at);
  const other = functionId.search(/[./:]/);
  return other > 0 ? functionId.slice(0, other) : "";
}
