/** A function, as in the stream `svc.functions`. */
export interface FunctionItem {
  readonly function_id: string;
  readonly description: string | null;
  /** JSON Schemas of the worker. */
  readonly request_format: unknown;
  readonly response_format: unknown;
  readonly metadata: unknown;
  readonly validated: boolean;
  readonly format_problem: string | null;
  readonly status: "available" | "busy" | "draining";
  readonly internal: boolean;
  readonly worker_name: string;
  readonly workers: readonly { readonly id: string; readonly name: string }[];
  readonly triggers: readonly { readonly id: string; readonly type: string }[];
}

/**
 * Returns the part before the last `::`, or before the first of `.`, `/` and `:`. Empty for functions without a prefix.
 */
export function prefixOf(functionId: string): string {
  const at = functionId.lastIndexOf("::");
  if (at > 0) return functionId.slice(0, at);
  const other = functionId.search(/[./:]/);
  return other > 0 ? functionId.slice(0, other) : "";
}
