/**
 * A path in a value. A string is the name of one member of the root: `"a.b"` is a member whose name has a dot. `""` is
 * the root itself. An array has one member name per level; `[]` is the root.
 */
export type UpdatePath = string | readonly string[];

/** Value of an operation, parsed. */
export interface OpValue {
  readonly value: unknown;
  /** JSON of `value`; present if `value` lost digits of its numbers. */
  readonly json?: string;
}

/** An operation of `state::update` and `stream::update`. */
export type UpdateOp =
  | ({ readonly type: "set"; readonly path: UpdatePath } & OpValue)
  | ({ readonly type: "merge"; readonly path: UpdatePath } & OpValue)
  | { readonly type: "increment"; readonly path: UpdatePath; readonly by: number }
  | { readonly type: "decrement"; readonly path: UpdatePath; readonly by: number }
  | ({ readonly type: "append"; readonly path: UpdatePath } & OpValue)
  | { readonly type: "remove"; readonly path: UpdatePath };

/** Error of an operation. */
export interface UpdateOpError {
  readonly op_index: number;
  /** E.g. `increment.not_number`. */
  readonly code: string;
  readonly message: string;
}

/** Returns the operations as JSON. Numbers keep all their digits. */
export function opsJson(ops: readonly UpdateOp[]): string {
  return `[${ops.map(opJson).join(",")}]`;
}

function opJson(op: UpdateOp): string {
  if (!("value" in op) || op.json === undefined) return JSON.stringify(op);
  const { value: _, json, ...others } = op;
  return `${JSON.stringify(others).slice(0, -1)},"value":${json}}`;
}
