/** A function as `svc.functions` tells of it. */
export interface FunctionItem {
  readonly function_id: string;
  readonly description: string | null;
  /** JSON Schemas, as the worker wrote them. */
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

/** What stands before the last `::`, or the first of `.`, `/` and `:`; functions without one are together. */
export function prefixOf(functionId: string): string {
  const at = functionId.lastIndexOf("::");
  if (at > 0) return functionId.slice(0, at);
  const other = functionId.search(/[./:]/);
  return other > 0 ? functionId.slice(0, other) : "";
}
